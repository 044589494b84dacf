"""What stands against serving a revised answer: closed words (`flaws`), none for nothing. Pure; what cannot be told is no.

The one door to what this room looks for in answers. The answer by itself comes first (`speech`, `ending`, `form`), then
whether the questions can be mended at all (`stance`), then what was changed: the questions are held against one
another as for a hit, but for what the revision has visibly taken up (`taken`): an answer that was kept must pass as a
stored one would, one that swapped the country must have swapped the country everywhere (`remains`, `wording`), and
something that depends on it. Whether a model's new facts are true nobody can see here; a reviser is trusted for
knowledge, not for care.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from semcache.core import CachePolicy, JsonObject
from semcache.decide.reasons import Veto
from semcache.decide.revision import remains, wording
from semcache.decide.revision.ending import is_cut
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.form import has_form, is_spoken
from semcache.decide.revision.speech import talk
from semcache.decide.revision.stance import unmendable, vetoes
from semcache.decide.revision.taken import Taken, is_parroted, taken_up
from semcache.decide.text import read
from semcache.ports import Verifier

KEPT_SCORE = 0.95
"""The verifier's least probability where the answer takes no difference of the questions up: that is a hit on a model's word.

At `drafts.min_score` alone the verifier lets pass, of cMedQQ's and MedQuAD's pairs that may share no answer, most.
"""
_AMOUNTS = frozenset((Veto.NUMBERS, Veto.UNITS, Veto.MONEY, Veto.DATES))
_ROOM = 2_000
"""Characters that any answer may grow by; beyond, it may double."""
_COMPOSES = re.compile(
    r"(?i)\b(?:write|draft|compose|poem|letter|e-?mail|message|greeting|wish|toast|speech|invitation|slogan|caption|story)\b"
    r"|写|拟|作诗|祝福|祝词|邀请函|起草"
)
"""A text is to be made: a name in it is a word of it, and not what its facts depend on."""


@dataclass(frozen=True, slots=True)
class WantedForm:
    """What is asked of the answer beside the question: the request's `response_format`, and the fence it may not repeat."""

    response_format: JsonObject | None = None
    fence: str = ""


def check(
    policy: CachePolicy,
    asked: str,
    stored: str,
    before: str,
    after: str,
    similarity: float,
    verifier: Verifier | None,
    wanted: WantedForm,
) -> tuple[Flaw, ...]:
    """Give what stands against serving a revised answer; () for nothing. What is dear to find is looked for last.

    Args:
        policy: its gate, whether it has a verifier, `drafts.min_score` and `drafts.max_bytes`.
        asked: the new question.
        stored: the one that the old answer was given to.
        before: the old answer.
        after: the revised one; the same text where the reviser kept it.
        similarity: of the two questions, on the reference scale.
        verifier: asked where the policy has one; None: then nothing passes.
        wanted: what else is asked of the answer.
    """
    if not after.strip():
        return (Flaw.EMPTY,)
    found = tuple(_as_answer(policy, asked, stored, before, after, wanted))
    if found:
        return found
    why = unmendable(asked, stored, policy.gate)
    if why is not None:
        return (why,)
    differing = vetoes(asked, stored, policy.gate)
    if _is_same(before, after):
        kept = (Flaw.UNCHANGED,) if differing else ()
        return (*kept, *_as_reply(policy, asked, stored, similarity, verifier, KEPT_SCORE))
    taken, answer = taken_up(asked, stored, before, after), remains.read_whole(after)
    least = KEPT_SCORE if taken.question == stored else policy.drafts.min_score
    found = (
        *_as_revision(asked, stored, before, after, taken, differing),
        *_as_reply(policy, asked, taken.question, similarity, verifier, least),
    )
    if answer is None or remains.are_left(asked, stored, answer):
        return (Flaw.LEFTOVER, *found)
    # `email` for `e-mail` shows nothing of what its reviser saw.
    if found or _letters(before) == _letters(after):
        return found
    return tuple(_by_halves(asked, stored, wording.said(answer), alike=not differing))


def _as_answer(
    policy: CachePolicy, asked: str, stored: str, before: str, after: str, wanted: WantedForm
) -> Iterator[Flaw]:
    """Look at the answer by itself."""
    yield from talk(asked, before, after, wanted.fence)
    if is_cut(before, after):
        yield Flaw.CUT
    if (
        len(after) > max(2 * len(before), len(before) + _ROOM)
        or len(after.encode("utf-8", "surrogatepass")) > policy.drafts.max_bytes
    ):
        yield Flaw.SIZE
    if not has_form(asked, wanted.response_format, after):
        yield Flaw.FORM
    if not is_spoken(asked, stored, before, after):
        yield Flaw.LANGUAGE


def _as_revision(
    asked: str, stored: str, before: str, after: str, taken: Taken, differing: frozenset[str]
) -> Iterator[Flaw]:
    """Look at what was changed; `differing`: in what the gate sees the questions differ. Other figures depend on amounts."""
    if differing and _letters(before) == _letters(after):
        yield Flaw.UNCHANGED
    if is_parroted(taken, before, after) and not _COMPOSES.search(asked):
        yield Flaw.PARROTED
    elif differing & _AMOUNTS and remains.are_unmoved(asked, stored, before, after):
        yield Flaw.UNMOVED


def _as_reply(
    policy: CachePolicy,
    asked: str,
    answered: str,
    similarity: float,
    verifier: Verifier | None,
    least: float,
) -> tuple[Flaw, ...]:
    """Hold the new question against the one that the revised answer answers, as if that were stored."""
    if vetoes(asked, answered, policy.gate):
        return (Flaw.GATE,)
    if not policy.verifier:
        return ()
    # Taken up whole, it is the question itself, and nothing is left to be judged.
    if verifier is not None and answered == asked:
        return ()
    score = None if verifier is None else verifier.score(asked, answered, similarity)
    wanted = max(least, policy.drafts.min_score)
    return () if score is not None and score >= wanted else (Flaw.VERIFIER,)


def _by_halves(asked: str, stored: str, held: wording.Said, *, alike: bool) -> Iterator[Flaw]:
    """Hold an answer that was changed to the words of the questions; `alike`: the gate sees no difference of theirs."""
    if alike and wording.is_reordered(asked, stored):
        yield Flaw.REORDERED
    words = wording.differences(asked, stored)
    if held.holds(words.lost):
        yield Flaw.LEFTOVER
    if any(not held.holds(place) for place in words.come):
        yield Flaw.MISSING


def _is_same(before: str, after: str) -> bool:
    """True when no word changed, as the gate reads words: case and punctuation are no change."""
    old, new = read(before), read(after)
    return before == after or (old.words == new.words and old.tail == new.tail)


def _letters(text: str) -> str:
    """Give what is left when blanks and signs are taken away too: `5.6` is `56`."""
    return "".join(filter(str.isalnum, text.casefold()))
