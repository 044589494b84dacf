"""Finds the domain of a request and combines policies, always towards the stricter side.

Pure: takes values, gives values, and knows no files, clocks or network. `tighten` is
commutative, associative and idempotent, so the order in which header, rules, classifier and
client speak never matters, and none of them can loosen what another one said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from semcache.core import (
    AloneRule,
    AuditPolicy,
    CachePolicy,
    Confirmation,
    ConfirmedBy,
    DraftPolicy,
    EncoderScale,
    GateRules,
    Mode,
    ReviewPolicy,
    RiskPolicy,
    Scope,
)
from semcache.errors import PolicyError
from semcache.policy.patterns import Pattern, compile_pattern, found_in
from semcache.policy.schema import Rule
from semcache.review_rules import DraftWay

MODES = (Mode.OFF, Mode.SHADOW, Mode.EXACT, Mode.SEMANTIC)
"""Strictest first."""
SCOPES = (Scope.USER, Scope.TENANT)
"""Narrowest first."""
CONFIRMED_BY = tuple(ConfirmedBy)
"""Strictest last."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule made ready: texts casefolded, pattern compiled; `index` is its place in the file."""

    index: int
    domain: str
    routes: tuple[str, ...]
    models: tuple[str, ...]
    contains: tuple[str, ...]
    pattern: Pattern | None

    @property
    def reads_system(self) -> bool:
        """True when the system prompt decides."""
        return bool(self.contains) or self.pattern is not None


def compile_rules(rules: Sequence[Rule]) -> tuple[CompiledRule, ...]:
    """Make rules ready for matching.

    Raises:
        ValueError: a pattern outside the safe dialect (the schema has refused it before).
    """
    return tuple(_compile(index, rule) for index, rule in enumerate(rules))


def _compile(index: int, rule: Rule) -> CompiledRule:
    prompt = rule.system_prompt
    return CompiledRule(
        index=index,
        domain=rule.domain,
        routes=rule.routes,
        models=rule.models,
        contains=tuple(text.casefold() for text in prompt.contains) if prompt else (),
        pattern=compile_pattern(prompt.regex) if prompt and prompt.regex is not None else None,
    )


def covers(pattern: str, value: str) -> bool:
    """Match a name or path: equal, or a final `*` in the pattern stands for any ending."""
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def covers_any(patterns: Sequence[str], value: str) -> bool:
    """Match against any of the patterns."""
    return any(covers(pattern, value) for pattern in patterns)


def find_rule(rules: Sequence[CompiledRule], path: str, model: str, system: str) -> CompiledRule | None:
    """Give the first rule whose stated conditions all hold, or None."""
    folded = system.casefold() if any(rule.reads_system for rule in rules) else ""
    for rule in rules:
        if _holds(rule, path, model, system, folded):
            return rule
    return None


def _holds(rule: CompiledRule, path: str, model: str, system: str, folded: str) -> bool:
    if rule.routes and not covers_any(rule.routes, path):
        return False
    if rule.models and not covers_any(rule.models, model):
        return False
    if not rule.reads_system:
        return True
    if any(text in folded for text in rule.contains):
        return True
    return rule.pattern is not None and found_in(rule.pattern, system)


def tighten(a: CachePolicy, b: CachePolicy) -> CachePolicy:
    """Combine two policies of one tenant: in every knob the stricter of both.

    The domain's name becomes both names in alphabetical order with a `+` between. An encoder
    keeps a scale only where both state one (without it serves nothing), and then each of both must
    be satisfied.

    Raises:
        PolicyError: the policies belong to two tenants.
    """
    if a.tenant != b.tenant:
        raise PolicyError("policies of two tenants never combine")
    scales = _common_scales(a.encoder_scales, b.encoder_scales)
    return CachePolicy(
        tenant=a.tenant,
        domain="+".join(sorted({*a.domain.split("+"), *b.domain.split("+")})),
        mode=min(a.mode, b.mode, key=MODES.index),
        threshold=max(a.threshold, b.threshold),
        verified_threshold=max(a.verified_threshold, b.verified_threshold),
        draft_threshold=max(a.draft_threshold, b.draft_threshold),
        scope=min(a.scope, b.scope, key=SCOPES.index),
        ttl=min(a.ttl, b.ttl),
        # The smaller one: spread must not stretch the shorter life beyond what either allows.
        ttl_jitter=min(a.ttl_jitter, b.ttl_jitter),
        volatile_ttl=min(a.volatile_ttl, b.volatile_ttl),
        gate=_stricter_rules(a.gate, b.gate),
        max_age=shorter(a.max_age, b.max_age),
        max_temperature=min(a.max_temperature, b.max_temperature),
        allow_default_temperature=a.allow_default_temperature and b.allow_default_temperature,
        max_user_turns=min(a.max_user_turns, b.max_user_turns),
        allow_tools=a.allow_tools and b.allow_tools,
        store=a.store and b.store,
        max_entry_bytes=min(a.max_entry_bytes, b.max_entry_bytes),
        # "zero" claims less; it sorts behind "original".
        usage_on_hit=max(a.usage_on_hit, b.usage_on_hit),
        neighbours=min(a.neighbours, b.neighbours),
        generation=max(a.generation, b.generation),
        store_tool_calls=a.store_tool_calls and b.store_tool_calls,
        encoder_scales=scales,
        alone=AloneRule(
            max(a.alone.threshold, b.alone.threshold),
            max(a.alone.margin, b.alone.margin),
            max(a.alone.min_score, b.alone.min_score),
        ),
        # "equal" is the stricter one; it sorts before "resolved".
        conversations=min(a.conversations, b.conversations),
        verifier=a.verifier or b.verifier,
        min_score=max(a.min_score, b.min_score),
        risk=_stricter_risk(a.risk, b.risk),
        audit=_narrower_audit(a.audit, b.audit),
        drafts=_safer_drafts(a.drafts, b.drafts),
        review=_stricter_review(a.review, b.review),
        confirmation=stricter_confirmation(a.confirmation, b.confirmation),
        commons=a.commons and b.commons,
        edition="+".join(sorted({*a.edition.split("+"), *b.edition.split("+")} - {""})),
    )


