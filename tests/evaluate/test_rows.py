"""Labelled files are read, or refused with file and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semcache.errors import SemcacheError
from semcache.evaluate.rows import MAX_LINE, Labelled, Pair, read_chats, read_labelled, read_pairs

GOOD: dict[Callable[[Path], Any], dict[str, Any]] = {
    read_pairs: {"a": "How?", "b": "Why?", "same": False},
    read_chats: {
        "turns_a": [{"role": "user", "content": "How?"}],
        "turns_b": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How?"}],
        "same": True,
    },
    read_labelled: {"text": "How?", "cls": "how"},
}


def write(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def refusal(read: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(SemcacheError) as error:
        read(path)
    return str(error.value)


def test_pairs(tmp_path: Path) -> None:
    path = write(tmp_path, {**GOOD[read_pairs], "category": "negation", "domain": "medical", "style": "x"})
    (found,) = read_pairs(path)
    assert found == Pair(
        ({"role": "user", "content": "How?"},), ({"role": "user", "content": "Why?"},), False, "negation", "medical"
    )  # fmt: skip


def test_chats_keep_roles_and_order(tmp_path: Path) -> None:
    (found,) = read_chats(write(tmp_path, GOOD[read_chats]))
    assert [message["role"] for message in found.second] == ["system", "user"]
    assert found.same
    assert found.category == ""


def test_classes_may_be_numbers(tmp_path: Path) -> None:
    assert read_labelled(write(tmp_path, {"text": "How?", "cls": 7})) == [Labelled("How?", "7")]


@pytest.mark.parametrize("read", GOOD)
def test_byte_order_marks_blank_lines_and_missing_ends_are_let_be(
    tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / "rows.jsonl"
    row = json.dumps(GOOD[read]).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\n  \n" + row)
    assert len(read(path)) == 2


@pytest.mark.parametrize(
    ("read", "missing"),
    [(read, name) for read, row in GOOD.items() for name in row],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_a_missing_key_is_told_with_its_line(
    tmp_path: Path, read: Callable[[Path], Any], missing: str
) -> None:
    broken = {name: value for name, value in GOOD[read].items() if name != missing}
    told = refusal(read, write(tmp_path, GOOD[read], broken))
    assert "rows.jsonl:2: has no" in told
    assert repr(missing) in told


@pytest.mark.parametrize(
    ("read", "changes", "words"),
    [
        (read_pairs, {"a": 5}, "'a' should be a text"),
        (read_pairs, {"b": None}, "'b' should be a text"),
        (read_pairs, {"same": 1}, "'same' should be true or false"),
        (read_pairs, {"same": "false"}, "'same' should be true or false"),
        (read_pairs, {"category": ["x"]}, "'category' should be a text"),
        (read_pairs, {"domain": 3}, "'domain' should be a text"),
        (read_labelled, {"cls": True}, "'cls' should be a text or a number"),
        (read_labelled, {"cls": None}, "'cls' should be a text or a number"),
        (read_chats, {"turns_a": []}, "'turns_a' should be a list of messages"),
        (read_chats, {"turns_b": "How?"}, "'turns_b' should be a list of messages"),
        (read_chats, {"turns_b": [{"role": "user"}]}, "turns_b[0] should be an object with"),
        (read_chats, {"turns_b": ["How?"]}, "turns_b[0] should be an object with"),
        (read_chats, {"turns_a": [{"role": 1, "content": "How?"}]}, "turns_a[0] should be an object with"),
    ],
)
def test_wrong_kinds_are_told_with_their_line(
    tmp_path: Path, read: Callable[[Path], Any], changes: dict[str, Any], words: str
) -> None:
    told = refusal(read, write(tmp_path, {**GOOD[read], **changes}))
    assert "rows.jsonl:1: " in told
    assert words in told
    assert "How?" not in told, "no question is repeated in a message"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no rows"),
        (b"\n\n", "holds no rows"),
        (b"[1]\n", ":1: should be a JSON object"),
        (b'{"a": "x"\n', ":1: is not JSON"),
        (b"{}\n\xff\xfe\n", ":1: has no 'a'"),
        (b'{"a": "x", "b": "y", "same": true}\n\xff\xfe\n', ":2: is not UTF-8 text"),
        (b'{"a": "\\ud800", "b": "y", "same": true}\n', ":1: is not JSON"),
        (b'{"a": NaN}\n', ":1: is not JSON"),
        (b"[" * 100_000 + b"\n", ":1: is not JSON"),
    ],
)  # fmt: skip
def test_broken_files(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    assert words in refusal(read_pairs, path)


def test_a_huge_line_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json.dumps({**GOOD[read_pairs], "a": "x" * MAX_LINE}).encode())
    assert "rows.jsonl:1: is longer than 4 MiB" in refusal(read_pairs, path)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(read_pairs, tmp_path / "missing.jsonl")
    assert "is no file" in refusal(read_pairs, tmp_path)
