"""The shipped files and the documentation: loadable, complete, and in agreement with the schema."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semcache.core import Caller, Directives, Mode, TenantId
from semcache.policy.loader import check, load_default, load_directory, read_file
from tests.policy.knobs import Row, tables
from tests.policy.samples import chat

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "policies").glob("*.yaml"))
DEFAULT = ROOT / "policies" / "default.yaml"
ME = Caller(TenantId("default"))


def test_all_examples_load_together_without_a_warning() -> None:
    report = check(ROOT / "policies")
    assert (report.problems, report.warnings) == ((), ())
    assert report.snapshot is not None
    assert report.snapshot.tenants == ("code-assistant", "default", "hospital", "support-desk", "trial")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_example_stands_alone_and_has_tests_of_its_own(path: Path) -> None:
    source, problems = read_file(path.read_bytes(), path.name)
    assert problems == []
    assert source is not None
    assert source.policy.tests


def test_the_built_in_policy_is_the_shipped_one() -> None:
    built_in = ROOT / "semcache" / "policy" / "default.yaml"
    assert built_in.read_bytes() == DEFAULT.read_bytes()
    assert load_default().tenants == ("default",)


def test_the_shipped_domains() -> None:
    domains = load_default().by_tenant[TenantId("default")].domains
    bands = {
        name: (p.mode, p.threshold, p.verified_threshold, p.draft_threshold) for name, p in domains.items()
    }
    assert bands == {
        "chat": (Mode.SEMANTIC, 0.90, 0.88, 0.65),
        "medical": (Mode.SEMANTIC, 0.97, 0.95, 0.97),
        "legal": (Mode.SEMANTIC, 0.97, 0.95, 0.97),
        "code": (Mode.SEMANTIC, 0.90, 0.90, 0.90),
    }


def test_only_chat_and_code_serve_what_stands_alone_below_the_threshold() -> None:
    domains = load_default().by_tenant[TenantId("default")].domains
    alone = {name: p.alone.threshold for name, p in domains.items() if p.alone.threshold <= 1.0}
    assert alone == {"chat": 0.70, "code": 0.75}


def test_the_shipped_access() -> None:
    policies = load_default()
    assert policies.authenticate(None, None, True) == ME
    stranger = policies.authenticate("Bearer sk-x", None, False)
    assert (stranger.tenant, bool(stranger.principal)) == ("default", True)
    assert not policies.has_keys


@pytest.mark.parametrize(
    ("system", "domain"),
    [
        ("You are a helpful assistant.", "chat"),
        ("You are a careful medical assistant for patients.", "medical"),
        ("You are a lawyer.", "legal"),
        ("你是一名医生。", "medical"),
        ("You are an expert programming assistant.", "code"),
    ],
)
def test_the_shipped_rules(system: str, domain: str) -> None:
    assert load_default().resolve(chat(system=system), ME, Directives()).domain == domain


def test_the_shadow_trial_serves_nothing_and_the_hospital_lets_nobody_in() -> None:
    policies = load_directory(ROOT / "policies")
    trial = policies.by_tenant[TenantId("trial")].domains
    assert {policy.mode for policy in trial.values()} == {Mode.SHADOW}
    hospital = policies.by_tenant[TenantId("hospital")]
    assert all(policy.threshold >= 0.94 for policy in hospital.domains.values())
    assert hospital.source.policy.access.anonymous == "never"


def leaf(row: Row) -> str:
    return re.split(r"[.\]]", row.path)[-1]


def test_every_knob_stands_in_the_default_file() -> None:
    text = DEFAULT.read_text(encoding="utf-8")
    for row in [row for rows in tables().values() for row in rows]:
        assert re.search(rf"\b{leaf(row)}\b", text), row.path


def test_every_knob_of_the_default_file_has_a_comment_above_its_first_use() -> None:
    lines = DEFAULT.read_text(encoding="utf-8").splitlines()
    explained: set[str] = set()
    body = lines[: lines.index("tests:")]
    for number, line in enumerate(body):
        found = re.match(r"\s*(- )?([a-z_]+):( .+)$", line)
        if found is None or found[2] in explained or found[1]:
            continue
        explained.add(found[2])
        # Parts of a rule are explained above the list of rules.
        assert body[number - 1].lstrip().startswith("#") or found[2] in ("domain", "contains"), line


def documented() -> list[str]:
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_the_documentation_is_the_schemas() -> None:
    expected = [str(row).rstrip() for rows in tables().values() for row in rows]
    assert [line.rstrip() for line in documented()] == expected
    assert len(expected) > 60
