"""From request to policy: inheritance, assignment, the header, the memo, the classifier's word."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from semcache.core import Caller, Directives, Effect, Mode, Scope, TenantId
from semcache.errors import PolicyError, RequestError
from semcache.policy import snapshot as module
from semcache.policy.domain import Quota
from tests.policy.samples import MINIMAL, TWO_DOMAINS, chat, snapshot

NONE = Directives()
ME = Caller(TenantId("acme"), key_name="k")
STRANGER = Caller(TenantId("acme"), principal="f" * 64)


def two() -> module.PolicySnapshot:
    return snapshot(TWO_DOMAINS)


def test_domains_inherit_knob_by_knob_and_part_by_part() -> None:
    text = MINIMAL.replace(
        "domains:",
        "defaults: {ttl: 1h, gate: {numbers: false, order: false}, store: {tool_calls: true}, max_age: 5m, neighbours: 3}\ndomains:",
    ).replace("0.92}", "0.92, gate: {order: true}, store: {enabled: false}, max_age: null}")
    policy = snapshot(text).resolve(chat(), ME, NONE)
    assert (policy.ttl, policy.neighbours, policy.max_age) == (3600, 3, None)
    assert (policy.gate.numbers, policy.gate.order, policy.gate.units) == (
        Effect.OFF,
        Effect.VETO,
        Effect.VETO,
    )
    assert (policy.store, policy.store_tool_calls, policy.max_entry_bytes) == (False, True, 1 << 20)


def test_a_domain_with_a_threshold_of_its_own_inherits_no_looser_band() -> None:
    text = MINIMAL.replace(
        "domains:",
        "defaults: {mode: semantic, threshold: 0.9, verified_threshold: 0.8, draft_threshold: 0.7, encoder_thresholds: {e: {threshold: 0.6, verified: 0.5, draft: 0.4}}}\n"
        "domains:\n  legal: {}\n  strict: {threshold: 0.97}",
    )
    policies = snapshot(text).by_tenant[TenantId("acme")].domains
    legal, strict = policies["legal"], policies["strict"]
    assert (legal.threshold, legal.verified_threshold, legal.draft_threshold) == (0.9, 0.8, 0.7)
    assert legal.curves_of("e") == (((0.4, 0.7), (0.5, 0.8), (0.6, 0.9)),)
    assert (strict.threshold, strict.verified_threshold, strict.draft_threshold) == (0.97,) * 3
    assert strict.encoder_scales == ()


@pytest.mark.parametrize(("stated", "threshold"), [("0", 0.0), ("0.0", 0.0), ("1", 1.0), ("1.0", 1.0)])
def test_zero_and_one_are_thresholds_and_not_absent(stated: str, threshold: float) -> None:
    policy = snapshot(MINIMAL.replace("0.92", stated)).resolve(chat(), ME, NONE)
    assert (policy.threshold, policy.verified_threshold, policy.draft_threshold) == (threshold,) * 3


def test_a_zero_verified_and_draft_threshold_are_honoured() -> None:
    text = MINIMAL.replace("0.92", "0.92, verified_threshold: 0, draft_threshold: 0.0")
    policy = snapshot(text).resolve(chat(), ME, NONE)
    assert (policy.verified_threshold, policy.draft_threshold) == (0.0, 0.0)


def test_without_a_semantic_tier_thresholds_are_one_and_bands_are_gone() -> None:
    text = MINIMAL.replace(
        "mode: semantic, threshold: 0.92",
        "mode: exact, threshold: 0.5, encoder_thresholds: {e: {threshold: 0.5}}",
    )
    policy = snapshot(text).resolve(chat(), ME, NONE)
    assert (policy.mode, policy.threshold, policy.encoder_scales) == (Mode.EXACT, 1.0, ())


def test_assignment_by_rule_and_by_default() -> None:
    policies = two()
    assert policies.resolve(chat(), ME, NONE).domain == "chat"
    assert policies.resolve(chat(system="you are a doctor"), ME, NONE).domain == "medical"
    assert policies.resolve(chat(path="/v1/completions", model="code-7b"), ME, NONE).mode is Mode.EXACT


def test_the_header_only_tightens() -> None:
    policies = two()
    asked = policies.resolve(chat(), ME, Directives(domain="medical"))
    assert (asked.domain, asked.threshold, asked.ttl, asked.gate.order) == (
        "medical",
        0.97,
        3600,
        Effect.VETO,
    )
    assert asked.encoder_scales == ()  # medical states none, so an encoder without a table serves nothing
    doctor = chat(system="you are a doctor")
    kept = policies.resolve(doctor, ME, Directives(domain="chat"))
    assert (kept.domain, kept.threshold, kept.ttl) == ("medical", 0.97, 3600)
    assert policies.resolve(chat(), ME, Directives(domain="code")).domain == "code"
    assert policies.resolve(chat(), ME, Directives(domain="chat")) == policies.resolve(chat(), ME, NONE)


def test_an_unknown_domain_is_refused_and_the_names_are_told_to_the_tenant_alone() -> None:
    hostile = "x" * 10_000 + "\r\n"
    for caller, told in ((ME, True), (Caller(TenantId("acme")), True), (STRANGER, False)):
        with pytest.raises(RequestError) as caught:
            two().resolve(chat(), caller, Directives(domain=hostile))
        assert (caught.value.status, caught.value.code) == (400, "unknown_domain")
        assert ("chat, code, medical, private" in caught.value.message) is told
        assert "xxx" not in caught.value.message


def test_a_domain_is_refused_where_callers_may_not_choose() -> None:
    policies = snapshot(MINIMAL + "assign: {header: false}\n")
    with pytest.raises(RequestError) as caught:
        policies.resolve(chat(), ME, Directives(domain="chat"))
    assert (caught.value.status, caught.value.code) == (400, "domain_not_accepted")


def test_models_outside_the_list_do_not_exist() -> None:
    policies = snapshot(MINIMAL + "models: [gpt-5*, local]\n")
    assert policies.resolve(chat(model="gpt-5-mini"), ME, NONE).domain == "chat"
    with pytest.raises(RequestError) as caught:
        policies.resolve(chat(model="gpt-4"), ME, NONE)
    assert (caught.value.status, caught.value.code, caught.value.param) == (404, "model_not_found", "model")
    assert policies.allows_model(TenantId("acme"), "local")
    assert not policies.allows_model(TenantId("acme"), "locally")
    assert two().allows_model(TenantId("acme"), "anything")


def test_a_removed_tenant_is_a_missing_key() -> None:
    with pytest.raises(RequestError) as caught:
        two().resolve(chat(), Caller(TenantId("gone")), NONE)
    assert caught.value.status == 401


def test_tenants_never_see_each_others_policies() -> None:
    policies = snapshot(TWO_DOMAINS, MINIMAL.replace("acme", "bravo").replace("chat", "talk"))
    other = Caller(TenantId("bravo"), key_name="k")
    assert policies.tenants == ("acme", "bravo")
    assert policies.resolve(chat(), ME, NONE).domain == "chat"
    assert policies.resolve(chat(), other, NONE).domain == "talk"
    with pytest.raises(RequestError, match="Known are: talk"):
        policies.resolve(chat(), other, Directives(domain="medical"))


def test_the_classifier_tightens_and_never_loosens() -> None:
    policies = two()
    plain = policies.resolve(chat(), ME, NONE)
    assert policies.tighten(plain, "medical").threshold == 0.97
    doctor = policies.resolve(chat(system="you are a doctor"), ME, NONE)
    assert policies.tighten(doctor, "chat") == policies.resolve(
        chat(system="you are a doctor"), ME, Directives(domain="chat")
    )


def test_a_domain_for_fewer_people_found_late_closes_the_cache() -> None:
    policies = two()
    plain = policies.resolve(chat(end_user="u"), ME, NONE)
    late = policies.tighten(plain, "private")
    assert (late.mode, late.scope, late.store) == (Mode.OFF, Scope.USER, False)
    named = policies.resolve(chat(end_user="u"), ME, Directives(user="u"))
    assert policies.tighten(named, "private").mode is Mode.SEMANTIC


@pytest.mark.parametrize("domain", ["nonsense", ""])
def test_tightening_by_an_unknown_domain_is_an_error(domain: str) -> None:
    policies = two()
    with pytest.raises(PolicyError):
        policies.tighten(policies.resolve(chat(), ME, NONE), domain)


def test_tightening_a_foreign_policy_is_an_error() -> None:
    policies = two()
    mine = policies.resolve(chat(), ME, NONE)
    with pytest.raises(PolicyError):
        policies.tighten(replace(mine, tenant=TenantId("other")), "medical")


def test_upstream_quota_and_exemplars() -> None:
    acme = TenantId("acme")
    bare = snapshot(MINIMAL)
    assert (bare.upstream(acme), bare.quota(acme), bare.classifier(acme), bare.exemplars(acme)) == (
        None,
        Quota(max_share=0.5, max_near=20),
        None,
        {},
    )
    full = snapshot(
        MINIMAL.replace("chat", "legal")
        + "upstream: openai\nquotas: {max_entries: 5, max_bytes: 1MiB}\nclassifier: {enabled: true, exemplars: {other: [hi]}}\n"
    )
    assert (full.upstream(acme), full.quota(acme)) == ("openai", Quota(5, 1 << 20, 0.5, 20))
    exemplars = full.exemplars(acme)
    assert set(exemplars) == {"legal", "other"}  # built-in classes only for domains that exist
    assert exemplars["other"] == ("hi",)
    assert len(exemplars["legal"]) >= 30


BRAVO = (
    TWO_DOMAINS.replace("acme", "bravo")
    .replace("0.92", "0.93")
    .replace("  anonymous: loopback\n  unknown_keys: passthrough\n", "  keys: []\n")
)


def test_the_memo_never_mixes_requests_up() -> None:
    long = "x" * 5000
    asked = [
        (chat(), ME, NONE), (chat(), Caller(TenantId("bravo")), NONE), (chat(system=long), ME, NONE),
        (chat(system=long + "you are a doctor"), ME, NONE), (chat(system="you are a doctor"), ME, NONE),
        (chat(), ME, Directives(threshold=0.95)), (chat(), ME, Directives(ttl=5)), (chat(), ME, Directives(max_age=5)),
        (chat(), ME, Directives(mode="exact")), (chat(), ME, Directives(no_store=True)), (chat(), ME, Directives(user="u")),
        (chat(), ME, Directives(domain="private")), (chat(end_user="u"), ME, Directives(domain="private")),
        (chat(path="/v1/completions", model="code-1"), ME, NONE), (chat(model="code-1"), ME, NONE),
        (chat(), ME, Directives(domain="medical")),
    ]  # fmt: skip
    fresh = [snapshot(TWO_DOMAINS, BRAVO).resolve(*one) for one in asked]
    policies = snapshot(TWO_DOMAINS, BRAVO)
    for _ in range(2):
        assert [policies.resolve(*one) for one in asked] == fresh
    assert len({repr(policy) for policy in fresh}) >= 11


def test_the_memo_is_bounded_and_takes_no_long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMO_ENTRIES", 10)
    policies = two()
    for number in range(100):
        policies.resolve(chat(model=f"m{number}"), ME, NONE)
        assert len(policies.memo) <= 10
    before = len(policies.memo)
    policies.resolve(chat(model="m" * 300), ME, NONE)
    policies.resolve(chat(path="/" + "p" * 300), ME, NONE)
    assert len(policies.memo) == before
    policies.resolve(chat(system="s" * 1_000_000), ME, NONE)
    assert all(len(part) <= 1024 for key in policies.memo for part in key if isinstance(part, str | bytes))


def test_a_remembered_request_costs_next_to_nothing() -> None:
    policies = two()
    request, directives = chat(system="You are a helpful assistant. " * 20), Directives(threshold=0.95)
    policies.resolve(request, ME, directives)
    best = min(_timed(lambda: policies.resolve(request, ME, directives)) for _ in range(50))
    assert best < 20e-6  # measured 3 microseconds; the rest is room for a busy machine


def _timed(call) -> float:
    began = time.perf_counter()
    for _ in range(20):
        call()
    return (time.perf_counter() - began) / 20
