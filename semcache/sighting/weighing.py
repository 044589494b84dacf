"""A meeting becomes a sighting: the reading that is too dear while somebody waits.

Remembers, bounded and for this worker alone, what stored questions and answers are like and which answers have left their
author: after a restart, or on another worker, a `first` hit by another user is first once more. Texts that the
gate does not remember are not read again for its sake (`_READ`). Knows no queue and no tasks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from semcache.asking.calls import text_of
from semcache.core import Draft, Effect, Entry, EntryId, Hit
from semcache.decide.attention import Attention, Facts, asked_of, attention, audited, would_be_hit
from semcache.decide.gate import Comparison, compare, features
from semcache.decide.personal import signs_of_answer, signs_of_question
from semcache.decide.volatile import is_volatile
from semcache.decide.vouching import vouched
from semcache.embed.fingerprint import asked_digest, asker_digest, subject_digest
from semcache.review_port import Sighting
from semcache.review_rules import WHOLE
from semcache.sighting.shelf import Met

_READ = 2000
"""Characters up to which the gate remembers what it read."""
_LONGEST = 4000
"""Characters of a question that are handed on."""
_LARGEST = 64 << 10
"""Bytes of an answer up to which it is looked into."""
_REMEMBERED = 4096
_LEFT = 20_000


@dataclass(frozen=True, slots=True)
class Traits:
    """What a stored question and its answer are like."""

    volatile: bool
    personal: bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sighting, and the meeting that it was made from."""

    sighting: Sighting
    met: Met
    traits: Traits


class Weigher:
    """Weighs the meetings of one worker.

    Args:
        coin: gives uniform numbers in [0, 1).
    """

    def __init__(self, coin: Callable[[], float]) -> None:
        self._coin = coin
        self._traits: OrderedDict[tuple[EntryId, int], Traits] = OrderedDict()
        self._left: OrderedDict[EntryId, None] = OrderedDict()

    def weigh(self, met: Met) -> Weighed | None:
        """Make a sighting; None for a draft of which nothing was used, and which was not nearly a hit."""
        decision, used = _outcome(met)
        if used == _NOTHING_OF_IT:
            return None
        drafted = bool(used)
        asker = asker_digest(met.partition, met.user)
        traits = self._traits_of(decision.entry)
        if met.place is not None:
            asked = Traits(is_volatile(met.question[:_READ]), bool(signs_of_question(met.question)))
            traits = Traits(traits.volatile or asked.volatile, traits.personal or asked.personal)
        found = self._attention(met, decision, used, traits, asker)
        if isinstance(decision, Draft) and not drafted and not found.reasons:
            return None
        sighting = Sighting(
            entry=decision.entry.id,
            asked=asked_digest(met.place, met.question) if met.place is not None else WHOLE,
            question=met.question[:_LONGEST],
            at=met.at,
            domain=met.policy.domain,
            outcome=_word(met, decision, drafted),
            risk=found.risk,
            reasons=found.reasons,
            similarity=decision.similarity,
            score=decision.score,
            asker=asker,
            subject=subject_digest(met.partition.tenant, met.user),
        )
        return Weighed(sighting, met, traits)

    def _attention(self, met: Met, decision: Hit | Draft, used: str, traits: Traits, asker: str) -> Attention:
        drafted, entry = bool(used), decision.entry
        served = met.served or drafted
        is_vouched = vouched(met.policy, met.directives, entry, met.at)
        if met.audited:
            return audited(met.policy, is_vouched, served)
        stranger = bool(entry.author) and entry.author != asker
        compared = _compared(met, entry)
        facts = Facts(
            served=served,
            drafted=drafted,
            untouched=used == "kept",
            vouched=is_vouched,
            raised=bool(compared.raised),
            volatile=traits.volatile,
            personal=traits.personal,
            stranger=stranger,
            first=stranger and served and self._leaves(entry.id),
        )
        asked = asked_of(met.policy, met.directives, decision, compared, is_vouched, met.serving)
        return attention(met.policy, decision, asked, facts, self._coin())

    def _traits_of(self, entry: Entry) -> Traits:
        key = (entry.id, entry.version)
        known = self._traits.get(key)
        if known is None:
            answer = text_of(entry.completion) if entry.completion.size <= _LARGEST else ""
            personal = bool(signs_of_question(entry.prompt) or signs_of_answer(answer))
            known = self._traits[key] = Traits(is_volatile(entry.prompt[:_READ]), personal)
            if len(self._traits) > _REMEMBERED:
                self._traits.popitem(last=False)
        return known

    def _leaves(self, entry: EntryId) -> bool:
        """True at the first time that an answer goes to another than its author, as far as is remembered."""
        if entry in self._left:
            self._left.move_to_end(entry)
            return False
        self._left[entry] = None
        if len(self._left) > _LEFT:
            self._left.popitem(last=False)
        return True


_NOTHING_OF_IT = "-"


def _outcome(met: Met) -> tuple[Hit | Draft, str]:
    """Give the decision and what became of a draft (`kept`, `edited`; "" where it was not used).

    One that was not used is the hit that it would have been, if any. Where a model wrote the answer anew, guided by the
    stored one or not, nothing that is stored was served.
    """
    decision, trace = met.decision, met.trace
    if not isinstance(decision, Draft):
        return decision, ""
    anew = False
    if trace is not None and trace.draft is not None and trace.is_drafted:
        if trace.draft.result in ("kept", "edited"):
            return decision, trace.draft.result
        anew = True
    hit = would_be_hit(decision)
    if hit is not None:
        return hit, ""
    return decision, _NOTHING_OF_IT if anew else ""


def _word(met: Met, decision: Hit | Draft, drafted: bool) -> str:
    if drafted:
        return "draft"
    if not met.served:
        return "shadow"
    return "exact" if isinstance(decision, Hit) and decision.exact else "semantic"


_EQUAL = Comparison()


def _compared(met: Met, entry: Entry) -> Comparison:
    """Give what the gate found, as it was asked when it was decided about; of long texts nothing."""
    if met.place is None or max(len(met.question), len(entry.prompt)) > _READ:
        return _EQUAL
    rules = met.policy.gate
    if not met.alone:
        # What was said before had been compared: the question need not be whole by itself.
        rules = replace(rules, fragment=Effect.OFF)
    return compare(features(met.question), features(entry.prompt), rules)
