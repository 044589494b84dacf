"""The decision about one request: serve a near entry, offer it as a draft, or neither.

Pure: candidates, time and policy come in, a decision goes out. Every step can only take away:
an entry must be alive, near enough on the reference scale, and unopposed by the gate. Knows
nothing of how candidates were found, nor of requests (see `admission`).

A candidate that the gate vetoed may still become a draft: it is never served, a model gets it
to revise, and a near neighbour that differs in one number is the text that needs least revising.
Not so where the two are in different languages or were not read whole: there is nothing to
revise from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

from semcache.core import CachePolicy, Directives, Draft, Entry, Hit, Miss, Mode, ReviewStatus, Scope
from semcache.decide.gate import Features, compare, features, raised_bar
from semcache.decide.reasons import Reason, Veto

_EXACT_ONLY = 1.0
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
class Bars:
    """The similarities that apply to one request after every tightening.

    A bar of 1.0 is closed: encoders give different texts a cosine of 1.0, and only the exact
    tier can tell equal texts.
    """

    hit: float
    verified: float
    draft: float

    def for_entry(self, entry: Entry) -> float:
        """Give the bar for serving `entry` directly."""
        return self.verified if entry.status.is_verified else self.hit


@dataclass(frozen=True, slots=True)
class _Judged:
    """A candidate with what stands against serving it: a reason, or the gate's words, or neither."""

    candidate: Candidate
    bar: float
    reason: Reason | None
    vetoes: tuple[str, ...] = ()

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
    return Bars(hit, verified, max(policy.draft_threshold, asked))


def decide(
    policy: CachePolicy, directives: Directives, asked: str, candidates: Sequence[Candidate], now: float
) -> Hit | Draft | Miss:
    """Decide what to do with the neighbours of `asked`.

    Args:
        policy: Thresholds, gate rules, greatest age.
        directives: What the client asked; can only tighten.
        asked: The last user text.
        candidates: In any order, dead ones included: they never end the search.
        now: Unix time in seconds.

    Returns:
        The best candidate as `Hit`, else the best that may be revised as `Draft`, else `Miss`
        with the obstacle of the nearest candidate that was near enough.
    """
    if not _semantic(policy, directives):
        return Miss(Reason.EXACT_ONLY.value)
    limits = bars(policy, directives)
    wanted = features(asked) if candidates else None
    judged: list[_Judged] = []
    for candidate in _in_order(candidates):
        verdict = _judge(policy, directives, wanted, candidate, limits, now)
        if verdict.reason is None and directives.mode != "draft":
            return Hit(candidate.entry, exact=False, similarity=candidate.similarity)
        judged.append(verdict)
    return _draft(policy, directives, judged, limits) or _miss(judged)


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


def _judge(
    policy: CachePolicy,
    directives: Directives,
    asked: Features | None,
    candidate: Candidate,
    limits: Bars,
    now: float,
) -> _Judged:
    """Say what stands against serving one candidate directly."""
    bar = limits.for_entry(candidate.entry)
    dead = _dead(policy, directives, candidate, now)
    if dead is not None:
        return _Judged(candidate, bar, dead)
    if asked is None or not _reaches(candidate.similarity, min(bar, limits.draft)):
        return _Judged(candidate, bar, Reason.BELOW_THRESHOLD)
    found = compare(asked, features(candidate.entry.prompt), policy.gate)
    bar = raised_bar(bar, found, policy.gate)
    if not _reaches(candidate.similarity, bar):
        return _Judged(candidate, bar, Reason.BELOW_THRESHOLD, found.vetoes)
    return _Judged(candidate, bar, Reason.GATE if found.vetoes else None, found.vetoes)


def _reaches(similarity: float, bar: float) -> bool:
    return bar < _EXACT_ONLY and similarity >= bar


def _dead(policy: CachePolicy, directives: Directives, candidate: Candidate, now: float) -> Reason | None:
    """Say why an entry may not be used at all, however near it is."""
    entry = candidate.entry
    if entry.status is ReviewStatus.REJECTED:
        return Reason.REJECTED
    foreign = entry.tenant != policy.tenant and policy.scope is not Scope.PUBLIC
    if foreign or entry.embedding is None or isnan(candidate.similarity):
        return Reason.UNMATCHABLE
    if not entry.is_fresh(now) or is_too_old(policy, directives, entry, now):
        return Reason.STALE
    return None


def is_too_old(policy: CachePolicy, directives: Directives, entry: Entry, now: float) -> bool:
    """True when the entry's age exceeds what policy or client accept (RFC 9111 section 5.2.1.1)."""
    limits = [limit for limit in (policy.max_age, directives.max_age) if limit is not None]
    return any(not entry.age(now) <= limit for limit in limits)


def _draft(
    policy: CachePolicy, directives: Directives, judged: Sequence[_Judged], limits: Bars
) -> Draft | None:
    """Give the nearest living candidate in the draft band."""
    band = policy.draft_threshold < policy.threshold
    if not band and directives.mode != "draft":
        return None
    for item in judged:
        near = _reaches(item.candidate.similarity, limits.draft) or item.reaches
        alive = item.reason in (None, Reason.GATE, Reason.BELOW_THRESHOLD)
        if near and alive and not _UNREVISABLE.intersection(item.vetoes):
            return Draft(item.candidate.entry, item.candidate.similarity, item.vetoes)
    return None


def _miss(judged: Sequence[_Judged]) -> Miss:
    """Name the obstacle of the nearest candidate that was near enough to be served."""
    if not judged:
        return Miss(Reason.EMPTY.value)
    score = judged[0].candidate.similarity
    similarity = None if isnan(score) else score
    for item in judged:
        if item.reaches and item.reason is not None:
            return Miss(item.reason.value, item.vetoes, similarity)
    alive = any(item.reason is Reason.BELOW_THRESHOLD for item in judged)
    reason = Reason.BELOW_THRESHOLD if alive else judged[0].reason
    return Miss((reason or Reason.BELOW_THRESHOLD).value, (), similarity)
