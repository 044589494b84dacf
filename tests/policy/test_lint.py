"""Warnings: each with a policy that deserves it, and none for a policy that does not."""

from __future__ import annotations

import pytest

from semcache.policy.lint import lint
from tests.policy.samples import MINIMAL, TWO_DOMAINS, source

DOORS = "access: {anonymous: loopback}\n"
HASH = "sha256:" + "ab" * 32


def warnings(text: str) -> list[str]:
    found = lint(source(text))
    assert all(problem.level == "warning" for problem in found)
    return [str(problem) for problem in found]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MINIMAL.replace("0.92", "0.84") + DOORS, "policy.yaml:5: domains.chat.threshold: 0.84 is below 0.85"),
        (MINIMAL.replace("semantic, threshold: 0.92", "shadow, threshold: 0") + DOORS, "0 is below 0.85"),
        (MINIMAL.replace("0.92", "1.0") + DOORS, "only equal texts reach 1"),
        (MINIMAL.replace("0.92", "0.92, verified_threshold: 0.8") + DOORS, "lies more than 0.05 below threshold"),
        (MINIMAL, "policy.yaml:1: access: nobody can speak for this tenant"),
        (
            MINIMAL + f"access: {{unknown_keys: passthrough, keys: [{{name: a, hash: '{HASH}'}}]}}\n",
            "policy.yaml:6: access.unknown_keys: callers with any other key are served too",
        ),
        (
            MINIMAL + DOORS + "assign:\n  rules:\n    - {domain: chat, models: a*}\n    - {domain: chat, models: [ab, ac], routes: /x}\n",
            "policy.yaml:10: assign.rules[1]: is never reached: rule 0",
        ),
        (
            MINIMAL + DOORS + "assign: {rules: [{domain: chat, system_prompt: {contains: x}}, {domain: chat, system_prompt: {contains: x}, models: m}]}\n",
            "assign.rules[1]: is never reached",
        ),
        (MINIMAL + DOORS + "assign: {header: false}\n", ""),
        (MINIMAL.replace("  chat:", "  spare: {}\n  chat:") + DOORS + "assign: {header: false}\n", "domains.spare: nothing leads to this domain"),
    ],
)  # fmt: skip
def test_a_warning_for_what_looks_wrong(text: str, says: str) -> None:
    found = warnings(text)
    assert not found if not says else any(says in line for line in found), found


@pytest.mark.parametrize(
    "rules",
    [
        "[{domain: chat, models: ab}, {domain: chat, models: a*}]",
        "[{domain: chat, models: a, routes: /x}, {domain: chat, models: a}]",
        "[{domain: chat, system_prompt: {contains: x}}, {domain: chat, models: a}]",
        "[{domain: chat, system_prompt: {contains: x}}, {domain: chat, system_prompt: {contains: y}}]",
        "[{domain: chat, models: [a, b]}, {domain: chat, models: [b, c]}]",
    ],
)
def test_rules_that_can_be_reached_give_no_warning(rules: str) -> None:
    assert warnings(f"{MINIMAL}{DOORS}assign: {{rules: {rules}}}\n") == []


def test_a_sound_policy_gives_no_warning() -> None:
    assert warnings(TWO_DOMAINS) == []


KEYED = f"access: {{anonymous: never, keys: [{{name: a, hash: '{HASH}'}}]}}\n"


@pytest.mark.parametrize(
    ("knobs", "access", "says"),
    [
        ("confirmation: {by: users}", DOORS, "domains.chat.confirmation: no user will ever count"),
        ("confirmation: {by: users}", KEYED, ""),
        ("confirmation: {by: human}", KEYED, ""),
        ("confirmation: {by: human}", DOORS, "callers without a key of this file's"),
        (
            "confirmation: {by: users}",
            KEYED.replace("never", "loopback"),
            "callers without a key of this file's",
        ),
        ("confirmation: {by: human}, review: {enabled: false}", KEYED, "nothing comes before a human here"),
        ("confirmation: {by: human}, scope: user", KEYED, "says nothing in scope user"),
        ("confirmation: {by: none}", DOORS, ""),
    ],
)
def test_a_rule_that_cannot_be_met_or_says_nothing(knobs: str, access: str, says: str) -> None:
    found = warnings(MINIMAL.replace("0.92", f"0.92, {knobs}") + access)
    assert not found if not says else any(says in line for line in found), found


def test_a_rule_that_all_domains_inherit_is_told_of_at_its_line() -> None:
    found = warnings(TWO_DOMAINS + "defaults: {confirmation: {by: users}}\n")
    assert found
    assert all("defaults.confirmation" in line for line in found), found
