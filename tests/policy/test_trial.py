"""The tests of policy files: what counts as match and differ, where failures are reported."""

from __future__ import annotations

import pytest

from semcache.core import (
    Bypass,
    CachePolicy,
    Completion,
    Decision,
    Draft,
    Entry,
    EntryId,
    ExactKey,
    Hit,
    Miss,
    TenantId,
)
from semcache.errors import EncoderError
from semcache.policy.trial import cases, run_trials
from tests.policy.samples import TWO_DOMAINS, snapshot

PAIRS = """\
tests:
  - {a: one, b: hit, expect: match, note: fine}
  - {a: one, b: hit, domain: medical, expect: differ}
  - {a: one, b: draft, expect: match}
  - {a: one, b: draft, expect: differ}
  - {a: one, b: miss, expect: differ}
  - {a: one, b: bypass, domain: code, expect: differ}
  - {a: one, b: error, expect: differ}
"""
POLICIES = snapshot(
    TWO_DOMAINS + PAIRS, TWO_DOMAINS.replace("acme", "bravo").replace("passthrough", "reject")
)
ENTRY = Entry(
    EntryId("e"), TenantId("acme"), "ns", ExactKey("k"), "chat", "m", "one", Completion(b"{}", None), 0.0, 1.0
)


async def judge(a: str, b: str, policy: CachePolicy) -> Decision:
    assert a == "one"
    match b:
        case "hit":
            return Hit(ENTRY, exact=False, similarity=policy.threshold)
        case "draft":
            return Draft(ENTRY, 0.9, ("numbers",))
        case "miss":
            return Miss("below threshold", ("names",), 0.5)
        case "bypass":
            return Bypass("mode")
        case _:
            raise EncoderError("the text is longer than the window", "too_long")


async def test_only_a_hit_is_a_match_and_an_error_is_never_right() -> None:
    results = await run_trials(POLICIES, judge)
    assert [(result.outcome, result.passed) for result in results] == [
        ("hit", True),
        ("hit", False),
        ("draft", False),
        ("draft", True),
        ("miss", True),
        ("bypass", True),
        ("error", False),
    ]
    assert [result.reasons for result in results[2:]] == [
        ("numbers",),
        ("numbers",),
        ("below threshold", "names"),
        ("mode",),
        ("the text is longer than the window",),
    ]
    assert [result.similarity for result in results] == [0.92, 0.97, 0.9, 0.9, 0.5, None, None]


async def test_a_defect_of_the_judge_is_not_swallowed() -> None:
    async def broken(_a: str, _b: str, _policy: CachePolicy) -> Decision:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_trials(POLICIES, broken)


def test_cases_carry_place_and_policy_of_their_domain() -> None:
    found = list(cases(POLICIES))
    assert [case.where for case in found[:2]] == ["policy0.yaml:33", "policy0.yaml:34"]
    assert [case.policy.domain for case in found] == [
        "chat",
        "medical",
        "chat",
        "chat",
        "chat",
        "code",
        "chat",
    ]
    assert list(cases(POLICIES, TenantId("bravo"))) == []
    assert len(list(cases(POLICIES, TenantId("acme")))) == 7