def shorter(a: float | None, b: float | None) -> float | None:
    """Give the smaller of two limits, where None is no limit."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def _stricter_rules(a: GateRules, b: GateRules) -> GateRules:
    effects = {
        rule.name: max(getattr(a, rule.name), getattr(b, rule.name), key=lambda effect: effect.strictness)
        for rule in fields(GateRules)
        if rule.name != "raise_by"
    }
    return GateRules(**effects, raise_by=max(a.raise_by, b.raise_by))


def _stricter_risk(a: RiskPolicy, b: RiskPolicy) -> RiskPolicy:
    return RiskPolicy(
        budget=min(a.budget, b.budget),
        confidence=max(a.confidence, b.confidence),
        until_proven=max(a.until_proven, b.until_proven, key=lambda wish: wish.strictness),
        prior_hits=min(a.prior_hits, b.prior_hits),
        half_life=min(a.half_life, b.half_life),
        age_out=min(a.age_out, b.age_out),
        audit_thin=max(a.audit_thin, b.audit_thin),
        audit_proven=max(a.audit_proven, b.audit_proven),
        feedback_weight=max(a.feedback_weight, b.feedback_weight),
    )


def _narrower_audit(a: AuditPolicy, b: AuditPolicy) -> AuditPolicy:
    return AuditPolicy(
        enabled=a.enabled and b.enabled,
        max_money=min(a.max_money, b.max_money),
        max_calls=min(a.max_calls, b.max_calls),
        # Both or none: an answer may go to no judge that one of the domains did not name.
        judge=a.judge if a.judge == b.judge else "",
        passthrough=a.passthrough and b.passthrough,
    )


_WAYS = (DraftWay.OFF, DraftWay.LOSSLESS, DraftWay.PREDICTION, DraftWay.AUTO, DraftWay.REVISE)
"""By what they may change in an answer: nothing, and more and more."""


def _safer_drafts(a: DraftPolicy, b: DraftPolicy) -> DraftPolicy:
    return DraftPolicy(
        way=min(a.way, b.way, key=_WAYS.index),
        # Both or none, as with judges.
        reviser=a.reviser if a.reviser == b.reviser else "",
        min_score=max(a.min_score, b.min_score),
        max_failed=min(a.max_failed, b.max_failed),
        min_trials=min(a.min_trials, b.min_trials),
        window=max(a.window, b.window),
        max_bytes=min(a.max_bytes, b.max_bytes),
    )


def _stricter_review(a: ReviewPolicy, b: ReviewPolicy) -> ReviewPolicy:
    needed = (a.promote_after, b.promote_after)
    return ReviewPolicy(
        # Nothing is shown to reviewers that one of the domains keeps from them.
        enabled=a.enabled and b.enabled,
        verified_ttl=min(a.verified_ttl, b.verified_ttl),
        near=max(a.near, b.near),
        sample=max(a.sample, b.sample),
        judge=a.judge if a.judge == b.judge else "",
        judge_money=min(a.judge_money, b.judge_money),
        judge_calls=min(a.judge_calls, b.judge_calls),
        # 0 means never.
        promote_after=0 if 0 in needed else max(needed),
    )


def stricter_confirmation(a: Confirmation, b: Confirmation) -> Confirmation:
    """Combine what two domains ask of answers that are new."""
    return Confirmation(max(a.by, b.by, key=CONFIRMED_BY.index), max(a.users, b.users))


def _common_scales(a: Sequence[EncoderScale], b: Sequence[EncoderScale]) -> tuple[EncoderScale, ...]:
    others = {scale.encoder: scale.curves for scale in b}
    return tuple(
        EncoderScale(scale.encoder, tuple(sorted({*scale.curves, *others[scale.encoder]})))
        for scale in a
        if scale.encoder in others
    )
