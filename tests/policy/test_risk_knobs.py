"""The knobs about sureness, risk and audits: limits, inheritance, and what the decision gets to see of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.core import AuditPolicy, CachePolicy, RiskPolicy, TenantId, UntilProven
from semcache.policy.loader import load_default, load_directory
from semcache.standings import rules_of
from tests.policy.samples import MINIMAL, problems

ROOT = Path(__file__).parents[2]
DAY = 86_400.0


def chat_of(knobs: str, folder: Path) -> CachePolicy:
    (folder / "acme.yaml").write_text(MINIMAL.replace("0.92}", f"0.92, {knobs}}}"))
    return load_directory(folder).by_tenant[TenantId("acme")].domains["chat"]


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ("verifier: {min_score: 1.1}", "verifier.min_score: should be less than or equal to 1"),
        ("verifier: {min_score: .nan}", "verifier.min_score: should be a valid number"),
        ("verifier: {enabled: 1}", "verifier.enabled"),
        ("verifier: off", "verifier: should be a mapping"),
        ("risk: {budget: 0}", "risk.budget: should be greater than 0"),
        ("risk: {budget: 1}", "risk.budget: should be less than or equal to 0.5"),
        ("risk: {confidence: 0.4}", "risk.confidence: should be greater than or equal to 0.5"),
        ("risk: {confidence: 1}", "risk.confidence: should be less than 1"),
        ("risk: {until_proven: hope}", "risk.until_proven: should be shadow, draft or serve"),
        ("risk: {prior_hits: -1}", "risk.prior_hits: should be greater than or equal to 0"),
        ("risk: {age_out: 23h}", "risk.age_out: should be greater than or equal to 86400"),
        ("risk: {half_life: 0}", "risk.half_life: should be more than 0"),
        ("risk: {feedback_weight: 0}", "risk.feedback_weight: should be greater than 0"),
        ("risk: {share_thin: 0.2}", "risk.share_thin: unknown key"),
        ("audit: {share_thin: 0}", "audit.share_thin: should be greater than 0"),
        ("audit: {share_proven: 2}", "audit.share_proven: should be less than or equal to 1"),
        ("audit: {max_usd_per_day: -1}", "audit.max_usd_per_day: should be greater than or equal to 0"),
        ("audit: {max_calls_per_day: 0.5}", "audit.max_calls_per_day: should be"),
        ("audit: {judge: ''}", "audit.judge: should match"),
        ("audit: {judge: 'other/'}", "audit.judge: should match"),
    ],
)
def test_what_is_out_of_range_is_named(knobs: str, says: str) -> None:
    found = problems(MINIMAL.replace("0.92}", f"0.92, {knobs}}}"))
    assert any(f"domains.chat.{says}" in line for line in found), found


def test_unstated_knobs_are_the_built_in_ones(tmp_path: Path) -> None:
    policy = chat_of("ttl: 1h", tmp_path)
    assert (policy.verifier, policy.min_score) == (True, 0.88)
    assert (policy.risk, policy.audit) == (RiskPolicy(), AuditPolicy())


def test_every_knob_reaches_the_decision_in_its_own_unit(tmp_path: Path) -> None:
    policy = chat_of(
        "verifier: {enabled: false, min_score: 0.7}, risk: {budget: 0.02, confidence: 0.9, until_proven: draft,"
        " prior_hits: 5, half_life: 2d, age_out: 3d, feedback_weight: 0.25}, audit: {enabled: false, share_thin: 0.3,"
        " share_proven: 0.1, max_usd_per_day: 0.25, max_calls_per_day: 7, judge: other/model-5, passthrough: true}",
        tmp_path,
    )
    assert (policy.verifier, policy.min_score) == (False, 0.7)
    assert policy.risk == RiskPolicy(
        0.02,
        0.9,
        UntilProven.DRAFT,
        5.0,
        2 * DAY,
        3 * DAY,
        audit_thin=0.3,
        audit_proven=0.1,
        feedback_weight=0.25,
    )
    assert policy.audit == AuditPolicy(False, 250_000, 7, "other/model-5", passthrough=True)


def test_more_is_never_audited_once_proven_than_before(tmp_path: Path) -> None:
    risk = chat_of("audit: {share_thin: 0.1, share_proven: 0.4}", tmp_path).risk
    assert (risk.audit_thin, risk.audit_proven) == (0.4, 0.4)


def test_parts_are_inherited_knob_by_knob(tmp_path: Path) -> None:
    text = MINIMAL.replace("0.92}", "0.92, risk: {budget: 0.5}}")
    (tmp_path / "acme.yaml").write_text(text + "defaults: {risk: {budget: 0.1, confidence: 0.6}}\n")
    risk = load_directory(tmp_path).by_tenant[TenantId("acme")].domains["chat"].risk
    assert (risk.budget, risk.confidence, risk.prior_hits) == (0.5, 0.6, 5000.0)


def test_the_shipped_domains_promise_what_they_say() -> None:
    domains = load_default().by_tenant[TenantId("default")].domains
    told = {
        name: (p.verifier, p.min_score, p.risk.budget, p.risk.until_proven) for name, p in domains.items()
    }
    assert told == {
        "chat": (True, 0.88, 0.01, UntilProven.SERVE),
        "medical": (True, 0.9, 0.001, UntilProven.DRAFT),
        "legal": (True, 0.9, 0.001, UntilProven.DRAFT),
        "code": (True, 0.9, 0.01, UntilProven.SERVE),
    }


def test_the_trial_learns_and_the_hospital_trusts_its_own_evidence_only() -> None:
    tenants = load_directory(ROOT / "policies").by_tenant
    trial = tenants[TenantId("trial")].domains["everything"]
    assert (trial.risk.until_proven, trial.risk.audit_thin) == (UntilProven.SHADOW, 1.0)
    hospital = tenants[TenantId("hospital")].domains
    for name in ("medical", "dosage", "patient"):
        risk = hospital[name].risk
        assert (risk.budget, risk.until_proven, risk.prior_hits) == (0.001, UntilProven.DRAFT, 0.0)


def test_every_policy_that_loads_makes_rules_of_a_bound() -> None:
    """The bound refuses values outside its ranges, so the schema must."""
    for tenant in load_directory(ROOT / "policies").by_tenant.values():
        for policy in tenant.domains.values():
            assert rules_of(policy.risk).budget == policy.risk.budget


@pytest.mark.parametrize(
    "knobs",
    [
        "risk: {budget: 1.0e-6, confidence: 0.999, prior_hits: 0, half_life: 1s, age_out: 24h, feedback_weight: 0.001}",
        "risk: {budget: 0.5, confidence: 0.5, prior_hits: 1000000, half_life: 366d, age_out: 366d, feedback_weight: 1}",
        "audit: {share_thin: 0.001, share_proven: 1}",
        "audit: {share_thin: 1, share_proven: 0.001}",
    ],
)
def test_whatever_the_schema_allows_makes_rules_of_a_bound(knobs: str, tmp_path: Path) -> None:
    assert rules_of(chat_of(knobs, tmp_path).risk)
