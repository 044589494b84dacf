"""Batch files as people have them, and as they should not be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semcache.batching.lines import LONGEST, Item, Mistake, Request, read_items, read_request
from semcache.batching.marks import common, marks_of
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.table import ALL, dialect_at
from semcache.errors import SemcacheError

BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def write(folder: Path, *lines: object) -> Path:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    file = folder / "batch.jsonl"
    file.write_bytes(b"\n".join(raw))
    return file


def wrapped(name: str, **more: object) -> dict[str, object]:
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": BODY} | more


def test_both_shapes_are_read(tmp_path: Path) -> None:
    file = write(tmp_path, wrapped("a"), BODY, b"", {**BODY, "custom_id": "c"})
    items = list(read_items(file))
    assert [item.custom_id for item in items] == ["a", "line-2", "c"]
    assert [item.line for item in items] == [1, 2, 4]
    with file.open("rb") as stream:
        assert [read_request(stream, item).body for item in items if isinstance(item, Item)] == [BODY] * 3


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b'{"model": "m", "messages": [', "JSON"),
        (b"\xff\xfe\x00", "JSON"),
        ([1], "object"),
        (wrapped("a", method="GET"), "method"),
        (wrapped("a", url="/v1/images/generations"), "url"),
        (wrapped("a", url=7), "url"),
        (wrapped("a", url="/v1/messages?key=k"), "url"),
        (wrapped("a", url="/v1/messages", body={"model": "m", "messages": [7]}), "messages[0].role"),
        (wrapped("a", url="/v1beta/models/m:generateContent", body={"contents": 7}), "contents"),
        (
            wrapped("a", url="/v1beta/models/m:streamGenerateContent", body={"contents": [{"parts": []}]}),
            "stream",
        ),
        (wrapped("a", url="/api/chat", body={"model": "m", "messages": 7}), "messages"),
        (wrapped("a", url="/api/chat", body={"model": "m", "messages": [], "stream": True}), "stream"),
        ({"custom_id": "a", "params": 7}, "params"),
        ({"custom_id": "a", "params": {"model": "m"}}, "messages"),
        (wrapped("a", body=7), "body"),
        (wrapped("a", body={"model": "m", "messages": []}), "messages"),
        (wrapped("a", body=BODY | {"stream": True}), "stream"),
        (wrapped("a", body={"messages": BODY["messages"]}), "--model"),
        (wrapped("a") | {"custom_id": 5}, "custom_id"),
        (wrapped("a" * 600), "custom_id"),
        (wrapped("twice"), "twice"),
        (b'{"messages": ' + b"[" * 100_000, "JSON"),
    ],
)
def test_a_wrong_line_says_which_and_why_and_stops_nothing(tmp_path: Path, line: object, word: str) -> None:
    found = list(read_items(write(tmp_path, wrapped("twice"), line, wrapped("after"))))
    assert isinstance(found[1], Mistake)
    assert found[1].message.startswith("line 2")
    assert word in found[1].message
    assert isinstance(found[2], Item)
    assert found[2].custom_id == "after"


MESSAGES = [{"role": "user", "content": "hello"}]
OTHERS: dict[str, dict[str, Any]] = {
    "/v1/completions": {"model": "m", "prompt": "hello"},
    "/v1/embeddings": {"model": "m", "input": ["hello"]},
    "/v1/responses": {"model": "m", "input": "hello"},
    "/v1/messages": {"model": "m", "max_tokens": 5, "messages": MESSAGES},
    "/api/chat": {"model": "m", "messages": MESSAGES},
    "/api/generate": {"model": "m", "prompt": "hello"},
    "/v1beta/models/m:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
}


def read_again(file: Path) -> list[Request]:
    items = [item for item in read_items(file) if isinstance(item, Item)]
    with file.open("rb") as stream:
        return [read_request(stream, item) for item in items]


def test_every_dialect_has_its_url(tmp_path: Path) -> None:
    file = write(tmp_path, *(wrapped(path, url=path, body=body) for path, body in OTHERS.items()))
    found = read_again(file)
    assert [request.path for request in found] == list(OTHERS)
    for request, (path, body) in zip(found, OTHERS.items(), strict=True):
        # Ollama streams unless it is told not to.
        assert request.body == (body | {"stream": False} if path.startswith("/api/") else body)
        assert request.dialect is dialect_at(path)


def test_all_dialects_of_the_table_are_among_them() -> None:
    assert {dialect_at(path) for path in OTHERS} | {CHAT} == set(ALL)


def test_the_batches_of_anthropic_name_params(tmp_path: Path) -> None:
    body = OTHERS["/v1/messages"]
    (request,) = read_again(write(tmp_path, {"custom_id": "a", "params": body}))
    assert (request.path, request.body) == ("/v1/messages", body)


@pytest.mark.parametrize("short", ["/chat/completions", "/messages", "/responses"])
def test_urls_may_leave_the_version_away(short: str, tmp_path: Path) -> None:
    body = {"model": "m", "messages": MESSAGES, "input": "hello"}
    (request,) = read_again(write(tmp_path, wrapped("a", url=short, body=body)))
    assert request.path == "/v1" + short


def test_equal_prompts_have_equal_marks_in_every_dialect(tmp_path: Path) -> None:
    document, path = "word " * 2000, "/v1/messages"
    bodies = [
        {"model": "m", "system": [{"type": "text", "text": document}], "messages": [turn]}
        for turn in ({"role": "user", "content": "one"}, {"role": "user", "content": "two"})
    ]
    file = write(tmp_path, *(wrapped(str(n), url=path, body=body) for n, body in enumerate(bodies)))
    one, other = (item.marks for item in read_items(file) if isinstance(item, Item))
    chat = {"messages": [{"role": "system", "content": document}, {"role": "user", "content": "one"}]}
    assert common(one, other) == common(one, marks_of({"model": "m", **chat})) - 1 > 8


def test_texts_that_are_embedded_wait_for_nobody(tmp_path: Path) -> None:
    body = {"model": "m", "input": "word " * 2000}
    (item,) = read_items(write(tmp_path, wrapped("a", url="/v1/embeddings", body=body)))
    assert isinstance(item, Item)
    assert item.marks == b""


def test_a_line_without_end_is_not_held(tmp_path: Path) -> None:
    file = tmp_path / "batch.jsonl"
    file.write_bytes(b"x" * (LONGEST + 3_000_000) + b"\n" + json.dumps(BODY).encode())
    found = list(read_items(file))
    assert isinstance(found[0], Mistake)
    assert "longer" in found[0].message
    assert isinstance(found[1], Item)


def test_a_model_for_those_that_name_none(tmp_path: Path) -> None:
    file = write(tmp_path, {"messages": BODY["messages"]})
    (item,) = read_items(file, "mine")
    assert isinstance(item, Item)
    with file.open("rb") as stream:
        assert read_request(stream, item, "mine").body["model"] == "mine"


def test_a_mark_of_utf_8_at_the_beginning_is_no_mistake(tmp_path: Path) -> None:
    (item,) = read_items(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(BODY).encode()))
    assert isinstance(item, Item)


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, wrapped("a"))
    (item,) = read_items(file)
    assert isinstance(item, Item)
    write(tmp_path, wrapped("b"))
    with file.open("rb") as stream, pytest.raises(SemcacheError, match="line 1 was changed"):
        read_request(stream, item)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SemcacheError, match=r"batch\.jsonl cannot be read"):
        list(read_items(tmp_path / "batch.jsonl"))
