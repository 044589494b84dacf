"""By whose policy a row is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.core import Caller, Directives, Mode, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.errors import PolicyError, SemcacheError
from semcache.evaluate.domains import Variation, as_domain, domain_of, policies_at, tenant_of, varied
from semcache.policy.snapshot import PolicySnapshot
from tests.evaluate.scene import ACME, POLICY, policy


def resolved(snapshot: PolicySnapshot, system: str = "") -> tuple[str, Mode, float]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "How?"}]
    request = parse_chat({"model": "m", "messages": messages}, "/v1/chat/completions")
    found = snapshot.resolve(request, Caller(ACME), Directives())
    return found.domain, found.mode, found.threshold


def test_a_row_of_a_domain_is_judged_by_it_alone(tmp_path: Path) -> None:
    snapshot = policy(tmp_path, POLICY.replace("default_domain: chat", "default_domain: code"))
    assert resolved(snapshot) == ("code", Mode.EXACT, 1.0)
    # Looser than the default domain, against the rules, and though callers may not choose.
    assert resolved(as_domain(snapshot, ACME, "chat"), "You are a programmer.")[:2] == ("chat", Mode.SEMANTIC)
    assert resolved(as_domain(snapshot, ACME, "medical")) == ("medical", Mode.SEMANTIC, 0.99)
    assert resolved(snapshot) == ("code", Mode.EXACT, 1.0), "the policies given stay as they are"


def test_one_knob_is_moved_everywhere(tmp_path: Path) -> None:
    stated = policy(tmp_path)
    at_half = varied(stated, ACME, Variation(threshold=0.5))
    for domain in ("chat", "medical"):
        found = as_domain(at_half, ACME, domain).tenant(ACME).domains[domain]
        assert (found.threshold, found.verified_threshold, found.draft_threshold) == (0.5, 0.5, 0.5)
        before = stated.tenant(ACME).domains[domain]
        scored = varied(stated, ACME, Variation(min_score=0.8)).tenant(ACME).domains[domain]
        assert (scored.min_score, scored.threshold) == (0.8, before.threshold)


def test_names_of_domains(tmp_path: Path) -> None:
    tenant = policy(tmp_path).tenant(ACME)
    asked = {
        "medical": "medical",
        "health": "medical",
        "coding": "code",
        "code": "code",
        "travel": "",
        "": "",
        "law": "",
    }
    assert {name: domain_of(tenant, name) for name in asked} == asked
    own = policy(
        tmp_path, POLICY.replace("  code: {mode: exact}", "  code: {mode: exact}\n  coding: {threshold: 0.9}")
    )
    assert domain_of(own.tenant(ACME), "coding") == "coding", "the policy's own name comes before an alias"


def test_policies_come_from_a_file_a_directory_or_the_package(tmp_path: Path) -> None:
    snapshot = policy(tmp_path)
    assert policies_at(tmp_path).generation == snapshot.generation
    assert policies_at(None).tenants == (TenantId("default"),)
    (tmp_path / "acme.yaml").write_text("tenant: [")
    with pytest.raises(PolicyError, match=r"acme\.yaml:2"):
        policies_at(tmp_path / "acme.yaml")
    with pytest.raises(PolicyError, match="cannot be read"):
        policies_at(tmp_path / "missing.yaml")


def test_whose_policy(tmp_path: Path) -> None:
    snapshot = policy(tmp_path)
    assert tenant_of(snapshot, "") == ACME
    with pytest.raises(SemcacheError, match="no file speaks for tenant other; there are: acme"):
        tenant_of(snapshot, "other")
    (tmp_path / "b.yaml").write_text(POLICY.replace("tenant: acme", "tenant: b"))
    both = policies_at(tmp_path)
    assert tenant_of(both, "b") == "b"
    with pytest.raises(SemcacheError, match="--tenant; there are: acme, b"):
        tenant_of(both, "")
