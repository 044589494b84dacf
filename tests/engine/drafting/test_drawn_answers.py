"""Above temperature 0, through the whole engine: answers are distributed as the network says, with a draft or without.

A small random network, whose chances are worked out by transformers' own forward pass; the answers come from the
runner that serves, many choices at once, each with the same draft.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import exp, fsum, lgamma, log, log1p
from random import Random

import pytest
import torch

from semcache.engine.drafting.draft import Draft
from semcache.engine.generation import Delta, GenerationRequest, Sampling
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.runner import PagedRunner
from tests.engine.drafting.test_judge import chi_square
from tests.engine.tiny import Inbox, ask, tiny_llama, tiny_model

PROMPT = (72, 73, 74)
LENGTH = 3
ALLOWED = 6
TEMPERATURE = 1.4
BATCH = 64
ERROR_RATE = 1e-7
"""How often one count would be refused although all is right, if the seeds were not fixed."""

Answer = tuple[int, ...]


def favourites() -> list[int]:
    """The tokens that answers may be made of: likely ones, but for the end."""
    with torch.no_grad():
        row = tiny_llama()(torch.tensor([PROMPT])).logits[0, -1]
    row[-2:] = -torch.inf
    return [int(token) for token in row.topk(ALLOWED).indices]


def chances(tokens: list[int]) -> dict[Answer, float]:
    """The exact probability of every answer."""
    answers = list(product(tokens, repeat=LENGTH))
    fed = torch.tensor([(*PROMPT, *answer) for answer in answers])
    with torch.no_grad():
        logits = tiny_llama()(fed).logits[:, len(PROMPT) - 1 : -1].double()
    rows = torch.log_softmax(logits[:, :, tokens] / TEMPERATURE, dim=-1)
    places = torch.tensor([[tokens.index(token) for token in answer] for answer in answers])
    total = rows.gather(2, places[:, :, None]).sum(dim=(1, 2)).exp()
    return dict(zip(answers, total.tolist(), strict=True))


def guesses(draft: Answer, tokens: list[int]) -> tuple[Callable[[Answer], bool], Callable[[Answer], bool]]:
    """Which answers had a guess tried, and which had it right.

    It is always one for the second token, by what the draft says after the first: the third is drawn in the
    same pass if that was right, and is the last, which is never guessed.
    """
    guess: dict[int, tuple[int, ...]] = {}
    for first in tokens:
        place = Draft(draft)
        place.observe(first)
        guess[first] = place.propose(1)

    def is_tried(answer: Answer) -> bool:
        return bool(guess[answer[0]])

    def is_right(answer: Answer) -> bool:
        return guess[answer[0]] == answer[1:2]

    return is_tried, is_right


def surprise(count: int, times: int, chance: float) -> float:
    """The probability of at least, or at most, so many: the less of both, exact for independent draws."""
    if not 0 < chance < 1:
        return float(count == round(times * chance))

    def exactly(k: int) -> float:
        ways = lgamma(times + 1) - lgamma(k + 1) - lgamma(times - k + 1)
        return exp(ways + k * log(chance) + (times - k) * log1p(-chance))

    return min(fsum(map(exactly, range(count + 1))), fsum(map(exactly, range(count, times + 1))))


def test_surprise_is_the_tail_of_the_binomial_distribution() -> None:
    assert surprise(0, 10, 0.5) == pytest.approx(2**-10)
    assert surprise(9, 10, 0.5) == pytest.approx(11 * 2**-10)
    assert surprise(5, 10, 0.5) == pytest.approx(0.623046875)
    assert (surprise(0, 10, 0.0), surprise(1, 10, 0.0), surprise(10, 10, 1.0)) == (1.0, 0.0, 1.0)


def drawn(request: GenerationRequest, times: int) -> tuple[Counter[Answer], int, int]:
    """Draw answers, each call of this with the same seeds; gives them with the draft's tokens that were taken, and were not."""
    model = tiny_model(slots=8192)
    names = {model.vocabulary.name_bytes(token): token for token in range(model.vocabulary_size)}
    runner = PagedRunner(model, limits=Limits(active=BATCH), max_queue=BATCH, checks=True)
    seen: Counter[Answer] = Counter()
    seeds = Random(7)
    for _ in range(times // BATCH):
        inbox = Inbox()
        sampling = replace(request.sampling, seed=seeds.getrandbits(62))
        runner.submit(replace(request, sampling=sampling), inbox)
        said: dict[int, Answer] = {}
        for event in inbox.all():
            if not isinstance(event, Delta):
                continue
            for item in event.logprobs:
                said[event.index] = (*said.get(event.index, ()), names[item.chosen.token])
        assert len(said) == BATCH
        seen.update(said.values())
    report = runner.report()
    runner.close()
    return seen, report.accepted_draft, report.rejected_draft


@pytest.mark.parametrize("kind", ["likely", "unlikely", "none"])
@pytest.mark.parametrize("times", [1_920, pytest.param(32_000, marks=pytest.mark.slow)])
def test_answers_are_distributed_as_the_network_says(kind: str, times: int) -> None:
    tokens = favourites()
    expected = chances(tokens)
    assert sum(expected.values()) == pytest.approx(1.0)
    ordered = sorted(expected, key=lambda answer: expected[answer])
    draft = {"likely": ordered[-1], "unlikely": ordered[len(ordered) // 5], "none": ()}[kind]
    bias = tuple((token, 1_000.0) for token in tokens)
    sampling = Sampling(temperature=TEMPERATURE, bias=bias)
    request = ask(PROMPT, sampling=sampling, max_tokens=LENGTH, choices=BATCH, logprobs=0, draft=draft)
    seen, accepted, rejected = drawn(request, times)
    assert chi_square(seen, expected) < 4.5
    is_tried, is_right = guesses(draft, tokens)
    assert accepted == sum(count for answer, count in seen.items() if is_right(answer))
    assert accepted + rejected == sum(count for answer, count in seen.items() if is_tried(answer))
    for count, holds in ((accepted, is_right), (accepted + rejected, is_tried)):
        chance = sum(chance for answer, chance in expected.items() if holds(answer))
        assert surprise(count, times, chance) > ERROR_RATE / 2
    if kind != "none":
        assert sum(chance for answer, chance in expected.items() if is_tried(answer)) > 1 / 3, "hardly tried"
