"""Why somebody should look at a stored answer that met a question, and how much. Pure.

Each reason says how likely it is that the answer should not have gone to this question or asker:

    personal, and the asker is not its author   0.6     the same to the author   0.1
    volatile       0.15, of equal questions 0.05: these are bounded by the short lifetime of such answers
    near-score     1 - score: the score is a calibrated probability of being right
    near-threshold 0.12 at the bar, falling to 0.04 at the end of what the policy calls near; not where the score is as near
                   to certainty as that: the verifier has seen more than the threshold
    gate           0.1: the gate found a difference, though not one that vetoes; or one that alone stood against a hit
    draft          0.08: a model edited the answer, and checks were passed; 0.12 where it found nothing to edit
    unconfirmed    0.05: somebody would have got it, had a reviewer vouched for it, and only reviewers can
    other-user     0.02: the first time that an answer leaves its author
    sample         0.02: nothing speaks against it; it shows what reasons do not find
    audit          0.9: the backend said something else, twice

Where many ask, half of all hits are first ones by another user, and where drafts are taken, most requests are drafts:
with no other reason these two are drawn, though ten times as often as the sample.

The figures order the queue and are no measurement. Reasons are taken to err independently: of several, the
probability that one of them is right is 1 - (1-p)(1-q)..., which adds their rates -log(1-p), so two weak reasons
weigh about their sum and never more than a certainty. Adding up over the hits of an entry (the queue's
weight) is adding up expected wrong answers: risk times traffic.

What changes the harm, not the likelihood, multiplies the rate, so that the sum stays in [0, 1):

    domain   (0.01 / budget)^(1/2), at least 1/2 and at most 5: a policy states by its budget how dear wrong answers are, and
             budgets differ by powers of ten. The root keeps a busy chat from vanishing behind a quiet clinic
    vouched  0.1: a human has read the answer; what is left is whether it fits this question
    kept     0.5: nobody got it, it only would have been served

Equal questions are answered with their own answer: only what time and persons change counts there. Knows nothing
of how often something was asked, nor of queues.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, log1p, sqrt

from semcache.core import CachePolicy, ConfirmedBy, Directives, Draft, Hit
from semcache.decide.decision import Serving, bars
from semcache.decide.gate import Comparison, raised_bar
from semcache.decide.reasons import Reason, Veto

_USUAL_BUDGET = 0.01
_LEAST_HARM, _MOST_HARM = 0.5, 5.0
_VOUCHED = 0.1
_KEPT = 0.5

_STRANGERS = 0.6
_OWN = 0.1
_VOLATILE = 0.15
_VOLATILE_EXACT = 0.05
_AT_THE_BAR, _OFF_THE_BAR = 0.12, 0.04
_GATE = 0.1
_DRAFT = 0.08
_UNTOUCHED = 0.12
_UNCONFIRMED = 0.05
_OTHER_USER = 0.02
_SAMPLE = 0.02
_OFTENER = 10.0
"""How much oftener than all others those are drawn that have a reason of which there are plenty."""
_AUDIT = 0.9
_LEAST_DOUBT = 0.02


_VETOES = frozenset(veto.value for veto in Veto)


class Why(StrEnum):
    """The closed words for why an answer is looked at (`review_port.Sighting.reasons`)."""

    NEAR_THRESHOLD = "near-threshold"
    NEAR_SCORE = "near-score"
    GATE = "gate"
    VOLATILE = "volatile"
    PERSONAL = "personal"
    UNCONFIRMED = "unconfirmed"
    OTHER_USER = "other-user"
    AUDIT = "audit"
    DRAFT = "draft"
    SAMPLE = "sample"


_PLENTY = frozenset((Why.OTHER_USER, Why.DRAFT))


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a hit: the least similarity and the least score, where one was asked for."""

    bar: float
    score: float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What bears on one meeting of a stored answer and a question, beside the decision itself.

    Attributes:
        served: somebody got the answer, as it is or revised.
        drafted: what they got was the answer after revision.
        untouched: the revision had nothing to change.
        vouched: a human vouches for the answer.
        raised: the gate found differences that only raise the bar.
        volatile: question or stored question are about the moment.
        personal: question or answer are about one person.
        stranger: the asker is known, and is not the known author.
        first: no stranger got this answer before, as far as is known.
    """

    served: bool = True
    drafted: bool = False
    untouched: bool = False
    vouched: bool = False
    raised: bool = False
    volatile: bool = False
    personal: bool = False
    stranger: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class Attention:
    """How much a meeting asks for a look, in [0, 1), and the words for why; 0 and none: it does not."""

    risk: float = 0.0
    reasons: tuple[str, ...] = ()


def would_be_hit(draft: Draft) -> Hit | None:
    """Give the hit that a draft would have been, had the evidence of its domain allowed one."""
    if draft.reasons != (Reason.RISK.value,):
        return None
    return Hit(draft.entry, exact=False, similarity=draft.similarity, score=draft.score, shadow=True)


def asked_of(
    policy: CachePolicy,
    directives: Directives,
    decision: Hit | Draft,
    found: Comparison,
    vouched: bool,
    serving: Serving | None,
) -> Asked:
    """Give what was asked of a neighbour when it was decided about.

    Args:
        policy: as it was in force.
        directives: as the client asked.
        decision: what came of it.
        found: what the gate says of the two questions.
        vouched: whether a human vouches for the entry.
        serving: what the evidence of the domain allowed, where it was asked.
    """
    limits = bars(policy, directives)
    bar = raised_bar(limits.for_entry(decision.entry, vouched), found, policy.gate)
    least = policy.min_score
    if isinstance(decision, Hit) and decision.similarity < bar:
        # Served below the threshold, since no other question is near.
        bar, least = limits.alone, max(least, policy.alone.min_score)
    trusted = vouched and serving is not None and serving.trusts_humans
    if serving is not None and serving.cut is not None and not trusted:
        least = max(least, serving.cut)
    return Asked(bar, least if policy.verifier else None)


def attention(
    policy: CachePolicy, decision: Hit | Draft, asked: Asked, facts: Facts, coin: float
) -> Attention:
    """Say whether somebody should look at a meeting.

    Args:
        policy: of the request; its `review` says how near is near, and how many others are drawn.
        decision: the hit, would-be hit or draft.
        asked: see `asked_of`.
        facts: the rest.
        coin: a uniform number in [0, 1).
    """
    if isinstance(decision, Draft) and not facts.drafted and not _nearly_hit(decision, asked):
        return Attention()
    if isinstance(decision, Hit) and decision.exact:
        rates = _of_equal(facts)
    else:
        rates = _of_person_and_time(facts) | _of_nearness(policy, decision, asked, facts)
    waits = policy.confirmation.by is ConfirmedBy.HUMAN
    if waits and isinstance(decision, Hit) and decision.unconfirmed:
        rates[Why.UNCONFIRMED] = _UNCONFIRMED
    plenty = rates.keys() <= _PLENTY and not facts.untouched
    if plenty and not coin < policy.review.sample * _OFTENER:
        rates = {}
    if not rates and coin < policy.review.sample:
        rates = {Why.SAMPLE: _SAMPLE}
    return Attention(_risk(policy, rates, facts), tuple(word.value for word in Why if word in rates))


def audited(policy: CachePolicy, vouched: bool, served: bool) -> Attention:
    """Give what an audit that found a hit wrong asks for."""
    facts = Facts(served=served, vouched=vouched)
    return Attention(_risk(policy, {Why.AUDIT: _AUDIT}, facts), (Why.AUDIT.value,))


def harm(policy: CachePolicy) -> float:
    """Give how much dearer than usual wrong answers are in a domain, by what it may have of them."""
    budget = max(policy.risk.budget, 1e-9)
    return min(_MOST_HARM, max(_LEAST_HARM, sqrt(_USUAL_BUDGET / budget)))


def _risk(policy: CachePolicy, rates: dict[Why, float], facts: Facts) -> float:
    """Add the rates up, and weigh them by the harm."""
    total = -sum(log1p(-min(rate, 0.999)) for rate in rates.values())
    weight = harm(policy) * (_VOUCHED if facts.vouched else 1.0) * (1.0 if facts.served else _KEPT)
    return 1.0 - exp(-total * weight)


def _of_equal(facts: Facts) -> dict[Why, float]:
    found: dict[Why, float] = {}
    if facts.personal and facts.stranger:
        found |= {Why.PERSONAL: _STRANGERS, Why.OTHER_USER: _OTHER_USER}
    if facts.volatile:
        found[Why.VOLATILE] = _VOLATILE_EXACT
    return found


def _of_person_and_time(facts: Facts) -> dict[Why, float]:
    found: dict[Why, float] = {}
    if facts.volatile:
        found[Why.VOLATILE] = _VOLATILE
    if facts.personal:
        found[Why.PERSONAL] = _STRANGERS if facts.stranger else _OWN
    if facts.stranger and (facts.first or facts.personal):
        found[Why.OTHER_USER] = _OTHER_USER
    return found


def _of_nearness(policy: CachePolicy, decision: Hit | Draft, asked: Asked, facts: Facts) -> dict[Why, float]:
    """What similarity, score and gate say; of a draft, whether it was used, or only a veto kept it from being a hit."""
    if isinstance(decision, Draft):
        if not facts.drafted:
            return {Why.GATE: _GATE}
        return {Why.DRAFT: _UNTOUCHED if facts.untouched else _DRAFT}
    found: dict[Why, float] = {}
    near = policy.review.near
    above = decision.similarity - asked.bar
    sure = decision.score is not None and 1.0 - decision.score < near
    if 0.0 <= above <= near and near > 0.0 and not sure:
        found[Why.NEAR_THRESHOLD] = _AT_THE_BAR - (_AT_THE_BAR - _OFF_THE_BAR) * above / near
    if decision.score is not None and asked.score is not None and 0.0 <= decision.score - asked.score <= near:
        found[Why.NEAR_SCORE] = max(_LEAST_DOUBT, 1.0 - decision.score)
    if facts.raised:
        found[Why.GATE] = _GATE
    return found


def _nearly_hit(draft: Draft, asked: Asked) -> bool:
    """True when nothing but one veto of the gate stood against serving it."""
    return len(draft.reasons) == 1 and draft.reasons[0] in _VETOES and draft.similarity >= asked.bar
