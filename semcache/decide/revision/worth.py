"""What a revision will about cost against the plain call, and what it saved afterwards. Pure arithmetic.

Money is micro-USD, rounded to whole ones; prices are micro-USD of a million tokens. Where a price is not known tokens
are compared, a written one for as much as `OUTPUT_FOR_INPUT` read ones. Knows no price list and no tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.decide.revision.prompt import INSTRUCTION_TOKENS

OUTPUT_FOR_INPUT = 4
"""Read tokens that a written one is worth without a price: price lists ask for 3 to 8."""
EDIT_SHARE = 0.25
"""Of the old answer's tokens that an edit is expected to write, its form included; at least `LEAST_EDIT`."""
LEAST_EDIT = 8
"""Tokens of keeping."""
FAILED_SHARE = 0.1
"""Of revisions that are expected to fail before anything is known of a domain: these pay the plain call too."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Micro-USD of a million tokens read and written."""

    input: int
    output: int


@dataclass(frozen=True, slots=True)
class Worth:
    """Both estimates: micro-USD (None: no price) and weighted tokens (read ones; a written one counts several)."""

    draft: int | None
    plain: int | None
    draft_weight: int
    plain_weight: int
    worth: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one call."""

    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """What a revision saved, itself included, negative when it lost: micro-USD (None: no price), weighted tokens."""

    money: int | None
    weight: int


def expected(
    question_tokens: int,
    answer_tokens: int,
    prices: Prices | None,
    *,
    reviser: Prices | None = None,
    stored_question_tokens: int | None = None,
    before_tokens: int = 0,
    plain_answer_tokens: int | None = None,
    failed_share: float = FAILED_SHARE,
) -> Worth:
    """Estimate both ways before anything is sent.

    Args:
        question_tokens: of the new question.
        answer_tokens: of the old answer.
        prices: of the request's own model; None: not known.
        reviser: of the model that revises; None: not known. Pass `prices` when it is the same model.
        stored_question_tokens: of the old question; None: as many as the new one's.
        before_tokens: of system prompt and history, which both calls read.
        plain_answer_tokens: expected of the plain answer; None: as many as the old one's.
        failed_share: of the domain's revisions that failed so far, in [0, 1].
    """
    old_question = question_tokens if stored_question_tokens is None else stored_question_tokens
    plain_output = answer_tokens if plain_answer_tokens is None else plain_answer_tokens
    plain = Spent(before_tokens + question_tokens, plain_output)
    revision = Spent(
        before_tokens + INSTRUCTION_TOKENS + question_tokens + old_question + answer_tokens,
        max(LEAST_EDIT, round(EDIT_SHARE * answer_tokens)),
    )
    failing = min(1.0, max(0.0, failed_share))
    plain_money, own = _money(plain, prices), _money(revision, reviser)
    money = None if plain_money is None or own is None else own + round(failing * plain_money)
    plain_weight = _weight(plain)
    weight = _weight(revision) + round(failing * plain_weight)
    if money is not None and plain_money is not None:
        return Worth(money, plain_money, weight, plain_weight, money < plain_money)
    return Worth(money, plain_money, weight, plain_weight, weight < plain_weight)


def saved(
    plain: Spent, revision: Spent, prices: Prices | None, reviser: Prices | None, *, failed: bool
) -> Saved:
    """Work out what a revision saved.

    Args:
        plain: what the plain call took, or would have taken.
        revision: what was paid for the revision, however it ended.
        prices: of the request's own model; None: not known.
        reviser: of the model that revised; None: not known.
        failed: the plain call was made after all: then the revision is lost, and nothing saved.
    """
    own, instead = _money(revision, reviser), 0 if failed else _money(plain, prices)
    money = None if own is None or instead is None else instead - own
    return Saved(money, (0 if failed else _weight(plain)) - _weight(revision))


def _money(spent: Spent, prices: Prices | None) -> int | None:
    if prices is None:
        return None
    # Rounded up, as bills are.
    return -(-(spent.input * prices.input + spent.output * prices.output) // _MILLION)


def _weight(spent: Spent) -> int:
    return spent.input + OUTPUT_FOR_INPUT * spent.output
