"""The arithmetic of the next token."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine import sampling
from semcache.engine.generation import Sampling
from semcache.errors import EngineError

rows = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=12).map(torch.tensor)


def gen(seed: int = 1) -> torch.Generator:
    return sampling.new_generator(seed, 0)


@given(rows)
def test_temperature_zero_is_the_best_token(logits: torch.Tensor) -> None:
    assert sampling.draw(logits, Sampling(temperature=0.0), gen()) == int(logits.argmax())


@given(rows)
def test_a_tiny_nucleus_is_the_best_token(logits: torch.Tensor) -> None:
    drawn = sampling.draw(logits, Sampling(temperature=1.0, top_p=0.0), gen())
    probabilities = torch.softmax(logits, 0)
    assert probabilities[drawn] == probabilities.max()


def sorted_nucleus(logits: torch.Tensor, asked: Sampling) -> dict[int, float]:
    """The same rules by a full stable sort, step by step."""
    values, order = torch.softmax(logits / asked.temperature, 0).sort(descending=True, stable=True)
    kept = list(zip(order.tolist(), values.tolist(), strict=True))[: asked.top_k or None]
    if asked.top_p < 1:
        enough = asked.top_p * (sum(value for _, value in kept) if 0 < asked.top_k < len(logits) else 1.0)
        held, count = 0.0, 0
        while count < len(kept) and (held < enough or count == 0):
            held += kept[count][1]
            count += 1
        kept = kept[:count]
    return {token: value for token, value in kept if value >= asked.min_p * kept[0][1]}


many_ties = st.integers(65, 400).flatmap(
    lambda size: st.lists(st.sampled_from([-3.0, 0.0, 0.5, 2.0, 9.0]), min_size=size, max_size=size)
)


@given(
    rows | many_ties.map(torch.tensor),
    st.sampled_from([0.0, 0.3, 0.5, 0.9, 0.99, 0.9999999, 1.0]),
    st.sampled_from([0, 1, 3, 63, 64, 65, 1000]),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
def test_the_short_ways_give_what_a_full_sort_gives(
    logits: torch.Tensor, top_p: float, top_k: int, min_p: float
) -> None:
    asked = Sampling(top_p=top_p, top_k=top_k, min_p=min_p)
    found = sampling.distribution(logits, asked)
    tokens = range(len(logits)) if found.tokens is None else found.tokens.tolist()
    expected = sorted_nucleus(logits, asked)
    kept = dict(zip(tokens, found.weights.tolist(), strict=True))
    # Sums of many equal weights may differ in their last bits, so the last token may, too.
    assert abs(len(kept) - len(expected)) <= (1 if top_p < 1 else 0)
    fewer, more = sorted((kept, expected), key=len)
    assert {token: more[token] for token in fewer} == fewer


@given(rows, st.floats(0.01, 1.0))
def test_the_nucleus_is_the_smallest_set_that_holds_enough(logits: torch.Tensor, top_p: float) -> None:
    probabilities = torch.softmax(logits, 0)
    found = sampling.distribution(logits, Sampling(top_p=top_p))
    assert float(found.weights.sum()) >= top_p - 1e-5
    weakest = found.weights.min()
    if found.tokens is not None:
        # Without its weakest member it would be too small.
        assert float(found.weights.sum() - weakest) < top_p + 1e-5
        assert torch.equal(found.weights, probabilities[found.tokens])


def test_a_token_costs_one_random_number_whatever_is_asked() -> None:
    for asked in (Sampling(), Sampling(top_p=0.5), Sampling(top_k=1), Sampling(min_p=1.0)):
        used, untouched = gen(4), gen(4)
        sampling.distribution(torch.arange(100.0), asked).draw(used)
        torch.rand(1, generator=untouched, dtype=torch.float64)
        assert torch.equal(used.get_state(), untouched.get_state())
    greedy = gen(4)
    sampling.distribution(torch.arange(9.0), Sampling(temperature=0)).draw(greedy)
    assert torch.equal(greedy.get_state(), gen(4).get_state())


def test_a_weight_of_nothing_is_never_drawn() -> None:
    weights = torch.tensor([0.0, 0.3, 0.0, 0.7, 0.0])
    for point, expected in ((0.0, 1), (0.2999, 1), (0.31, 3), (1.0 - 2**-53, 3), (1.0, 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                torch, "rand", lambda *_, point=point, **__: torch.tensor([point], dtype=torch.float64)
            )
            assert sampling.Distribution(weights).draw(gen()) == expected


def test_probabilities_of_single_tokens() -> None:
    found = sampling.distribution(torch.tensor([0.7, 0.2, 0.1]).log(), Sampling(top_k=2))
    assert found.probability(0) == pytest.approx(0.7 / 0.9)
    assert found.probability(2) == 0.0
    assert sampling.distribution(torch.zeros(4), Sampling()).probability(3) == pytest.approx(0.25)


class Only:
    """A form that lets a few tokens through."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = tokens

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        masked = torch.full_like(logits, -math.inf)
        masked[list(self.tokens)] = logits[list(self.tokens)]
        return masked


