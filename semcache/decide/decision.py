"""The decision about one request: serve a near entry, offer it as a draft, or neither.

Pure: candidates, time and policy come in, a decision goes out. Every step can only take away:
an entry must be alive, near enough on the reference scale, unopposed by the gate, right in the
verifier's judgement, and its score one at which the domain's evidence allows hits. A score that was
proven says nothing of pairs below the threshold: among crowded ones the same score is wrong several times
as often. Knows nothing of how candidates were found, nor of requests (see `admission`), nor of how
evidence comes about.

A candidate that the gate vetoed may still become a draft: it is never served, a model gets it
to revise, and a near neighbour that differs in one number is the text that needs least revising.
Not so where the two are in different languages or were not read whole: there is nothing to
revise from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

from semcache.core import (
    CachePolicy,
    Directives,
    Draft,
    Entry,
    Hit,
    Miss,
    Mode,
    ReviewStatus,
    UntilProven,
)
from semcache.decide.confirming import NOBODY, Asker, is_unconfirmed
from semcache.decide.gate import compare, features, raised_bar
from semcache.decide.reasons import Reason, Veto
from semcache.decide.vouching import vouched, withheld
from semcache.ports import Verifier
from semcache.review_rules import PUBLIC

_EXACT_ONLY = 1.0
_MOST_ALSO = 3
"""So many are held against the model's answer beside the nearest: whoever lies nearest must not keep the others apart."""
_REVISABLE = (None, Reason.GATE, Reason.BELOW_THRESHOLD, Reason.VERIFIER, Reason.RISK)
_UNREVISABLE = frozenset((Veto.LANGUAGE.value, Veto.UNREAD.value))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A neighbour re-read from the store; `similarity` is on the reference scale, in [-1, 1]."""

    entry: Entry
    similarity: float

    def __post_init__(self) -> None:
        if not isnan(self.similarity):
            object.__setattr__(self, "similarity", max(-1.0, min(1.0, self.similarity)))


@dataclass(frozen=True, slots=True)
class Serving:
    """What the evidence of the tenant's domain allows.

    `cut` is the least score served, None while nothing is; `proven`: by evidence of its own, not by the
    shipped calibration; `otherwise` says what becomes of what it does not allow.
    """

    cut: float | None = 0.0
    proven: bool = False
    otherwise: UntilProven = UntilProven.DRAFT
    trusts_humans: bool = True
    """Answers that a human vouches for need no evidence of the domain: so long as it does not speak against hits."""

    def allows(self, score: float | None, vouched: bool = False) -> bool:
        """True when a hit of this score may be served; without a verifier there is no score to ask for."""
        if vouched and self.trusts_humans:
            return True
        return self.cut is not None and (score is None or score >= self.cut)


UNBOUNDED = Serving()
"""For questions about a pair as such: no evidence is asked for."""


@dataclass(frozen=True, slots=True)
class Bars:
    """The similarities that apply to one request after every tightening.

    A bar of 1.0 is closed: encoders give different texts a cosine of 1.0, and only the exact
    tier can tell equal texts.
    """

    hit: float
    verified: float
    draft: float
    alone: float

    def for_entry(self, entry: Entry, is_vouched: bool) -> float:
        """Give the bar for serving `entry` directly; a human may have raised it for this one."""
        bar = self.verified if is_vouched else self.hit
        return bar if entry.review.least is None else max(bar, entry.review.least)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A candidate with what stands against serving it: a reason, or the gate's words, or neither.

    `unconfirmed`: nor may this asker have anything of it, whatever the reason.
    """

    candidate: Candidate
    bar: float
    reason: Reason | None
    vetoes: tuple[str, ...] = ()
    score: float | None = None
    unconfirmed: bool = False

    @property
    def reaches(self) -> bool:
        return _reaches(self.candidate.similarity, self.bar)


def bars(policy: CachePolicy, directives: Directives) -> Bars:
    """Give the bars of a request: the client's threshold can raise them, never lower them."""
    asked = directives.threshold
    if asked is None:
        asked = -1.0
    elif isnan(asked):
        # Not a number is no permission: read it as the strictest wish.
        asked = _EXACT_ONLY
    hit = max(policy.threshold, asked)
    verified = max(policy.verified_threshold, asked)
    return Bars(hit, verified, max(policy.draft_threshold, asked), max(policy.alone.threshold, asked))


