"""Works out what holds in a domain: built-in values, then `defaults:`, then the domain itself.

Pure. One exception to knob-by-knob inheritance: the thresholds are one group. A domain that
states `threshold` takes neither `verified_threshold` nor `draft_threshold` nor `alone` nor
`encoder_thresholds` from the defaults, or a strict domain would inherit a loose band.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TypeVar

from semcache.core import (
    AloneRule,
    AuditPolicy,
    CachePolicy,
    Confirmation,
    ConfirmedBy,
    Curve,
    DraftPolicy,
    EncoderScale,
    GateRules,
    Mode,
    ReviewPolicy,
    RiskPolicy,
    Scope,
    TenantId,
)
from semcache.policy.parts import Knobs
from semcache.policy.schema import DomainKnobs, EncoderBand, PolicyFile
from semcache.review_rules import DraftWay

M = TypeVar("M", bound=Knobs)

THRESHOLD_GROUP = frozenset({"verified_threshold", "draft_threshold", "alone", "encoder_thresholds"})


_NOT_OF_ANSWERS = {
    "audit",
    "confirmation",
    "drafts",
    "max_age",
    "neighbours",
    "review",
    "risk",
    "store",
    "ttl",
    "ttl_jitter",
    "usage_on_hit",
    "volatile_ttl",
}
"""Knobs that say nothing about which answer is right for whom."""


def overlay(base: M, top: M, skip: frozenset[str] = frozenset()) -> M:
    """Give `base` with everything that `top` states itself; parts are overlaid part by part.

    `skip` names fields that `base` must not hand on.
    """
    changes: dict[str, object] = {name: type(base).model_fields[name].default for name in skip}
    for name in top.model_fields_set:
        below, above = getattr(base, name), getattr(top, name)
        both = isinstance(below, Knobs) and isinstance(above, Knobs)
        changes[name] = overlay(below, above) if both else above
    return base.model_copy(update=changes)


def effective(file: PolicyFile, domain: str) -> DomainKnobs:
    """Give the knobs of a domain of the file after inheritance."""
    own = file.domains[domain]
    skip = THRESHOLD_GROUP if "threshold" in own.model_fields_set else frozenset()
    return overlay(overlay(DomainKnobs(), file.defaults), own, skip)


def domain_policy(file: PolicyFile, domain: str, generation: str) -> CachePolicy:
    """Build the policy of a domain, before any tightening.

    Without a semantic tier (mode off or exact) the thresholds are 1.0: whatever combines with
    it can only get stricter.
    """
    knobs = effective(file, domain)
    by_meaning = knobs.mode in (Mode.SEMANTIC, Mode.SHADOW) and knobs.threshold is not None
    threshold = knobs.threshold if by_meaning and knobs.threshold is not None else 1.0
    scales = _scales(knobs) if by_meaning else ()
    return CachePolicy(
        tenant=TenantId(file.tenant),
        domain=domain,
        mode=knobs.mode,
        threshold=threshold,
        verified_threshold=_or(knobs.verified_threshold, threshold) if by_meaning else 1.0,
        draft_threshold=_or(knobs.draft_threshold, threshold) if by_meaning else 1.0,
        scope=Scope(knobs.scope),
        ttl=knobs.ttl,
        ttl_jitter=knobs.ttl_jitter,
        volatile_ttl=knobs.volatile_ttl,
        gate=GateRules(**knobs.gate.model_dump()),
        max_age=knobs.max_age,
        max_temperature=knobs.sampling.max_temperature,
        allow_default_temperature=knobs.sampling.allow_unset,
        max_user_turns=knobs.max_user_turns,
        allow_tools=knobs.tools == "exact",
        store=knobs.store.enabled,
        max_entry_bytes=knobs.store.max_entry_bytes,
        usage_on_hit=knobs.usage_on_hit,
        neighbours=knobs.neighbours,
        generation=generation,
        store_tool_calls=knobs.store.tool_calls,
        encoder_scales=scales,
        alone=_alone(knobs) if by_meaning else AloneRule(),
        conversations=knobs.conversations,
        verifier=knobs.verifier.enabled,
        min_score=knobs.verifier.min_score,
        risk=_risk(knobs),
        audit=_audit(knobs),
        drafts=_drafts(knobs),
        review=_review(knobs),
        confirmation=Confirmation(ConfirmedBy(knobs.confirmation.by), knobs.confirmation.users),
        commons=knobs.commons and knobs.scope != "user",
        edition=edition_of(knobs),
    )


def edition_of(knobs: DomainKnobs) -> str:
    """Give 16 hex digits that change with what a domain says about its answers, the same in every process.

    What is watched, what that may cost, how long answers live and who looks at them does not change an
    answer that a human has looked at, and takes no reviewer's flag away.
    """
    # Sorted: encoders in another order say the same.
    said = json.dumps(knobs.model_dump(mode="json", exclude=_NOT_OF_ANSWERS), sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _alone(knobs: DomainKnobs) -> AloneRule:
    stated = knobs.alone
    return AloneRule() if stated is None else AloneRule(stated.threshold, stated.margin, stated.min_score)


def _risk(knobs: DomainKnobs) -> RiskPolicy:
    risk, audit = knobs.risk, knobs.audit
    return RiskPolicy(
        budget=risk.budget,
        confidence=risk.confidence,
        until_proven=risk.until_proven,
        prior_hits=risk.prior_hits,
        half_life=risk.half_life,
        age_out=risk.age_out,
        audit_thin=max(audit.share_thin, audit.share_proven),
        audit_proven=audit.share_proven,
        feedback_weight=risk.feedback_weight,
    )


def _audit(knobs: DomainKnobs) -> AuditPolicy:
    audit = knobs.audit
    return AuditPolicy(
        enabled=audit.enabled,
        max_money=round(audit.max_usd_per_day * 1_000_000),
        max_calls=audit.max_calls_per_day,
        judge=audit.judge or "",
        passthrough=audit.passthrough,
    )


def _drafts(knobs: DomainKnobs) -> DraftPolicy:
    drafts = knobs.drafts
    return DraftPolicy(
        way=DraftWay(drafts.way),
        reviser=drafts.reviser or "",
        min_score=drafts.min_score,
        max_failed=drafts.max_failed,
        min_trials=drafts.min_trials,
        window=drafts.window,
        max_bytes=drafts.max_bytes,
    )


def _review(knobs: DomainKnobs) -> ReviewPolicy:
    review = knobs.review
    return ReviewPolicy(
        enabled=review.enabled,
        verified_ttl=review.verified_ttl,
        near=review.near,
        sample=review.sample,
        judge=review.judge or "",
        judge_money=round(review.judge_usd_per_day * 1_000_000),
        judge_calls=review.judge_calls_per_day,
        promote_after=review.promote_after,
    )


def _or(value: float | None, otherwise: float) -> float:
    """Replace None only; 0.0 is a legal threshold."""
    return otherwise if value is None else value


def points(knobs: DomainKnobs, band: EncoderBand) -> Curve:
    """Pair an encoder's raw cosines with the thresholds they stand for, by rising cosine."""
    stated = (
        (band.threshold, knobs.threshold),
        (band.verified, knobs.verified_threshold),
        (band.draft, knobs.draft_threshold),
    )
    return tuple(sorted((raw, bar) for raw, bar in stated if raw is not None and bar is not None))


def _scales(knobs: DomainKnobs) -> tuple[EncoderScale, ...]:
    stated: Mapping[str, EncoderBand] = knobs.encoder_thresholds
    return tuple(EncoderScale(name, (points(knobs, band),)) for name, band in sorted(stated.items()))
