"""The proposed policy: what the product's own loader takes, whatever was found, and no bolder than the figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semcache.advise.advice import advice_of
from semcache.advise.findings import DomainReplay, Findings
from semcache.advise.proposal import policy_text
from semcache.advise.worth import worth_of
from semcache.core import CachePolicy, Mode, Scope, TenantId, UntilProven
from semcache.evaluate.domains import policies_at
from semcache.policy.loader import load_default
from semcache.policy.snapshot import PolicySnapshot
from tests.advise.found import domain, exact, findings, semantic
from tests.evaluate.scene import POLICY

TENANT = TenantId("default")
POLICIES = Path(__file__).parents[2] / "policies"
UNSURE = {"wrong_interval": (1.0, 30.0)}
RISKY = {"wrong_interval": (60.0, 90.0)}
FEW = {"exact": 10, "semantic": 10}


def proposed(
    folder: Path, found: Findings, snapshot: PolicySnapshot | None = None, tenant: TenantId = TENANT
) -> tuple[str, dict[str, CachePolicy]]:
    """Give the file, and its domains as the product's own loader reads them."""
    snapshot = snapshot or load_default()
    found = replace(found, worth=worth_of(found, snapshot, tenant))
    text = policy_text(replace(found, advice=advice_of(found)), snapshot, tenant)
    path = folder / "proposed.yaml"
    path.write_text(text, encoding="utf-8")
    return text, dict(policies_at(path).tenant(tenant).domains)


@pytest.mark.parametrize(
    ("changes", "mode", "until_proven"),
    [
        ({}, Mode.SEMANTIC, UntilProven.SERVE),
        (UNSURE, Mode.SEMANTIC, UntilProven.SHADOW),
        (RISKY, Mode.EXACT, UntilProven.SERVE),
        (FEW, Mode.OFF, UntilProven.SERVE),
        ({"requests": 50}, Mode.SHADOW, UntilProven.SERVE),
        ({"repeated": (50, 50, 0)}, Mode.SHADOW, UntilProven.SERVE),
    ],
)
def test_each_domain_is_as_bold_as_its_figures(
    tmp_path: Path, changes: dict[str, Any], mode: Mode, until_proven: UntilProven
) -> None:
    _, domains = proposed(tmp_path, findings(semantic(domain(**changes))))
    assert domains["chat"].mode is mode
    assert domains["chat"].risk.until_proven is until_proven
    # Nothing was seen of the others: equal requests alone, or nothing where little is known at all.
    assert domains["legal"].mode is (Mode.SHADOW if mode is Mode.SHADOW else Mode.EXACT)


def test_what_is_strict_stays_strict(tmp_path: Path) -> None:
    held = domain("medical", semantic=0, would_be=500, wrong_interval=None, budget=0.001)
    _, domains = proposed(tmp_path, findings(semantic(domain(), held)))
    medical, shipped = domains["medical"], load_default().tenant(TENANT).domains["medical"]
    assert medical.mode is Mode.SEMANTIC
    assert (medical.risk, medical.threshold, medical.gate, medical.drafts) == (
        shipped.risk,
        shipped.threshold,
        shipped.gate,
        shipped.drafts,
    )


def test_personal_questions_are_shared_with_nobody_and_changing_answers_live_shorter(tmp_path: Path) -> None:
    text, domains = proposed(tmp_path, findings(semantic(domain(personal=1_500, repeated=(85, 15, 0)))))
    assert domains["chat"].scope is Scope.USER
    assert domains["chat"].ttl == 3_600
    assert "45 % of what is asked tells something of the asker" in text
    assert "15 % of 100 exact repeats" in text


def test_the_figures_stand_beside_the_knobs(tmp_path: Path) -> None:
    text, _ = proposed(
        tmp_path, findings(semantic(domain(), sampled=True, sample="the first 5 % of the requests"))
    )
    for word in (
        "from 10,000 requests",
        "the first 5 %",
        "exact: on; 12 % exact repeats",
        "meaning: on; 6.0 %",
        "4,000 stored answers (40 MiB) gave 95 %",
    ):
        assert word in text
    assert "max_entries: 5000" in text


@pytest.mark.parametrize(
    "found",
    [
        findings(rows=0),
        findings(rows=1),
        findings(semantic(), rows=0),
        findings(),
        findings(exact=exact(hits=0)),
        findings(semantic(domain("chat+medical"), domain())),
        replace(findings(semantic(domain())), advice=None),
    ],
)
@pytest.mark.parametrize("where", sorted(POLICIES.glob("*.yaml"), key=str), ids=lambda path: path.name)
def test_whatever_was_found_under_whatever_policy_the_loader_takes_it(
    tmp_path: Path, found: Findings, where: Path
) -> None:
    snapshot = policies_at(where)
    (tenant,) = snapshot.tenants
    _, domains = proposed(tmp_path, found, snapshot, tenant)
    assert domains.keys() == snapshot.tenant(tenant).domains.keys()


def test_nothing_known_serves_nothing(tmp_path: Path) -> None:
    _, domains = proposed(tmp_path, findings(semantic(domain(requests=3, exact=1, semantic=1)), rows=3))
    assert {policy.mode for policy in domains.values()} == {Mode.SHADOW}


def test_another_tenants_file_is_for_that_tenant(tmp_path: Path) -> None:
    path = tmp_path / "acme.yaml"
    path.write_text(POLICY)
    acme = TenantId("acme")
    _, domains = proposed(tmp_path, findings(semantic(domain())), policies_at(path), acme)
    assert (domains["chat"].threshold, domains["chat"].draft_threshold, domains["chat"].verifier) == (
        0.92,
        0.8,
        False,
    )


def test_what_the_operator_closed_stays_closed_and_budgets_stay(tmp_path: Path) -> None:
    path = tmp_path / "acme.yaml"
    costs = (
        "costs: {budgets: [{name: all, hard_usd: 12.5, keys: [site]}]}\nhistory: {most: window, above: 9000}"
    )
    keys = f'access: {{keys: [{{name: site, hash: "sha256:{"ab" * 32}", labels: {{project: web}}}}]}}'
    closed = POLICY.replace("code: {mode: exact}", "code: {mode: off}").replace(
        "medical: {", "medical: {mode: exact, "
    )
    path.write_text(closed.replace("access: {keys: [], anonymous: never}", keys) + costs)
    acme = TenantId("acme")
    before = policies_at(path).tenant(acme)
    found = findings(semantic(*(domain(name) for name in ("chat", "code", "medical"))))
    proposed(tmp_path, found, policies_at(path), acme)
    after = policies_at(tmp_path / "proposed.yaml").tenant(acme)
    modes = {name: policy.mode for name, policy in after.domains.items()}
    assert modes == {"chat": Mode.SEMANTIC, "code": Mode.OFF, "medical": Mode.EXACT}
    assert (after.costs, after.source.policy.access) == (before.costs, before.source.policy.access)
    assert after.source.policy.history == before.source.policy.history


def test_a_replay_of_unseen_domains_is_no_reason(tmp_path: Path) -> None:
    seen: DomainReplay = domain("code")
    text, domains = proposed(tmp_path, findings(semantic(seen)))
    assert domains["chat"].mode is Mode.EXACT
    assert text.count("No request of the log was of this domain.") == 3