def decide(
    policy: CachePolicy,
    directives: Directives,
    asked: str,
    candidates: Sequence[Candidate],
    now: float,
    verifier: Verifier | None,
    serving: Serving = UNBOUNDED,
    asker: Asker = NOBODY,
) -> Hit | Draft | Miss:
    """Decide what to do with the neighbours of `asked`.

    Args:
        policy: Thresholds, gate rules, greatest age.
        directives: What the client asked; can only tighten.
        asked: The last user text.
        candidates: In any order, dead ones included: they never end the search.
        now: Unix time in seconds.
        verifier: Asked where the policy wants it; None: there is none, and then nothing is served.
        serving: What the evidence of the domain allows.
        asker: Who asks what, for answers that are not for everybody.

    Returns:
        The best candidate as `Hit`, else the best that may be revised as `Draft`, else `Miss`
        with the obstacle of the nearest candidate that was near enough.
    """
    if not _semantic(policy, directives):
        return Miss(Reason.EXACT_ONLY.value)
    judge = _Judge(policy, directives, asked, bars(policy, directives), now, verifier, serving, asker)
    judged: list[_Judged] = []
    ordered = _in_order(candidates)
    for i, candidate in enumerate(ordered):
        alone = i == 0 and _stands_alone(ordered, policy.alone.margin)
        has_draft = any(_is_draft(item, judge.limits) for item in judged)
        verdict = judge.of(candidate, alone, has_draft)
        if verdict.reason is None and directives.mode != "draft":
            return _hit(verdict)
        judged.append(verdict)
    would_be = _would_be(directives, serving, judged)
    return would_be or _draft(policy, directives, judged, judge.limits) or _miss(judged)


def _hit(judged: _Judged, shadow: bool = False) -> Hit:
    found = judged.candidate
    return Hit(
        found.entry,
        exact=False,
        similarity=found.similarity,
        score=judged.score,
        shadow=shadow,
        unconfirmed=judged.unconfirmed,
    )


def _would_be(directives: Directives, serving: Serving, judged: Sequence[_Judged]) -> Hit | None:
    """Give the best candidate that only the evidence stands against, where it is to be learnt from, or that is too new."""
    if directives.mode == "draft":
        return None
    learns = serving.otherwise is UntilProven.SHADOW
    # What is too new cannot be a draft either, so that nothing else comes of it.
    new = [item for item in judged if item.unconfirmed and item.reason in (Reason.RISK, Reason.UNCONFIRMED)]
    for item in judged:
        if item in new or (learns and item.reason is Reason.RISK):
            others = tuple(other.candidate.entry for other in new if other is not item)
            return replace(_hit(item, shadow=True), also=others[:_MOST_ALSO] if item.unconfirmed else ())
    return None


def _semantic(policy: CachePolicy, directives: Directives) -> bool:
    return policy.mode in (Mode.SEMANTIC, Mode.SHADOW) and directives.mode not in ("exact", "off")


def _in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; at equal similarity the reviewed before the unreviewed, then the newer."""
    return sorted(candidates, key=_rank)


def _rank(candidate: Candidate) -> tuple[bool, float, bool, float, str]:
    entry, score = candidate.entry, candidate.similarity
    return (
        isnan(score),
        0.0 if isnan(score) else -score,
        not entry.status.is_verified,
        -entry.created_at,
        entry.id,
    )


def _stands_alone(ordered: Sequence[Candidate], margin: float) -> bool:
    """True when no other stored question is near the nearest one."""
    return len(ordered) < 2 or not ordered[1].similarity > ordered[0].similarity - margin


@dataclass(frozen=True, slots=True)
class _Judge:
    """What stands against serving one candidate directly."""

    policy: CachePolicy
    directives: Directives
    asked: str
    limits: Bars
    now: float
    verifier: Verifier | None
    serving: Serving
    asker: Asker

    def of(self, candidate: Candidate, alone: bool, has_draft: bool) -> _Judged:
        entry = candidate.entry
        is_vouched = vouched(self.policy, self.directives, entry, self.now)
        found = self._of(candidate, alone, has_draft, is_vouched)
        if not is_unconfirmed(self.policy, entry, self.asker, is_vouched):
            return found
        return replace(found, reason=found.reason or Reason.UNCONFIRMED, unconfirmed=True)

    def _of(self, candidate: Candidate, alone: bool, has_draft: bool, is_vouched: bool) -> _Judged:
        entry = candidate.entry
        bar = self.limits.for_entry(entry, is_vouched)
        dead = _dead(self.policy, self.directives, candidate, self.now)
        dead = dead or withheld(entry, self.asker.asked, self.asker.who)
        if dead is not None:
            return _Judged(candidate, bar, dead)
        # What a human raised the bar for is not lowered again for standing alone.
        alone = alone and entry.review.least is None
        lowest = min(bar, self.limits.draft, self.limits.alone if alone else bar)
        if not _reaches(candidate.similarity, lowest):
            return _Judged(candidate, bar, Reason.BELOW_THRESHOLD)
        if has_draft and not alone and not _reaches(candidate.similarity, bar):
            # Neither to be served nor, behind a nearer one, to be revised: not worth reading.
            return _Judged(candidate, bar, Reason.BELOW_THRESHOLD)
        found = compare(features(self.asked), features(entry.prompt), self.policy.gate)
        bar, least = self._bar(candidate, raised_bar(bar, found, self.policy.gate), found.raised, alone)
        if not _reaches(candidate.similarity, bar):
            return _Judged(candidate, bar, Reason.BELOW_THRESHOLD, found.vetoes)
        if found.vetoes:
            return _Judged(candidate, bar, Reason.GATE, found.vetoes)
        reason, score = self._verified(candidate, least, is_vouched)
        return _Judged(candidate, bar, reason, (), score)

    def _bar(
        self, candidate: Candidate, bar: float, raised: tuple[str, ...], alone: bool
    ) -> tuple[float, float]:
        """Give the similarity that is asked for, and the score that goes with it."""
        least = self.policy.min_score
        if _reaches(candidate.similarity, bar) or raised or not self.policy.verifier or bar >= _EXACT_ONLY:
            return bar, least
        if alone and _reaches(candidate.similarity, self.limits.alone):
            return self.limits.alone, max(least, self.policy.alone.min_score)
        return bar, least

    def _verified(
        self, candidate: Candidate, least: float, is_vouched: bool
    ) -> tuple[Reason | None, float | None]:
        """Ask the verifier, then the evidence: the obstacle, if any, and the score."""
        score: float | None = None
        if self.policy.verifier:
            if self.verifier is None:
                return Reason.VERIFIER, None
            score = self.verifier.score(self.asked, candidate.entry.prompt, candidate.similarity)
            if score is None or not score >= least:
                return Reason.VERIFIER, score
        return (None if self.serving.allows(score, is_vouched) else Reason.RISK), score


def _reaches(similarity: float, bar: float) -> bool:
    return bar < _EXACT_ONLY and similarity >= bar


def _dead(policy: CachePolicy, directives: Directives, candidate: Candidate, now: float) -> Reason | None:
    """Say why an entry may not be used at all, however near it is."""
    entry = candidate.entry
    if entry.status is ReviewStatus.REJECTED:
        return Reason.REJECTED
    if is_foreign(policy, entry) or entry.embedding is None or isnan(candidate.similarity):
        return Reason.UNMATCHABLE
    if not entry.is_fresh(now) or is_too_old(policy, directives, entry, now):
        return Reason.STALE
    return None


def is_foreign(policy: CachePolicy, entry: Entry) -> bool:
    """True when the entry is another tenant's and nobody made it public, or this tenant takes no part in what is."""
    return entry.tenant != policy.tenant and not (policy.commons and entry.tenant == PUBLIC)


