"""Batch files as people have them, and as they should not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semcache.batching.lines import LONGEST, Item, Mistake, read_items, read_request
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
        (wrapped("a", url="/v1/embeddings"), "url"),
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
