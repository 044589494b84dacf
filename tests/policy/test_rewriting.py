"""Rewriting changes the spelling of tools and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import ChatRequest, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.policy.prefix import PrefixRules
from semcache.policy.rewriting import RewriteRules, in_order, rewritten, tool_name
from tests.policy.samples import MINIMAL, snapshot

BOTH = RewriteRules(sort_tools=True, sort_keys=True)
ORDER = RewriteRules(sort_tools=True)
KEYS = RewriteRules(sort_keys=True)

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
_schemas = st.dictionaries(st.text(max_size=4), _values, max_size=5)
_names = st.sampled_from(["find", "book", "pay", "名", ""])
_chat_tools = st.builds(
    lambda name, schema, strict: {
        "type": "function",
        "function": {"name": name, "parameters": schema} | ({"strict": True} if strict else {}),
    },
    _names,
    _schemas,
    st.booleans(),
)
_flat_tools = st.builds(lambda name, schema: {"name": name, "input_schema": schema}, _names, _schemas)
_tools = st.lists(_chat_tools | _flat_tools | _schemas, max_size=6)
_bodies = st.builds(
    lambda tools, rest: {**rest, "model": "m", "tools": tools, "messages": [{"z": 1, "a": [3, 1]}]},
    _tools,
    st.dictionaries(st.text(max_size=4), _values, max_size=3),
)


def spelled(value: Any) -> str:
    return json.dumps(value)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(_bodies, st.sampled_from([BOTH, ORDER, KEYS, RewriteRules()]))
def test_no_value_changes(body: dict[str, Any], rules: RewriteRules) -> None:
    before = spelled(body)
    made = rewritten(body, rules)
    assert spelled(body) == before, "the client's own body is left alone"
    assert Counter(map(canonical, made["tools"])) == Counter(map(canonical, body["tools"]))
    assert list(made) == list(body)
    for name, value in body.items():
        assert name == "tools" or spelled(made[name]) == spelled(value)
    assert spelled(rewritten(made, rules)) == spelled(made)
    assert rewritten(made, rules) is made


@given(_bodies)
def test_each_rule_does_only_its_own(body: dict[str, Any]) -> None:
    assert rewritten(body, RewriteRules()) is body
    ordered = rewritten(body, ORDER)["tools"]
    assert Counter(map(spelled, ordered)) == Counter(map(spelled, body["tools"]))
    keyed = rewritten(body, KEYS)["tools"]
    assert list(map(canonical, keyed)) == list(map(canonical, body["tools"]))


@given(st.permutations([f"t{n}" for n in range(6)]))
def test_any_order_becomes_one(names: list[str]) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"b": 1, "a": 2}}} for name in names
    ]
    made = rewritten({"tools": tools}, BOTH)["tools"]
    assert [tool_name(tool) for tool in made] == sorted(names)
    assert (
        spelled(made[0]) == '{"function": {"name": "t0", "parameters": {"a": 2, "b": 1}}, "type": "function"}'
    )


def test_tools_of_one_name_keep_their_order() -> None:
    tools = [{"name": "b", "n": 1}, {"name": "a", "n": 2}, {"name": "b", "n": 3}, {"name": "a", "n": 4}]
    assert [tool["n"] for tool in rewritten({"tools": tools}, ORDER)["tools"]] == [2, 4, 1, 3]


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"name": "b", "cache_control": {"type": "ephemeral"}}, {"name": "a"}]},
        {"tools": [{"function": {"name": "b", "cache_control": {}}}, {"name": "a"}]},
        {"tools": [{"name": "b"}, {"name": "a"}], "tool_choice": {"index": 1}},
        {"tools": [{"name": "b"}, {"name": "a"}], "tool_choice": {"tools": [{"at": [0]}]}},
        {"tools": [{"name": "b"}, "a"]},
        {"tools": {"b": 1, "a": 2}},
        {"tools": None},
        {},
    ],
)
def test_what_may_not_move_stays(body: dict[str, Any]) -> None:
    assert rewritten(body, ORDER) is body


def test_a_choice_by_name_moves_nothing_it_needs() -> None:
    body = {
        "tools": [{"name": "b"}, {"name": "a"}],
        "tool_choice": {"type": "tool", "name": "b", "flag": True},
    }
    assert [tool["name"] for tool in rewritten(body, ORDER)["tools"]] == ["a", "b"]


def test_strict_tools_keep_their_keys() -> None:
    strict = {"type": "function", "function": {"strict": True, "name": "x", "parameters": {"b": 1, "a": 1}}}
    assert rewritten({"tools": [strict]}, KEYS)["tools"][0] is strict


def test_functions_are_tools_and_schemas_too_deep_are_left() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"b": deep, "a": 1}
    made = rewritten({"functions": [{"name": "b", "parameters": deep}, {"name": "a"}]}, BOTH)["functions"]
    assert [one["name"] for one in made] == ["a", "b"]
    assert made[1]["parameters"] == deep


def test_a_request_is_hashed_anew_only_where_it_changed() -> None:
    def asked(*names: str) -> ChatRequest:
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools}
        return parse_chat(body, "/v1/chat/completions")

    place = Partition(TenantId("acme"), "tenant", "", "", "up")
    sorted_one, other = asked("a", "b"), asked("b", "a")
    assert in_order(sorted_one, ORDER) is sorted_one
    assert in_order(other, RewriteRules()) is other
    other.keys[place] = (namespace_of(other, place), exact_key(namespace_of(other, place), other))
    made = in_order(other, ORDER)
    assert made.keys == {}
    assert namespace_of(made, place) == namespace_of(sorted_one, place) != namespace_of(other, place)


def test_a_policy_turns_it_on() -> None:
    off = snapshot(MINIMAL).prefix(TenantId("acme"))
    assert off.rewrite == RewriteRules() == PrefixRules().rewrite
    on = snapshot(MINIMAL + "prefix: {rewrite: {sort_tools: true, sort_keys: true}}\n").prefix(
        TenantId("acme")
    )
    assert on.rewrite == BOTH
