"""Files of every condition: what can be read is read in time order, what cannot is named with file and line, memory stays flat."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import sys
import threading
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semcache.advise import forms, reading
from semcache.advise.reading import read_logs
from semcache.advise.rows import LogRow, Skipped, Watcher
from semcache.core import Usage
from tests.advise.reading_parts import read, row_line, text_of, written
from tests.advise.reading_texts import GOOD, NOON, texts

HOSTILE = (
    ("half a line at the end", GOOD + '{"model": "m", "messages": [{"role"', 1, "2: is not JSON, or cut"),
    ("half a line in front", 'er", "content": "x"}]}\n' + GOOD, 1, "1: is not JSON, or cut"),
    (
        "a line of another program",
        GOOD + "Traceback (most recent call last):\n" + GOOD,
        2,
        "2: is not JSON, or cut",
    ),
    ("a number", GOOD + "42\n", 1, "2: is neither an object nor a text"),
    ("an object of another kind", GOOD + '{"level": "info", "msg": "started"}\n', 1, "2: has no field"),
    ("no messages", GOOD + '{"messages": []}\n', 1, "2: holds no messages"),
    (
        "messages without roles",
        GOOD + '{"messages": [{"content": "x"}]}\n',
        1,
        "2: has a message that is no object",
    ),
    ("messages that are texts", GOOD + '{"messages": ["x"]}\n', 1, "2: has a message that is no object"),
    (
        "only answers",
        GOOD + '{"messages": [{"role": "assistant", "content": "x"}]}\n',
        1,
        "2: holds only what",
    ),
    ("zero bytes", GOOD + '{"messages": \0}\n', 1, "2: holds zero bytes"),
    (
        "deep nesting",
        GOOD + '{"messages": [{"role": "user", "content": ' + "[" * 5000 + "]" * 5000 + "}]}\n",
        1,
        "2: is nested",
    ),
    ("deeper nesting, unclosed", GOOD + "[" * 100_000 + "\n", 1, "2: is n"),
    (
        "nesting just above",
        GOOD + '{"messages": [{"role": "user", "content": ' + "[" * 98 + "]" * 98 + "}]}\n",
        1,
        "2: is nested",
    ),
)


@pytest.mark.parametrize(("what", "text", "rows", "told"), HOSTILE, ids=[case[0] for case in HOSTILE])
def test_what_cannot_be_read_is_named_and_the_rest_counts(
    what: str, text: str, rows: int, told: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "log.jsonl", text)
    found, report = read(path)
    assert len(found) == rows, what
    assert report.skipped == 1
    assert report.examples[0].startswith(f"{path}:{told}")


READABLE = (
    (
        "not a number",
        '{"ts": NaN, "cost": -Infinity, "usage": {"prompt_tokens": NaN}, "messages": [{"role": "user", "content": "x"}]}',
    ),
    (
        "negative",
        '{"ts": -5, "cost": -1, "latency_ms": -3, "usage": {"prompt_tokens": -1, "completion_tokens": -2}, "messages": [{"role": "user", "content": "x"}]}',
    ),
    (
        "huge numbers",
        '{"ts": 1e999, "cost": 1e300, "latency_ms": 9e99, "messages": [{"role": "user", "content": "x"}], "n": '
        + "9" * 300
        + "}",
    ),
    (
        "wrong types",
        '{"ts": [], "cost": {}, "usage": 7, "user": {}, "model": 5, "labels": "x", "metadata": [], "messages": [{"role": "user", "content": "x"}]}',
    ),
    ("equal keys", '{"messages": [], "messages": [{"role": "user", "content": "x"}]}'),
    ("a lone surrogate", '{"messages": [{"role": "user", "content": "x"}], "note": "\\ud800"}'),
    ("an escaped zero", '{"messages": [{"role": "user", "content": "x"}], "note": "\\u0000"}'),
    ("no content", '{"messages": [{"role": "user", "content": null}, {"role": "user", "content": "x"}]}'),
)


@pytest.mark.parametrize(("what", "line"), READABLE, ids=[case[0] for case in READABLE])
def test_senseless_fields_do_not_cost_the_row(what: str, line: str, tmp_path: Path) -> None:
    rows, report = read(written(tmp_path, "log.jsonl", line + "\n"))
    assert (len(rows), report.skipped) == (1, 0), what
    row = rows[0]
    assert text_of(row) == "x"
    assert (row.at, row.cost, row.usage, row.seconds) == (None, None, None, None)
    json.dumps(row.body).encode()  # no half letters are left
    assert "\\ud800" not in json.dumps(row.body)


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    good = written(tmp_path, "good.jsonl", GOOD)
    files = [
        tmp_path / "missing",
        tmp_path,
        written(tmp_path, "empty.jsonl", ""),
        written(tmp_path, "blank.jsonl", "\n \n"),
        written(tmp_path, "table.parquet", b"PAR1\0\0\0\0"),
        written(tmp_path, "packed.zip", b"PK\x03\x04 and more"),
        written(tmp_path, "packed.zst", b"\x28\xb5\x2f\xfd and more"),
        written(tmp_path, "binary", bytes(range(256)) * 8),
        written(tmp_path, "prose", "Once upon a time.\nThere was a cache.\n"),
        written(tmp_path, "other.csv", "a,b\n1,2\n"),
        written(tmp_path, "cut.gz", gzip.compress(b"")[:12]),
        good,
    ]
    rows, report = read(*files)
    assert len(rows) == 1
    told = "\n".join(report.examples)
    for name, why in (
        ("missing", "there is no such file"),
        (f"{tmp_path}:", "is a directory"),
        ("empty.jsonl", "is empty"),
        ("blank.jsonl", "is empty"),
        ("table.parquet", "Parquet file that is damaged"),
        ("packed.zip", "unpack it first"),
        ("packed.zst", "zstd -d"),
        ("binary", "holds no text"),
        ("prose", "in no form that is known"),
        ("other.csv:1", "names no column"),
        ("cut.gz", "damaged"),
    ):
        assert any(name in line and why in line for line in report.examples), f"{name}: {told}"
    assert report.skipped == len(files) - 1


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "locked.jsonl", GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    _, report = read(path)
    assert "cannot be read" in report.examples[0]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_packed_files_are_known_by_their_first_bytes(pack: object, tmp_path: Path) -> None:
    path = written(tmp_path, "log.jsonl", pack((GOOD * 3).encode()))  # type: ignore[operator]  # a compressor
    assert texts(path) == ["good"] * 3


def test_a_parquet_file_is_read_row_by_row(tmp_path: Path) -> None:
    usage = pa.map_(pa.string(), pa.int64())
    columns = {
        "trace_id": pa.array(["t", "t"]),
        "type": pa.array(["GENERATION", "SPAN"]),
        "start_time": pa.array([datetime(2026, 1, 2, 12), None], pa.timestamp("us")),  # noqa: DTZ001 - as exports are
        "provided_model_name": pa.array(["m", ""]),
        "input": pa.array(['[{"role": "user", "content": "good"}]', ""]),
        "output": pa.array(["answer", ""]),
        "usage_details": pa.array([{"input": 20, "output": 4}, None], usage),
        "total_cost": pa.array([0.0001, float("nan")]),
    }
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), path)
    rows, report = read(path)
    assert [text_of(row) for row in rows] == ["good"]
    assert (rows[0].at, rows[0].usage, rows[0].cost) == (NOON, Usage(20, 4), 100)
    assert report.files[0].sources == (("langfuse", 1),)
    assert report.skipped == 1
    path.write_bytes(path.read_bytes()[:-200])
    assert "damaged" in read(path)[1].examples[0]


def test_what_comes_before_the_damage_of_a_packed_file_is_read(tmp_path: Path) -> None:
    lines = "".join(row_line(NOON + n, random.Random(n).randbytes(200).hex()) for n in range(2000))
    packed = gzip.compress(lines.encode())
    rows, report = read(written(tmp_path, "log.jsonl.gz", packed[: len(packed) // 2]))
    assert 500 < len(rows) < 1500
    assert any("damaged" in line for line in report.examples)


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("utf-16-le", ""),
        ("utf-16-be", ""),
        ("utf-32", ""),
        ("utf-16-le", "\ufeff"),
    ],
)
def test_encodings(encoding: str, mark: str, tmp_path: Path) -> None:
    line = row_line(NOON, "Wo ist das Café?").encode().decode("unicode_escape")
    path = written(tmp_path, "log.jsonl", (mark + line * 2).encode(encoding))
    assert texts(path) == ["Wo ist das Café?"] * 2


def test_lines_of_another_encoding_among_good_ones(tmp_path: Path) -> None:
    line = '{"messages": [{"role": "user", "content": "Café"}]}\n'
    data = (
        line.encode()
        + line.encode("latin-1")
        + b'{"messages": [{"role": "user", "content": "\xff\xfe\x81"}]}\n'
    )
    assert texts(written(tmp_path, "log.jsonl", data))[:2] == ["Café", "Café"]
    assert len(texts(tmp_path / "log.jsonl")) == 3


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(GOOD * 2))
    writer.start()
    assert texts(pipe) == ["good"] * 2
    writer.join()


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress((GOOD * 2).encode()))

    monkeypatch.setattr(sys, "stdin", Stdin())
    rows, report = read(Path("-"))
    assert [text_of(row) for row in rows] == ["good"] * 2
    assert rows[0].file == report.files[0].name == "standard input"


def test_long_first_lines_are_lines_all_the_same(tmp_path: Path) -> None:
    long = row_line(NOON, "x" * 200_000)
    path = written(tmp_path, "log.jsonl", long + '{"half": "' + "\n" + GOOD)
    rows, report = read(path)
    assert report.files[0].form == "jsonl"
    assert (len(rows), report.skipped) == (2, 1)


def test_a_form_may_be_said(tmp_path: Path) -> None:
    odd = written(tmp_path, "odd", "What is this?\nAnd that?\n")
    assert texts(odd) == []
    assert texts(odd, form="prompts") == texts(odd, form="text") == ["What is this?", "And that?"]
    mixed = written(tmp_path, "mixed.jsonl", GOOD + '{"question": "why"}\n')
    assert texts(mixed) == ["good", "why"]
    assert texts(mixed, form="prompts") == ["why"]
    assert set(forms.FORMATS) >= {"openai", "anthropic", "litellm", "langfuse", "prompts", "jsonl", "csv"}


def test_rows_and_flaws_come_as_they_lie(tmp_path: Path) -> None:
    path = written(tmp_path, "log.jsonl", row_line(NOON + 1, "b") + "junk\n" + GOOD)
    found = list(read_logs([path, tmp_path / "none"], Watcher()))
    assert [type(each) for each in found] == [Skipped, LogRow, Skipped, LogRow]
    assert str(found[2]) == f"{path}:2: is not JSON, or cut"


def test_reasons_never_hold_text_of_the_log(tmp_path: Path) -> None:
    secret = "my-secret-token"
    lines = f'{{"{secret}": 1}}\n{{"messages": ["{secret}"]}}\n{{"a": {secret}\n"{secret}\n'
    _, report = read(written(tmp_path, "log.jsonl", lines))
    assert report.skipped
    assert secret not in repr(report)


def test_progress_ends_at_the_size_of_the_files(tmp_path: Path) -> None:
    class Counting(Watcher):
        total = done = 0

        def stage(self, name: str, total: int) -> None:
            self.total, self.done = total, 0

        def advance(self, steps: int = 1) -> None:
            self.done += steps

    path, told = written(tmp_path, "log.jsonl", GOOD * 100), Counting()
    with reading.opened_logs([path], told) as logs:
        assert told.done == told.total == path.stat().st_size
        told.stage("rows", 100)
        assert len(list(logs.rows(told))) == told.done == 100
