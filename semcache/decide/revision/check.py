"""What stands against serving a revised answer: closed words, none for nothing. Pure; what cannot be told is no.

The questions are held against one another as for a hit, but for what the revision has visibly taken up (see
`taken`): an answer that was kept must pass as a stored one would, one that swapped the country must have swapped
the country everywhere, and something that depends on it. Differences that no answer shows to have been minded
(a `not`, an opposite, another order, other people, another form) are never revised: a wrong `yes` reads like a right
one. Whether a model's new facts are true nobody can see here; a reviser is trusted for knowledge, not for care.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from semcache.core import CachePolicy, Effect, GateRules, JsonObject
from semcache.decide.features import features
from semcache.decide.gate import compare
from semcache.decide.reasons import Veto
from semcache.decide.revision import speech
from semcache.decide.revision.edit import Edit, Keep
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.form import amiss, breaks
from semcache.decide.revision.leftovers import leftovers
from semcache.decide.revision.remains import are_unmoved
from semcache.decide.revision.taken import Taken, is_parroted, taken_up
from semcache.decide.revision.talk import talk
from semcache.decide.text import read
from semcache.ports import Verifier

_SHOWN = frozenset(
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
"""What an answer can show to have minded: another thing is named."""
KEPT_SCORE = 0.95
"""The verifier's least probability where the answer takes no difference of the questions up: that is a hit on a model's word.

At `drafts.min_score` alone the verifier lets pass, of cMedQQ's and MedQuAD's pairs that may share no answer, most.
"""
_AMOUNTS = frozenset(veto.value for veto in (Veto.NUMBERS, Veto.UNITS, Veto.MONEY, Veto.DATES))
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


def hopeless(policy: CachePolicy, asked: str, stored_question: str) -> str | None:
    """Say in a word of `check` why no revision of whatever kind would pass; None: one may. To be asked before one is paid for."""
    one, other = features(asked), features(stored_question)
    if one.payload is not None or other.payload is not None:
        return "payload"
    vetoes = _vetoes(policy, asked, stored_question)
    return None if vetoes <= _SHOWN else "opposite" if vetoes & _OPPOSITE else "gate"


_OPPOSITE = frozenset((Veto.NEGATION.value, Veto.ANTONYMS.value, Veto.COMPARISON.value, Veto.ORDER.value))


def check(
    policy: CachePolicy,
    asked: str,
    stored_question: str,
    stored_answer: str,
    revised: str,
    edit: Edit,
    similarity: float,
    verifier: Verifier | None,
    wanted: WantedForm,
) -> tuple[str, ...]:
    """Give what stands against serving `revised` for `asked`, as closed words; () for nothing.

    `empty`, `size`, `form`, `fence`, `refusal`, `talk`, `making`, `foreign`, `cut`, `language`; `payload`, `opposite`, `gate`, `verifier` (of
    the questions, but for what was taken up), `unchanged` (the questions differ and the answer does not), `parroted`
    (only the question's words changed), `unmoved` (another amount is asked about, and no figure changed), `leftover`.

    Args:
        policy: its gate, whether it has a verifier, `drafts.min_score` and `drafts.max_bytes`.
        asked: the new question.
        stored_question: the one that the old answer was given to.
        stored_answer: the old answer.
        revised: the answer after the edit.
        edit: what was made of it.
        similarity: of the two questions, on the reference scale.
        verifier: asked where the policy has one; None: then nothing passes.
        wanted: what else is asked of the answer.
    """
    if not revised.strip():
        return ("empty",)
    found = [*_as_answer(policy, asked, stored_question, stored_answer, revised, wanted)]
    # The cheap half first: nothing more need be known of what is refused.
    if found:
        return tuple(found)
    why = hopeless(policy, asked, stored_question)
    if why is not None:
        return (why,)
    taken = Taken(stored_question)
    if not isinstance(edit, Keep) and not _is_same(stored_answer, revised):
        taken = taken_up(asked, stored_question, stored_answer, revised)
        amounts = not _AMOUNTS.isdisjoint(_vetoes(policy, asked, stored_question))
        found += _as_revision(asked, stored_question, stored_answer, revised, taken, amounts=amounts)
    elif _vetoes(policy, asked, stored_question):
        found.append("unchanged")
    least = (
        policy.drafts.min_score
        if taken.question != stored_question
        else max(KEPT_SCORE, policy.drafts.min_score)
    )
    found += _as_reply(policy, asked, taken.question, similarity, verifier, least)
    return tuple(found)


def _as_answer(
    policy: CachePolicy, asked: str, stored_question: str, before: str, after: str, wanted: WantedForm
) -> list[str]:
    """Look at the answer by itself."""
    said = (
        *talk(asked, before, after, wanted.fence),
        *(flaw.value for flaw in speech.talk(asked, before, after)),
    )
    found = list(dict.fromkeys(said))
    if (
        len(after) > max(2 * len(before), len(before) + _ROOM)
        or len(after.encode("utf-8", "surrogatepass")) > policy.drafts.max_bytes
    ):
        found.append("size")
    flaws = set(amiss(asked, features(asked), features(stored_question), before, after))
    if flaws - {Flaw.LANGUAGE} or breaks(wanted.response_format, after) is not None:
        found.append("form")
    if Flaw.LANGUAGE in flaws:
        found.append("language")
    return found


def _as_revision(
    asked: str, stored_question: str, before: str, after: str, taken: Taken, *, amounts: bool
) -> list[str]:
    """Look at what the edit did; `amounts`: the questions ask about different ones, on which other figures depend."""
    found = ["leftover"] if leftovers(asked, stored_question, after) else []
    if is_parroted(taken, before, after) and not _COMPOSES.search(asked):
        found.append("parroted")
    elif amounts and are_unmoved(asked, stored_question, before, after):
        found.append("unmoved")
    return found


def _as_reply(
    policy: CachePolicy,
    asked: str,
    answered: str,
    similarity: float,
    verifier: Verifier | None,
    least: float,
) -> list[str]:
    """Hold the new question against the one that the revised answer answers, as if that were stored."""
    if _vetoes(policy, asked, answered):
        return ["gate"]
    if not policy.verifier:
        return []
    # Taken up whole, it is the question itself, and nothing is left to be judged.
    if verifier is not None and answered == asked:
        return []
    score = None if verifier is None else verifier.score(asked, answered, similarity)
    return [] if score is not None and score >= least else ["verifier"]


def _vetoes(policy: CachePolicy, one: str, other: str) -> frozenset[str]:
    return frozenset(compare(features(one), features(other), _rules(policy)).vetoes)


def _rules(policy: CachePolicy) -> GateRules:
    # What was said before was found to agree; a question need not be whole by itself.
    return replace(policy.gate, fragment=Effect.OFF)


def _is_same(before: str, after: str) -> bool:
    """True when an edit or a rewrite changed no word."""
    old, new = read(before), read(after)
    return old.words == new.words and old.tail == new.tail
