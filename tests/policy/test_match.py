"""Assigning domains, and the algebra of tightening: never looser, whatever the order."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    AloneRule,
    AuditPolicy,
    CachePolicy,
    Confirmation,
    ConfirmedBy,
    DraftPolicy,
    Effect,
    EncoderScale,
    GateRules,
    Mode,
    ReviewPolicy,
    RiskPolicy,
    Scope,
    TenantId,
    UntilProven,
)
from semcache.errors import PolicyError
from semcache.policy.match import MODES, SCOPES, compile_rules, covers, find_rule, tighten
from semcache.review_rules import DraftWay
from tests.policy.samples import MINIMAL, TWO_DOMAINS, source

unit = st.floats(0, 1)


CURVES = (((0.9, 0.8),), ((0.5, 0.8), (0.7, 0.9)), ((0.9, 0.85), (0.95, 0.92)))


@st.composite
def scales(draw: st.DrawFn) -> tuple[EncoderScale, ...]:
    names = sorted(draw(st.sets(st.sampled_from(["a", "b", "c"]))))
    curves = st.sets(st.sampled_from(CURVES), min_size=1).map(lambda drawn: tuple(sorted(drawn)))
    return tuple(EncoderScale(name, draw(curves)) for name in names)


risks = st.builds(
    RiskPolicy,
    budget=unit,
    confidence=unit,
    until_proven=st.sampled_from(UntilProven),
    prior_hits=st.floats(0, 1e6),
    half_life=st.floats(1, 1e7),
    age_out=st.floats(86_400, 1e7),
    audit_thin=unit,
    audit_proven=unit,
    feedback_weight=unit,
)
audits = st.builds(
    AuditPolicy,
    enabled=st.booleans(),
    max_money=st.integers(0, 1 << 40),
    max_calls=st.integers(0, 1000),
    judge=st.sampled_from(["", "one", "two"]),
    passthrough=st.booleans(),
)
drafts = st.builds(
    DraftPolicy,
    way=st.sampled_from(DraftWay),
    reviser=st.sampled_from(["", "one", "two"]),
    min_score=unit,
    max_failed=unit,
    min_trials=st.integers(1, 1000),
    window=st.floats(1, 1e7),
    max_bytes=st.integers(1, 1 << 20),
)
reviews = st.builds(
    ReviewPolicy,
    enabled=st.booleans(),
    verified_ttl=st.floats(1, 1e7),
    near=unit,
    sample=unit,
    judge=st.sampled_from(["", "one", "two"]),
    judge_money=st.integers(0, 1 << 40),
    judge_calls=st.integers(0, 1000),
    promote_after=st.integers(0, 10),
)


@st.composite
def policies(draw: st.DrawFn) -> CachePolicy:
    drawn = draw(scales())
    return CachePolicy(
        tenant=TenantId("acme"),
        domain=draw(st.sampled_from(["chat", "code", "legal", "chat+code"])),
        mode=draw(st.sampled_from(Mode)),
        threshold=draw(unit),
        verified_threshold=draw(unit),
        draft_threshold=draw(unit),
        scope=draw(st.sampled_from(Scope)),
        ttl=draw(st.floats(1, 1e6)),
        ttl_jitter=draw(st.floats(0, 0.5)),
        gate=GateRules(
            *[draw(st.sampled_from(Effect)) for _ in range(len(fields(GateRules)) - 1)], draw(unit)
        ),
        max_age=draw(st.none() | st.floats(0, 1e6)),
        max_temperature=draw(st.floats(0, 2)),
        allow_default_temperature=draw(st.booleans()),
        max_user_turns=draw(st.integers(1, 9)),
        allow_tools=draw(st.booleans()),
        store=draw(st.booleans()),
        max_entry_bytes=draw(st.integers(1, 1 << 20)),
        usage_on_hit=draw(st.sampled_from(["zero", "original"])),
        neighbours=draw(st.integers(1, 64)),
        generation=draw(st.sampled_from(["g1", "g2"])),
        store_tool_calls=draw(st.booleans()),
        encoder_scales=drawn,
        verifier=draw(st.booleans()),
        min_score=draw(unit),
        risk=draw(risks),
        audit=draw(audits),
        drafts=draw(drafts),
        review=draw(reviews),
        confirmation=draw(st.builds(Confirmation, st.sampled_from(ConfirmedBy), st.integers(2, 16))),
        commons=draw(st.booleans()),
        edition=draw(st.sampled_from(["", "e1", "e2", "e1+e3"])),
    )


@given(policies(), policies())
def test_tighten_is_commutative(a: CachePolicy, b: CachePolicy) -> None:
    assert tighten(a, b) == tighten(b, a)


@given(policies(), policies(), policies())
def test_tighten_is_associative(a: CachePolicy, b: CachePolicy, c: CachePolicy) -> None:
    assert tighten(tighten(a, b), c) == tighten(a, tighten(b, c))


@given(policies())
def test_tighten_is_idempotent(a: CachePolicy) -> None:
    assert tighten(a, a) == a


def _rank(rules: GateRules, name: str) -> float:
    value = getattr(rules, name)
    return value.strictness if isinstance(value, Effect) else value


def _takes_less_risk(strict: RiskPolicy, loose: RiskPolicy) -> dict[str, bool]:
    order = [UntilProven.SERVE, UntilProven.DRAFT, UntilProven.SHADOW]
    return {
        "budget": strict.budget <= loose.budget,
        "confidence": strict.confidence >= loose.confidence,
        "until_proven": order.index(strict.until_proven) >= order.index(loose.until_proven),
        # Less of what was not seen here, and what was seen is forgotten sooner.
        "prior_hits": strict.prior_hits <= loose.prior_hits,
        "half_life": strict.half_life <= loose.half_life,
        "age_out": strict.age_out <= loose.age_out,
        "audit_thin": strict.audit_thin >= loose.audit_thin,
        "audit_proven": strict.audit_proven >= loose.audit_proven,
        "feedback_weight": strict.feedback_weight >= loose.feedback_weight,
    }


def _costs_less(strict: AuditPolicy, loose: AuditPolicy) -> dict[str, bool]:
    return {
        "enabled": strict.enabled <= loose.enabled,
        "max_money": strict.max_money <= loose.max_money,
        "max_calls": strict.max_calls <= loose.max_calls,
        "judge": strict.judge in ("", loose.judge),
        "passthrough": strict.passthrough <= loose.passthrough,
    }


def _drafts_safer(strict: DraftPolicy, loose: DraftPolicy) -> dict[str, bool]:
    may_change = [DraftWay.OFF, DraftWay.LOSSLESS, DraftWay.PREDICTION, DraftWay.AUTO, DraftWay.REVISE]
    return {
        "way": may_change.index(strict.way) <= may_change.index(loose.way),
        "reviser": strict.reviser in ("", loose.reviser),
        "min_score": strict.min_score >= loose.min_score,
        "max_failed": strict.max_failed <= loose.max_failed,
        # Judged sooner, and by more of what went wrong.
        "min_trials": strict.min_trials <= loose.min_trials,
        "window": strict.window >= loose.window,
        "max_bytes": strict.max_bytes <= loose.max_bytes,
    }


def _shows_more_and_trusts_less(strict: ReviewPolicy, loose: ReviewPolicy) -> dict[str, bool]:
    never = strict.promote_after == 0
    return {
        "enabled": strict.enabled <= loose.enabled,
        "verified_ttl": strict.verified_ttl <= loose.verified_ttl,
        "near": strict.near >= loose.near,
        "sample": strict.sample >= loose.sample,
        "judge": strict.judge in ("", loose.judge),
        "judge_money": strict.judge_money <= loose.judge_money,
        "judge_calls": strict.judge_calls <= loose.judge_calls,
        "promote_after": never or 0 < loose.promote_after <= strict.promote_after,
    }


def _confirmed_by_more(strict: Confirmation, loose: Confirmation) -> dict[str, bool]:
    order = [ConfirmedBy.NONE, ConfirmedBy.USERS, ConfirmedBy.HUMAN]
    return {
        "by": order.index(strict.by) >= order.index(loose.by),
        "users": strict.users >= loose.users,
    }


def is_not_looser(strict: CachePolicy, loose: CachePolicy) -> dict[str, bool]:
    """Compare knob by knob, written from the meaning of each and not from the code."""
    own = {scale.encoder: scale.curves for scale in loose.encoder_scales}
    return {
        "tenant": strict.tenant == loose.tenant,
        "domain": set(loose.domain.split("+")) <= set(strict.domain.split("+")),
        "mode": MODES.index(strict.mode) <= MODES.index(loose.mode),
        "threshold": strict.threshold >= loose.threshold,
        "verified_threshold": strict.verified_threshold >= loose.verified_threshold,
        "draft_threshold": strict.draft_threshold >= loose.draft_threshold,
        "scope": SCOPES.index(strict.scope) <= SCOPES.index(loose.scope),
        "ttl": strict.ttl <= loose.ttl,
        "volatile_ttl": strict.volatile_ttl <= loose.volatile_ttl,
        "ttl_jitter": strict.ttl_jitter <= loose.ttl_jitter,
        "gate": all(_rank(strict.gate, f.name) >= _rank(loose.gate, f.name) for f in fields(GateRules)),
        "max_age": loose.max_age is None or (strict.max_age is not None and strict.max_age <= loose.max_age),
        "max_temperature": strict.max_temperature <= loose.max_temperature,
        "allow_default_temperature": strict.allow_default_temperature <= loose.allow_default_temperature,
        "max_user_turns": strict.max_user_turns <= loose.max_user_turns,
        "allow_tools": strict.allow_tools <= loose.allow_tools,
        "store": strict.store <= loose.store,
        "max_entry_bytes": strict.max_entry_bytes <= loose.max_entry_bytes,
        "usage_on_hit": strict.usage_on_hit == "zero" or loose.usage_on_hit == "original",
        "neighbours": strict.neighbours <= loose.neighbours,
        "generation": strict.generation >= loose.generation,
        "store_tool_calls": strict.store_tool_calls <= loose.store_tool_calls,
        "encoder_scales": all(
            scale.encoder in own and set(scale.curves) >= set(own[scale.encoder])
            for scale in strict.encoder_scales
        ),
        "alone": all(
            getattr(strict.alone, f.name) >= getattr(loose.alone, f.name) for f in fields(AloneRule)
        ),
        "conversations": strict.conversations <= loose.conversations,
        "verifier": strict.verifier >= loose.verifier,
        "min_score": strict.min_score >= loose.min_score,
        "risk": all(_takes_less_risk(strict.risk, loose.risk).values()),
        "audit": all(_costs_less(strict.audit, loose.audit).values()),
        "drafts": all(_drafts_safer(strict.drafts, loose.drafts).values()),
        "review": all(_shows_more_and_trusts_less(strict.review, loose.review).values()),
        "confirmation": all(_confirmed_by_more(strict.confirmation, loose.confirmation).values()),
        "commons": strict.commons <= loose.commons,
        # A flag given under one of two policies is none under both.
        "edition": set(loose.edition.split("+")) - {""} <= set(strict.edition.split("+")),
    }


@given(policies(), policies())
def test_tighten_is_never_looser_than_either_in_any_knob(a: CachePolicy, b: CachePolicy) -> None:
    both = tighten(a, b)
    for side in (a, b):
        verdict = is_not_looser(both, side)
        assert set(verdict) == {field.name for field in fields(CachePolicy)}  # a new knob needs a line above
        assert all(verdict.values()), verdict


def test_every_knob_of_a_part_is_compared() -> None:
    """A new knob needs a line above."""
    risk, audit, draft, review = RiskPolicy(), AuditPolicy(), DraftPolicy(), ReviewPolicy()
    assert set(_drafts_safer(draft, draft)) == {field.name for field in fields(DraftPolicy)}
    assert set(_shows_more_and_trusts_less(review, review)) == {field.name for field in fields(ReviewPolicy)}
    assert set(_takes_less_risk(risk, risk)) == {field.name for field in fields(RiskPolicy)}
    assert set(_costs_less(audit, audit)) == {field.name for field in fields(AuditPolicy)}
    new = Confirmation()
    assert set(_confirmed_by_more(new, new)) == {field.name for field in fields(Confirmation)}


_COMBINED = (
    "domain",
    "gate",
    "encoder_scales",
    "risk",
    "audit",
    "alone",
    "drafts",
    "review",
    "confirmation",
    "edition",
)


@given(policies(), policies())
def test_tighten_takes_no_more_than_needed(a: CachePolicy, b: CachePolicy) -> None:
    both = tighten(a, b)
    for field in fields(CachePolicy):
        if field.name not in _COMBINED:
            assert getattr(both, field.name) in (getattr(a, field.name), getattr(b, field.name))
    for name in ("by", "users"):
        assert getattr(both.confirmation, name) in [getattr(side.confirmation, name) for side in (a, b)]
    for risk in fields(RiskPolicy):
        assert getattr(both.risk, risk.name) in [getattr(side.risk, risk.name) for side in (a, b)]
    for name in ("way", "min_score", "max_failed", "min_trials", "window", "max_bytes"):
        assert getattr(both.drafts, name) in [getattr(side.drafts, name) for side in (a, b)]
    for name in ("enabled", "verified_ttl", "near", "sample", "judge_money", "judge_calls", "promote_after"):
        assert getattr(both.review, name) in [getattr(side.review, name) for side in (a, b)]
    # A judge that only one of both names judges nothing.
    assert both.audit.judge == (a.audit.judge if a.audit.judge == b.audit.judge else "")


@given(policies())
def test_policies_of_two_tenants_never_combine(a: CachePolicy) -> None:
    with pytest.raises(PolicyError, match="two tenants"):
        tighten(a, replace(a, tenant=TenantId("other")))


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("gpt-5", "gpt-5", True), ("gpt-5", "gpt-5-mini", False), ("gpt-5*", "gpt-5-mini", True), ("gpt-5*", "gpt-5", True),
        ("*", "", True), ("*", "anything", True), ("a*b", "axb", False), ("/v1/*", "/v1/chat/completions", True), ("/v1/*", "/v1", False),
    ],
)  # fmt: skip
def test_names_and_paths_with_a_final_star(pattern: str, value: str, expected: bool) -> None:
    assert covers(pattern, value) is expected


RULES = compile_rules(source(TWO_DOMAINS).policy.assign.rules)


@pytest.mark.parametrize(
    ("path", "model", "system", "domain"),
    [
        ("/v1/chat/completions", "gpt", "", None),
        ("/v1/chat/completions", "gpt", "Now you are a doctor. Answer.", "medical"),
        ("/v1/completions", "code-7b", "", "code"),
        ("/v1/completions", "gpt", "", None),
        ("/v1/chat/completions", "code-7b", "", None),
        ("/v1/completions", "code-7b", "You are a DOCTOR", "medical"),
        ("", "", "\udcff", None),
    ],
)
def test_the_first_rule_whose_conditions_all_hold_assigns(
    path: str, model: str, system: str, domain: str | None
) -> None:
    found = find_rule(RULES, path, model, system)
    assert (found.domain if found else None) == domain


def test_either_text_or_pattern_of_a_system_prompt_is_enough() -> None:
    text = (
        MINIMAL
        + "assign: {rules: [{domain: chat, system_prompt: {contains: [aaa, STRASSE], regex: 'b{2}$'}}]}\n"
    )
    rules = compile_rules(source(text).policy.assign.rules)
    assert all(find_rule(rules, "/", "m", system) for system in ("xAAAx", "straße", "abb"))
    assert not any(find_rule(rules, "/", "m", system) for system in ("aa", "bba", ""))
