"""Exact repeats: the product's own keys, lives of the policy, and what may not be stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from semcache.advise.exact import ExactRepeats
from semcache.advise.findings import Exact
from semcache.advise.rows import LogRow
from semcache.core import Usage
from semcache.policy.loader import load_default

SNAPSHOT = load_default()
TENANT = SNAPSHOT.tenants[0]
DAY = 86_400.0
USAGE = Usage(100, 10)
NOON = 1767355200.0


def row(text: str = "Where is the Louvre?", at: float | None = NOON, **fields: Any) -> LogRow:
    body = {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": text}]}
    known = {
        name: fields.pop(name)
        for name in ("tenant", "user", "failed", "response", "seconds")
        if name in fields
    }
    return LogRow({**body, **fields}, "f", 1, at=at, model="m", **{"response": "Paris", **known})


def counted(*rows: LogRow) -> Exact:
    found = ExactRepeats(SNAPSHOT, TENANT)
    for each in rows:
        found.add(each, USAGE, 5)
    return found.findings()


def test_what_repeats_is_a_hit_and_saves_its_call() -> None:
    found = counted(row(seconds=2.0), row("  Where is  the Louvre?\n", NOON + 1, seconds=3.0), row("Why?"))
    assert (found.requests, found.repeats, found.hits) == (3, 1, 1)
    assert (found.saved_input, found.saved_output, found.saved_cost, found.saved_seconds) == (100, 10, 5, 3.0)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n"},
        {"temperature": 0.1},
        {"max_tokens": 5},
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "Where is the Louvre?"},
            ]
        },
        {"unheard_of": 1},
        {"tools": [{"type": "function"}]},
    ],
    ids=str,
)
def test_whatever_counts_tells_requests_apart(other: dict[str, Any]) -> None:
    first = row()
    assert counted(first, replace(first, body={**first.body, **other})).hits == 0


@pytest.mark.parametrize("other", [{"stream": True}, {"metadata": {"a": "b"}}, {"n": 1}], ids=str)
def test_what_cannot_change_the_answer_does_not(other: dict[str, Any]) -> None:
    first = row()
    assert counted(first, replace(first, body={**first.body, **other})).hits == 1


def test_owners_of_the_log_never_share() -> None:
    assert counted(row(tenant="a"), row(tenant="b")).hits == 0
    assert counted(row(tenant="a"), row(tenant="a")).by_tenant == (("a", 2, 1),)


def test_answers_live_as_long_as_the_policy_says() -> None:
    ttl = counted(row()).ttl
    inside = counted(row(), row(at=NOON + 0.9 * ttl))
    outside = counted(row(), row(at=NOON + 1.1 * ttl))
    assert (inside.hits, outside.repeats, outside.hits) == (1, 1, 0)
    # A hit does not make an answer younger; a new one does.
    assert counted(row(), row(at=NOON + 0.9 * ttl), row(at=NOON + 1.2 * ttl)).hits == 1
    assert counted(row(), row(at=NOON + 1.1 * ttl), row(at=NOON + 1.9 * ttl)).hits == 1


def test_questions_about_the_present_live_shorter() -> None:
    now = "What is the weather in Paris right now?"
    assert counted(row(now), row(now, NOON + 60)).hits == 1
    assert counted(row(now), row(now, NOON + 3600)).hits == 0
    assert counted(row(), row(at=NOON + 3600)).hits == 1


def test_rows_without_times_repeat_all_the_same() -> None:
    assert counted(row(at=None), row(at=None)).hits == 1


def test_failures_and_calls_of_tools_are_not_stored() -> None:
    assert counted(row(failed=True), row()).hits == 0
    assert counted(row(), row(failed=True)).hits == 1
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert counted(row(tools=tools, response=None), row(tools=tools, response=None)).hits == 0


def test_what_is_kept_from_the_cache_is_named() -> None:
    found = counted(
        row(temperature=1.5),
        row(previous_response_id="r"),
        replace(row(), body={"model": "m", "messages": []}),
        row(),
    )
    assert (found.cacheable, found.out_of_reach) == (1, 3)
    assert {name for name, _ in found.reasons} == {"temperature", "uncacheable", "no-request"}


def test_without_a_price_nothing_is_claimed() -> None:
    found = ExactRepeats(SNAPSHOT, TENANT)
    for _ in range(3):
        found.add(row(), USAGE, None)
    assert (found.findings().saved_cost, found.findings().unpriced) == (0, 2)


def test_many_owners_stay_bounded() -> None:
    found = counted(*(row(tenant=f"t{number}") for number in range(500)))
    assert len(found.by_tenant) == 20
    assert found.by_tenant[0][:2] == ("~other", 300)
