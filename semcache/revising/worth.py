"""Whether a revision is worth trying: what it will about cost against the plain call. Pure.

Where no price is known tokens are compared, a written one for as much as four read ones: less than most price
lists ask for. Knows no price list: money comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from semcache.core import Draft, JsonObject, Usage

SHARE = 0.25
"""Of the old answer's tokens that a revision is expected to write."""
_WRITTEN = 4
_LETTERS = 4
"""Characters of a token in English prose; of other scripts about one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a draft and the plain call will about take.

    `draft` and `plain` are micro-USD, None where a price is not known.
    """

    draft_usage: Usage
    plain_usage: Usage
    draft: int | None = None
    plain: int | None = None

    @property
    def is_worth_it(self) -> bool:
        """True when the draft is expected to cost less."""
        if self.draft is not None and self.plain is not None:
            return self.draft < self.plain
        return _weight(self.draft_usage) < _weight(self.plain_usage)


def estimate_of(original: int, task: Sequence[JsonObject], plain: Sequence[JsonObject]) -> Estimate:
    """Give the tokens that a draft and the plain call will about take; money is to be added.

    Args:
        original: tokens of the answer drafted from.
        task: the messages that the reviser would get.
        plain: the request's own.
    """
    return Estimate(
        Usage(tokens_of(_text(task)), max(1, round(SHARE * original))),
        Usage(tokens_of(_text(plain)), original),
    )


def original_tokens(draft: Draft, text: str) -> int:
    """Give the tokens of a draft's answer; estimated where it was itself revised, and its count is of the edit."""
    used = draft.entry.completion.usage
    counted = 0 if used is None or draft.entry.origin else used.completion_tokens
    return counted or tokens_of(text)


def _weight(usage: Usage) -> int:
    return usage.prompt_tokens + _WRITTEN * usage.completion_tokens


def tokens_of(text: str) -> int:
    """Guess how many tokens a text has; at least one."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return max(1, plain // _LETTERS + len(text) - plain)


def _text(messages: Sequence[JsonObject]) -> str:
    # Messages that were read from JSON are whole Unicode here: others go past the cache.
    return orjson.dumps(messages).decode()