def is_too_old(policy: CachePolicy, directives: Directives, entry: Entry, now: float) -> bool:
    """True when the entry's age exceeds what policy or client accept (RFC 9111 section 5.2.1.1)."""
    limits = [limit for limit in (policy.max_age, directives.max_age) if limit is not None]
    return any(not entry.age(now) <= limit for limit in limits)


def _draft(
    policy: CachePolicy, directives: Directives, judged: Sequence[_Judged], limits: Bars
) -> Draft | None:
    """Give the nearest living candidate in the draft band, or one that only the evidence stands against."""
    banded = policy.draft_threshold < policy.threshold or directives.mode == "draft"
    # First what would be served were its score proven: behind a nearer one with a veto nothing would be learnt of it.
    # And what a model answered freely before what was itself revised: errors would add up.
    learning = directives.mode != "draft"
    for item in sorted(
        judged,
        key=lambda item: (learning and item.reason is not Reason.RISK, is_revised(item.candidate.entry)),
    ):
        near = _reaches(item.candidate.similarity, limits.draft) or item.reaches
        wanted = banded or item.reason is Reason.RISK
        alive = item.reason in _REVISABLE
        if near and wanted and alive and not item.unconfirmed and not _UNREVISABLE.intersection(item.vetoes):
            stands_against = item.vetoes or _words(item.reason)
            return Draft(item.candidate.entry, item.candidate.similarity, stands_against, item.score)
    return None


def _is_draft(item: _Judged, limits: Bars) -> bool:
    """True for one below the threshold that will be the draft before all that come after it."""
    near = _reaches(item.candidate.similarity, limits.draft) and not is_revised(item.candidate.entry)
    near = near and not item.unconfirmed
    return near and item.reason is Reason.BELOW_THRESHOLD and not _UNREVISABLE.intersection(item.vetoes)


def is_revised(entry: Entry) -> bool:
    """True for an answer that was revised from another one, and that no human has looked at."""
    return entry.origin.startswith("draft:") and not entry.status.is_verified


def _words(reason: Reason | None) -> tuple[str, ...]:
    return (reason.value,) if reason in (Reason.VERIFIER, Reason.RISK) else ()


def _miss(judged: Sequence[_Judged]) -> Miss:
    """Name the obstacle of the nearest candidate that was near enough to be served."""
    if not judged:
        return Miss(Reason.EMPTY.value)
    score = judged[0].candidate.similarity
    similarity = None if isnan(score) else score
    for item in judged:
        if item.reaches and item.reason is not None:
            return Miss(item.reason.value, item.vetoes, item.candidate.similarity, item.score)
    alive = any(item.reason is Reason.BELOW_THRESHOLD for item in judged)
    reason = Reason.BELOW_THRESHOLD if alive else judged[0].reason
    return Miss((reason or Reason.BELOW_THRESHOLD).value, (), similarity)
