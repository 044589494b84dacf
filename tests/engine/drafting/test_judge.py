"""The acceptance rule: what comes out is distributed, and with a seed drawn, as without a draft."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor

from semcache.engine import sampling
from semcache.engine.drafting.draft import Draft
from semcache.engine.drafting.judge import judge
from semcache.engine.generation import Sampling

VOCABULARY = 6
LENGTH = 3
DRAWS = 2_500


def test_it_ends_at_the_first_disagreement() -> None:
    said = iter([5, 6, 9, 9])
    verdict = judge((5, 6, 7, 8), lambda _: next(said))
    assert (verdict.tokens, verdict.accepted, verdict.rejected) == ((5, 6, 9), 2, 2)


def test_after_full_agreement_a_token_more_is_drawn() -> None:
    said = iter([5, 6, 7])
    verdict = judge((5, 6), lambda _: next(said))
    assert (verdict.tokens, verdict.accepted, verdict.rejected) == ((5, 6, 7), 2, 0)


def test_an_empty_proposal_is_plain_decoding() -> None:
    assert judge((), lambda _: 3).tokens == (3,)


@pytest.mark.parametrize(("end", "accepted"), [(5, 1), (9, 0)])
def test_an_answer_that_ends_inside_the_block_ends(end: int, accepted: int) -> None:
    """Whether the end was guessed or not."""
    said: list[int] = []

    def draw(row: int) -> int:
        assert row == len(said), "rows are asked for in order"
        said.append(end)
        return end

    verdict = judge((5, 6), draw, lambda: said[-1] == end)
    assert (verdict.tokens, verdict.accepted, verdict.rejected) == ((end,), accepted, 2 - accepted)


class Model:
    """Logits that depend on everything said so far, as a model's do; different for each history."""

    def __init__(self, vocabulary: int = VOCABULARY) -> None:
        self._rows: dict[tuple[int, ...], Tensor] = {}
        self._size = vocabulary

    def logits(self, history: tuple[int, ...]) -> Tensor:
        if history not in self._rows:
            generator = torch.Generator().manual_seed(hash(history) % (1 << 62))
            self._rows[history] = 1.5 * torch.randn(self._size, generator=generator)
        return self._rows[history]


def probabilities(logits: Tensor, rules: Sampling) -> Tensor:
    """The final distribution of one token, written down independently of the sampler."""
    p = torch.softmax(logits.double() / rules.temperature, dim=0)
    if rules.top_p < 1:
        order = p.argsort(descending=True)
        kept = [int(token) for at, token in enumerate(order) if p[order[:at]].sum() < rules.top_p]
        p = torch.tensor([float(p[token]) if token in kept else 0.0 for token in range(len(p))])
    return p / p.sum()


def drafted(model: Model, draft: tuple[int, ...], rules: Sampling, generator: torch.Generator) -> list[int]:
    """Say LENGTH tokens, all of them proposed at once as far as the draft goes."""
    said: list[int] = []
    counts = torch.zeros(VOCABULARY, dtype=torch.int32)
    while len(said) < LENGTH:
        guess = draft[len(said) : LENGTH - 1] if tuple(said) == draft[: len(said)] else ()

        def draw(row: int) -> int:
            adjusted = sampling.adjust(model.logits(tuple(said)), rules, counts)
            token = sampling.draw(adjusted, rules, generator)
            said.append(token)
            counts[token] += 1
            return token

        judge(guess, draw, lambda: len(said) == LENGTH)
    return said


Conditional = Callable[[tuple[int, ...]], list[float]]


def conditional(model: Model, rules: Sampling) -> Conditional:
    """The final distribution behind a history."""

    @cache
    def given(history: tuple[int, ...]) -> list[float]:
        counts = torch.bincount(torch.tensor(history, dtype=torch.int64), minlength=VOCABULARY).int()
        return probabilities(sampling.adjust(model.logits(history), rules, counts), rules).tolist()

    return given


def leviathan(given: Conditional, draft: tuple[int, ...], rng: random.Random) -> list[int]:
    """The rule as published: keep t with probability p(t), else draw from p without t."""
    said: list[int] = []
    agrees = True
    while len(said) < LENGTH:
        p = list(given(tuple(said)))
        guess = draft[len(said)] if agrees and len(said) < LENGTH - 1 else None
        if guess is not None and rng.random() < p[guess]:
            said.append(guess)
            continue
        if guess is not None:
            p[guess] = 0.0
            agrees = False
        said += rng.choices(range(VOCABULARY), p)
    return said


def expected(given: Conditional) -> dict[tuple[int, ...], float]:
    """The exact probability of every answer."""
    chances: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(LENGTH):
        chances = {
            (*history, token): chance * p
            for history, chance in chances.items()
            for token, p in enumerate(given(history))
            if p > 0
        }
    return chances


