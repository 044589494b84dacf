"""Whether a revised answer may be served for the new question. Pure; what cannot be told is no.

The questions are held against one another as for a hit, but for what the answer has taken up: gate and
verifier judge the new question against the one that the revised answer answers (see `covering`). An answer that
was kept must so pass as the stored one would; one that swapped the country must have swapped the country.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from semcache.core import CachePolicy, Draft, Effect
from semcache.decide.gate import compare, features
from semcache.decide.reasons import Veto
from semcache.ports import Verifier
from semcache.revising.covering import answered_question

_IN_WORDS = frozenset(
    veto.value
    for veto in (
        Veto.NUMBERS,
        Veto.UNITS,
        Veto.MONEY,
        Veto.DATES,
        Veto.NAMES,
        Veto.CODES,
        Veto.PLACES,
        Veto.KIND,
    )
)
"""What an answer can be seen to have taken up: another thing is named. That a `not` was minded cannot be seen."""
_ROOM = 2_000
"""Characters that any answer may grow by; beyond, it may double."""


@dataclass(frozen=True, slots=True)
class Revision:
    """An answer before and after; `asked` is the new question."""

    draft: Draft
    asked: str
    old: str
    new: str


def flaw(revision: Revision, policy: CachePolicy, verifier: Verifier | None, fence: str) -> str | None:
    """Say in a closed word why a revised answer must not be served; None if nothing speaks against it.

    Args:
        revision: what was made of what, for which question.
        policy: its gate, and the least score that a draft must reach.
        verifier: asked where the policy wants one.
        fence: the random word of the reviser's instructions, which no answer repeats.
    """
    old, new = revision.old, revision.new
    if not new.strip() or fence in new:
        return "empty" if fence not in new else "echo"
    if len(new) > max(2 * len(old), len(old) + _ROOM) or len(new.encode()) > policy.drafts.max_bytes:
        return "size"
    if _shape(old) != _shape(new):
        return "format"
    return _against_question(revision, policy, verifier)


def is_hopeless(policy: CachePolicy, asked: str, stored: str) -> bool:
    """True when the questions differ in what no revised answer can be seen to have minded: nothing would pass."""
    return not _vetoes(policy, asked, stored) <= _IN_WORDS


def _vetoes(policy: CachePolicy, asked: str, stored: str) -> frozenset[str]:
    # What was said before was found to agree; a question need not be whole by itself.
    rules = replace(policy.gate, fragment=Effect.OFF)
    return frozenset(compare(features(asked), features(stored), rules).vetoes)


def _against_question(revision: Revision, policy: CachePolicy, verifier: Verifier | None) -> str | None:
    asked, stored = revision.asked, revision.draft.entry.prompt
    answered = answered_question(asked, stored, revision.old, revision.new)
    if is_hopeless(policy, asked, stored) or _vetoes(policy, asked, answered):
        return "gate"
    if not policy.verifier:
        return None
    # Taken up whole, it is the question itself, and nothing is left to be judged.
    score = 1.0 if answered == asked else _score(verifier, asked, answered, revision.draft.similarity)
    return (
        None
        if verifier is not None and score is not None and score >= policy.drafts.min_score
        else "verifier"
    )


def _score(verifier: Verifier | None, asked: str, answered: str, similarity: float) -> float | None:
    return None if verifier is None else verifier.score(asked, answered, similarity)


def _shape(text: str) -> Any:
    """Give what an answer that is JSON consists of, without its values; None for prose."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        # A block of code stays one, and none is begun.
        return stripped.startswith("```")
    try:
        return _bare(orjson.loads(stripped))
    except (orjson.JSONDecodeError, RecursionError):
        return "no json"


def _bare(value: Any) -> Any:
    match value:
        case dict():
            return [[name, _text(_bare(part))] for name, part in sorted(value.items())]
        case list():
            # As many as there are: only their kinds count.
            return [sorted({_text(_bare(part)) for part in value})]
        case bool() | None:
            return "literal"
        case int() | float():
            return "number"
        case _:
            return "text"


def _text(shape: Any) -> str:
    return orjson.dumps(shape).decode()