@pytest.mark.parametrize(
    "asked", [Sampling(temperature=0), Sampling(), Sampling(top_p=0.3), Sampling(top_k=3)]
)
def test_a_form_goes_before_everything_that_a_client_asks(asked: Sampling) -> None:
    pushed = Sampling(temperature=asked.temperature, top_p=asked.top_p, top_k=asked.top_k, bias=((0, 100.0),))
    for seed in range(20):
        found = sampling.distribution(torch.arange(200.0), pushed, constraint=Only(5, 9))
        assert found.draw(gen(seed)) in (5, 9)


def test_a_draft_that_is_kept_while_draws_agree_changes_no_draw() -> None:
    """Verifying a draft position by position draws the very tokens that decoding would."""
    table = torch.randn(6, 6, generator=torch.Generator().manual_seed(3))

    def decode(seed: int) -> list[int]:
        generator, said = gen(seed), [0]
        for _ in range(12):
            said.append(sampling.distribution(table[said[-1]], Sampling()).draw(generator))
        return said

    def verify(seed: int, draft: list[int]) -> list[int]:
        generator, said = gen(seed), [0]
        for guess in draft:
            said.append(sampling.distribution(table[said[-1]], Sampling()).draw(generator))
            if said[-1] != guess:
                break
        while len(said) < 13:
            said.append(sampling.distribution(table[said[-1]], Sampling()).draw(generator))
        return said

    for seed in range(10):
        assert verify(seed, decode(seed + 1)[1:]) == decode(seed)


def test_draws_follow_the_probabilities() -> None:
    logits = torch.tensor([math.log(0.7), math.log(0.2), math.log(0.1)])
    generator = gen()
    drawn = [sampling.draw(logits, Sampling(), generator) for _ in range(4000)]
    assert drawn.count(0) / 4000 == pytest.approx(0.7, abs=0.03)
    assert drawn.count(2) / 4000 == pytest.approx(0.1, abs=0.03)


def test_temperature_flattens_and_sharpens() -> None:
    logits = torch.tensor([1.0, 0.0])
    share = {}
    for temperature in (0.5, 2.0):
        generator = gen()
        draws = [sampling.draw(logits, Sampling(temperature=temperature), generator) for _ in range(3000)]
        share[temperature] = draws.count(0) / 3000
    assert share[0.5] == pytest.approx(1 / (1 + math.exp(-2.0)), abs=0.03)
    assert share[2.0] == pytest.approx(1 / (1 + math.exp(-0.5)), abs=0.03)


def test_equal_seeds_draw_equally_and_choices_differ() -> None:
    logits = torch.zeros(1000)

    def series(seed: int | None, choice: int) -> list[int]:
        generator = sampling.new_generator(seed, choice)
        return [sampling.draw(logits, Sampling(), generator) for _ in range(8)]

    assert series(7, 0) == series(7, 0)
    assert series(7, 0) != series(7, 1)
    assert series(7, 0) != series(8, 0)
    assert series(None, 0) != series(None, 0)


@pytest.mark.parametrize("seed", [-(1 << 63), -1, 0, (1 << 63) - 1])
def test_every_64_bit_seed_works(seed: int) -> None:
    sampling.new_generator(seed, 7)


def test_penalties_and_bias_change_the_right_tokens() -> None:
    logits = torch.tensor([1.0, 1.0, 1.0, 1.0])
    counts = torch.tensor([0, 1, 3, 0], dtype=torch.int32)
    asked = Sampling(presence_penalty=0.5, frequency_penalty=0.25, bias=((3, -100.0), (0, 2.0)))
    changed = sampling.adjust(logits, asked, counts)
    assert changed.tolist() == [3.0, 0.25, -0.25, -99.0]
    assert logits.tolist() == [1.0] * 4  # the model's own row stays as it was


def test_chances_are_the_models_own() -> None:
    found = sampling.chances(torch.tensor([2.0, 0.0, 1.0]), 2, 2)
    logs = torch.log_softmax(torch.tensor([2.0, 0.0, 1.0]), 0)
    assert found.chosen == pytest.approx(float(logs[2]))
    assert [token for token, _ in found.top] == [0, 2]
    assert sampling.chances(torch.zeros(3), 1, 0).top == ()
    assert len(sampling.chances(torch.zeros(3), 1, 20).top) == 3


@pytest.mark.parametrize("row", [[0.0, float("nan")], [float("inf"), 0.0], [float("-inf")] * 2])
def test_rows_that_nothing_can_be_drawn_from_are_refused(row: list[float]) -> None:
    with pytest.raises(EngineError, match="not finite"):
        sampling.check(torch.tensor(row))


def test_a_masked_token_is_no_fault() -> None:
    sampling.check(torch.tensor([0.0, float("-inf")]))
