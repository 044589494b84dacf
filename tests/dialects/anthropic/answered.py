"""Random answers of Anthropic's messages, with every kind of block, and how they are kept and put together."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.keeping import kept
from tests.dialects.answers import arguments, texts, words

ID, CREATED = b"0123456789abcdef01234567", b"1800000001"


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


citations = st.lists(block("char_location", cited_text=texts, start=st.integers(0, 9)), max_size=2)
blocks = st.one_of(
    block("text", text=texts),
    block("text", text=words, citations=citations),
    block("text", text=texts, citations=st.none()),
    block("thinking", thinking=words, signature=texts),
    block("thinking", thinking=texts, signature=st.just("")),
    block("redacted_thinking", data=texts),
    block("tool_use", id=texts, name=st.just("f"), input=arguments),
    block("tool_use", id=texts, name=st.just("f"), input=arguments, caller=st.just({"type": "direct"})),
    block("server_tool_use", id=texts, name=st.just("web_search"), input=arguments),
    block("web_search_tool_result", tool_use_id=texts, content=st.lists(st.just({"type": "x"}), max_size=1)),
    block("not_yet_known", stuff=arguments, text=texts),
)
counts = st.integers(0, 999)
usages = st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": counts},
    optional={
        "cache_read_input_tokens": counts,
        "cache_creation_input_tokens": counts,
        "output_tokens_details": st.just({"thinking_tokens": 0}),
        "service_tier": st.just("standard"),
        "server_tool_use": st.just({"web_search_requests": 1}),
        "cache_creation": st.none(),
    },
)
answers: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "id": st.just("msg_1"),
        "type": st.just("message"),
        "role": st.just("assistant"),
        "model": st.just("claude"),
        "content": st.lists(blocks, max_size=4).flatmap(
            lambda some: texts.map(lambda text: [*some, {"type": "text", "text": text}])
        ),
        "stop_reason": st.sampled_from(("end_turn", "tool_use", "stop_sequence")),
        "stop_sequence": st.none() | texts,
        "usage": usages,
    },
    optional={
        "container": st.none() | st.just({"id": "c", "expires_at": "t"}),
        "stop_details": st.none(),
        "context_management": st.just({"applied_edits": []}),
        "x_vendor": arguments,
    },
)


def stored(answer: dict[str, Any]) -> Completion:
    outcome = kept(MESSAGES, json.loads(json.dumps(answer)))
    assert isinstance(outcome, Completion), outcome
    return outcome


def wanted(*, stream: bool, zero: bool = False) -> Wanted:
    return Wanted(stream, include_usage=True, usage="zero" if zero else "original")


def replayed(completion: Completion, *, stream: bool, zero: bool = False) -> bytes:
    return MESSAGES.layout(completion, wanted(stream=stream, zero=zero)).whole(ID, CREATED)


def assembled(data: bytes, size: int = 1 << 20, *, stream: bool = True) -> Completion | Incomplete:
    assembler = MESSAGES.assembler("text/event-stream" if stream else "application/json")
    assert assembler is not None
    for start in range(0, len(data), size):
        assembler.feed(data[start : start + size])
    return assembler.finish()


def whole(outcome: Completion | Incomplete) -> Any:
    """Give the message that is kept, without its id."""
    assert isinstance(outcome, Completion), outcome
    return MESSAGES.bare(json.loads(replayed(outcome, stream=False)))


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(**fields: Any) -> bytes:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage, **fields}
    return event("message_start", message=message)


def opened(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def closed(index: int) -> bytes:
    return event("content_block_stop", index=index)


def said(text: str, index: int = 0) -> bytes:
    return opened(index, type="text", text="") + delta(index, "text_delta", text=text) + closed(index)


def ended(reason: str | None = "end_turn", **usage: Any) -> bytes:
    return event(
        "message_delta",
        delta={"stop_reason": reason, "stop_sequence": None},
        usage={"output_tokens": 9, **usage},
    )


STOP = event("message_stop")


def events(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Give names and objects; every event must have both, and nothing else may be there."""
    out: list[tuple[str, dict[str, Any]]] = []
    for one in data.decode().split("\n\n")[:-1]:
        name, told = one.split("\n")
        value = json.loads(told.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        out.append((value["type"], value))
    assert data.endswith(b"\n\n")
    return out
