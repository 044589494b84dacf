"""What is at stake with a revision, and what it saved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.core import Usage
from semcache.cost.prices import micro_usd
from semcache.decide.revision.worth import Prices, Saved
from semcache.revising.revision import Revised, Unrevised
from semcache.revising.stakes import Stakes, stakes_of
from semcache.revising.worth import original_tokens, prices_of, tokens_before
from semcache.tokens import tokens_of
from tests.revising.scene import STORED, Scene, draft_of

PRICES = Prices(1_000_000, 10_000_000)


def stakes(prices: Prices | None = PRICES, **fields: object) -> Stakes:
    request = Scene().step(**fields).asked.request  # type: ignore[arg-type]  # fields of a body
    return stakes_of(draft_of(), STORED, request, (prices, prices), None)


def test_what_went_well_saves_the_plain_call_but_for_itself() -> None:
    at = stakes()
    gain = at.gain(Revised("x", "edited", Usage(400, 25)))
    assert gain.money == at.plain.input + 3000 - 650
    assert gain.weight == at.plain.input + 1200 - 500


@pytest.mark.parametrize(
    ("found", "money"), [(Unrevised("gate", Usage(400, 25)), -650), (Unrevised("upstream"), 0)]
)
def test_what_failed_is_lost(found: Unrevised, money: int) -> None:
    assert stakes().gain(found).money == money


def test_what_was_not_waited_for_is_billed_all_the_same() -> None:
    at = stakes()
    assert at.worth.draft is not None
    assert at.gain(Unrevised("late")) == Saved(-at.worth.draft, -at.worth.draft_weight)
    assert stakes(None).gain(Unrevised("late")).money is None


def test_what_nobody_counted_saves_nothing_that_could_be_told() -> None:
    assert stakes().gain(Revised("x", "kept", None)) == Saved(None, 0)


def test_the_count_of_a_revised_answer_is_that_of_its_edit_and_is_not_taken_for_its_length() -> None:
    draft = draft_of()
    assert original_tokens(draft, STORED) == 300
    again = replace(draft, entry=replace(draft.entry, origin="draft:e0"))
    assert original_tokens(again, STORED) == tokens_of(STORED)


def test_tokens_are_guessed_by_script() -> None:
    assert tokens_of("") == 1
    assert tokens_of("a" * 40) == 10
    assert tokens_of("法国的首都是哪里") == 8
    assert tokens_before([{"role": "user", "content": "x" * 4000}]) == 0
    assert tokens_before([{"role": "system", "content": "x" * 4000}, {}]) > 1000


def test_prices_are_those_of_a_million() -> None:
    assert prices_of(Scene().price, "m") == PRICES
    assert prices_of(Scene().price, "unpriced") is None


def test_prices_are_those_of_prompts_of_a_usual_length() -> None:
    """Long prompts of this model cost twice."""
    prices = prices_of(micro_usd, "claude-sonnet-4-5")
    assert prices is not None
    assert (prices.input, prices.output) == (3_000_000, 15_000_000)
