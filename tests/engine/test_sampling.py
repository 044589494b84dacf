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
    assert logits[drawn] == logits.max()


@given(rows, st.floats(0.01, 1.0))
def test_the_nucleus_is_the_smallest_set_that_holds_enough(logits: torch.Tensor, top_p: float) -> None:
    probabilities = torch.softmax(logits, 0)
    kept = sampling.nucleus(probabilities, top_p)
    inside = kept > 0
    assert torch.equal(kept[inside], probabilities[inside])
    assert float(kept.sum()) >= top_p - 1e-5
    weakest = kept[inside].min()
    assert float(kept.sum() - weakest) < top_p + 1e-5  # without its weakest member it would be too small
    assert (probabilities[~inside] <= weakest).all()


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
