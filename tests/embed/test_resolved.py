"""Where chats meet by meaning: the history gives way, everything else still separates."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import IRRELEVANT_FIELDS, Partition, exact_key, namespace_of
from semcache.embed.resolved import resolved_namespace

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who founded Acme?"},
        {"role": "assistant", "content": "Jo Berg."},
        {"role": "user", "content": "How old is she?"},
    ],
    "temperature": 0,
}
HERE = Partition(TenantId("acme"), "tenant", "", "", "local")
KINDS = ("standalone", "bound")


def digest(body: dict[str, Any], kind: str, partition: Partition = HERE) -> str:
    return resolved_namespace(parse_chat(body, "/v1/chat/completions"), partition, kind).digest


def chat(*turns: str, system: str = "Be brief.", **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]
    return {**BODY, "messages": [{"role": "system", "content": system}, *messages], **fields}


@pytest.mark.parametrize("kind", KINDS)
def test_the_history_gives_way(kind: str) -> None:
    assert digest(chat("a", "b", "c"), kind) == digest(chat("d", "e", "f", "g", "h"), kind)
    assert digest(chat("a", "b", "c"), kind) == digest(chat("c"), kind)


def test_kinds_never_meet() -> None:
    request = parse_chat(BODY, "/")
    places = {digest(BODY, kind) for kind in (*KINDS, "opaque")} | {namespace_of(request, HERE).digest}
    assert len(places) == 3


@pytest.mark.parametrize("kind", ["opaque", "", "anything"])
def test_what_is_not_resolved_keeps_its_whole_history(kind: str) -> None:
    request = parse_chat(BODY, "/")
    assert digest(BODY, kind) == namespace_of(request, HERE).digest


def test_a_request_without_a_prompt_keeps_its_whole_history() -> None:
    body = {**BODY, "messages": BODY["messages"][:3]}
    assert digest(body, "bound") == namespace_of(parse_chat(body, "/"), HERE).digest


def test_the_exact_key_still_holds_the_whole_history() -> None:
    one, other = (parse_chat(chat(*turns), "/") for turns in (("a", "b", "c"), ("x", "b", "c")))
    assert exact_key(namespace_of(one, HERE), one) != exact_key(namespace_of(other, HERE), other)


def test_the_memo_of_the_request_is_left_alone() -> None:
    request = parse_chat(BODY, "/")
    resolved_namespace(request, HERE, "bound")
    assert request.keys == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "other",
    [
        Partition(TenantId("b"), "tenant", "", "", "local"),
        Partition(TenantId("acme"), "user", "", "", "local"),
        Partition(TenantId("acme"), "tenant", "jo", "", "local"),
        Partition(TenantId("acme"), "tenant", "", "x", "local"),
        Partition(TenantId("acme"), "tenant", "", "", "far"),
        Partition(TenantId("acme"), "tenant", "", "", "local", (("accept-language", "de"),)),
    ],
)
def test_callers_stay_apart(kind: str, other: Partition) -> None:
    assert digest(BODY, kind) != digest(BODY, kind, other)


_VALUES = st.one_of(
    st.integers(2, 9),
    st.floats(0.01, 0.99),
    st.text(min_size=1, max_size=8),
    st.lists(st.integers(0, 9), min_size=1),
)
_FIELDS = st.text("abcdefghij_", min_size=1, max_size=12).filter(lambda name: name not in IRRELEVANT_FIELDS)
_TUNABLE = st.sampled_from(
    ["top_p", "max_tokens", "stop", "tools", "tool_choice", "response_format", "seed", "n", "logit_bias"]
)


@given(st.sampled_from(KINDS), _FIELDS | _TUNABLE, _VALUES)
def test_any_other_field_changes_it(kind: str, name: str, value: Any) -> None:
    assert digest({**copy.deepcopy(BODY), name: value}, kind) != digest(BODY, kind)


@given(st.sampled_from(KINDS), st.text(min_size=1).filter(str.strip))
def test_any_other_model_changes_it(kind: str, model: str) -> None:
    assert (digest({**BODY, "model": model}, kind) == digest(BODY, kind)) == (model == "m")


@given(st.sampled_from(KINDS), st.text("abc .!\u4f60", max_size=12), st.text("abc .!\u4f60", max_size=12))
def test_any_other_system_prompt_changes_it(kind: str, one: str, other: str) -> None:
    same = " ".join(one.split(" ")).strip(" ") == " ".join(other.split(" ")).strip(" ")
    if not same and " ".join(one.split()) != " ".join(other.split()):
        assert digest(chat("a", "b", "c", system=one), kind) != digest(chat("d", system=other), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_number_role_and_fields_of_system_messages_count(kind: str) -> None:
    system, *rest = BODY["messages"]
    variants = [
        BODY["messages"],
        rest,
        [system, system, *rest],
        [{**system, "role": "developer"}, *rest],
        [{**system, "name": "x"}, *rest],
        [system, *rest[:-1], {**rest[-1], "name": "jo"}],
        [system, *rest[:-1], {**rest[-1], "content": [{"type": "text", "text": "How old"}, {"type": "text", "text": "is she?"}]}],
    ]  # fmt: skip
    assert len({digest({**BODY, "messages": messages}, kind) for messages in variants}) == len(variants)