def chi_square(seen: Counter[tuple[int, ...]], chances: dict[tuple[int, ...], float]) -> float:
    """Standard deviations by which chi-square exceeds its mean; rare answers are put together."""
    drawn = seen.total()
    assert all(answer in chances for answer in seen), "an answer that cannot be"
    common = {answer: chance for answer, chance in chances.items() if chance * drawn >= 8}
    rest = 1 - sum(common.values())
    cells = [(seen[answer], chance * drawn) for answer, chance in common.items()]
    if rest * drawn >= 8:
        cells.append((drawn - sum(seen[answer] for answer in common), rest * drawn))
    statistic = sum((observed - mean) ** 2 / mean for observed, mean in cells)
    freedom = len(cells) - 1
    assert freedom >= 5
    return (statistic - freedom) / (2 * freedom) ** 0.5


RULES = {
    "plain": Sampling(temperature=1.0),
    "warm": Sampling(temperature=1.7),
    "cool, nucleus": Sampling(temperature=0.8, top_p=0.9),
    "penalties and bias": Sampling(presence_penalty=0.7, frequency_penalty=0.4, bias=((2, 1.5), (0, -9.0))),
}


def draws(say: Callable[[], list[int]], times: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(say()) for _ in range(times))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("likely", [True, False])
@pytest.mark.parametrize("times", [DRAWS, pytest.param(20 * DRAWS, marks=pytest.mark.slow)])
def test_answers_are_distributed_as_without_a_draft(name: str, likely: bool, times: int) -> None:
    """Chi-square over all answers of three tokens, for a draft that is mostly right and one mostly wrong."""
    model, rules = Model(), RULES[name]
    chances = expected(conditional(model, rules))
    ordered = sorted(chances, key=lambda answer: chances[answer])
    draft = ordered[-1] if likely else ordered[len(ordered) // 4]
    generator = sampling.new_generator(1, 0)
    seen = draws(lambda: drafted(model, draft, rules, generator), times)
    assert chi_square(seen, chances) < 4.5


@pytest.mark.parametrize("name", RULES)
def test_so_they_are_by_the_published_rule(name: str) -> None:
    model, rules = Model(), RULES[name]
    given = conditional(model, rules)
    chances = expected(given)
    draft = max(chances, key=lambda answer: chances[answer])
    rng = random.Random(2)
    seen = draws(lambda: leviathan(given, draft, rng), 6 * DRAWS)
    assert chi_square(seen, chances) < 4.5


def test_the_test_would_notice_a_draft_that_is_favoured() -> None:
    """Keeping a guess a little too often, as a rule without the correction would."""
    model, rules = Model(), RULES["plain"]
    chances = expected(conditional(model, rules))
    draft = max(chances, key=lambda answer: chances[answer])
    generator, rng = sampling.new_generator(1, 0), random.Random(3)

    def say() -> list[int]:
        return list(draft) if rng.random() < 0.08 else drafted(model, draft, rules, generator)

    assert chi_square(draws(say, DRAWS), chances) > 6


@pytest.mark.parametrize("rules", [*RULES.values(), Sampling(temperature=0.0)], ids=[*RULES, "greedy"])
@pytest.mark.parametrize("kind", ["right", "wrong", "half right"])
def test_with_a_seed_the_tokens_are_those_of_plain_decoding_one_by_one(rules: Sampling, kind: str) -> None:
    model = Model(vocabulary=50)

    def say(draft: Draft, seed: int) -> tuple[list[int], int]:
        generator = sampling.new_generator(seed, 0)
        counts = torch.zeros(50, dtype=torch.int32)
        said: list[int] = []
        steps = 0
        while len(said) < 60:

            def draw(row: int) -> int:
                adjusted = sampling.adjust(model.logits(tuple(said)), rules, counts)
                said.append(sampling.draw(adjusted, rules, generator))
                counts[said[-1]] += 1
                draft.observe(said[-1])
                return said[-1]

            judge(draft.propose(min(8, 59 - len(said))), draw, lambda: len(said) == 60)
            steps += 1
        return said, steps

    for seed in range(6):
        plain, steps = say(Draft(()), seed)
        assert steps == 60
        other = [(token + 1) % 50 for token in plain]
        draft = {
            "right": plain,
            "wrong": other,
            "half right": [*plain[:15], *other[15:30], *plain[30:]],
        }[kind]
        speculated, steps = say(Draft(draft), seed)
        assert speculated == plain
        assert steps <= {"right": 15, "wrong": 60, "half right": 45}[kind]
