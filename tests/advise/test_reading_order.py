"""Rows of a log come in the order of time, however they lie in their files."""

from __future__ import annotations

import json
import random
import resource
from pathlib import Path

import pytest

from semcache.advise import reading
from semcache.advise.ordering import Place, Places
from tests.advise.reading_parts import read, row_line, text_of, written
from tests.advise.reading_texts import GOOD, NOON, texts


def test_rows_come_in_time_order_however_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "Places", lambda folder: Places(folder, run=7))  # several runs to merge
    times = random.Random(3).sample(range(NOON, NOON + 1000), 90)
    files = [
        written(tmp_path, "a.jsonl", "".join(row_line(at, str(at)) for at in times[:30])),
        written(tmp_path, "b.json", json.dumps([json.loads(row_line(at, str(at))) for at in times[30:60]])),
        written(tmp_path, "c.csv", "ts,prompt\n" + "".join(f'{at},"{at}"\n' for at in times[60:])),
    ]
    rows, report = read(*files)
    assert [int(text_of(row)) for row in rows] == sorted(times)
    assert (report.order, report.sorted, report.untimed) == ("time", True, 0)
    assert (report.first, report.last) == (min(times), max(times))


def test_a_file_a_request_may_be_thousands(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = [
        written(
            tmp_path, f"{number}.json", json.dumps(json.loads(row_line(NOON - number, str(number))), indent=1)
        )
        for number in range(200)
    ]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(150, hard), hard))
    try:
        rows, report = read(*files)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [text_of(row) for row in rows] == [str(number) for number in reversed(range(200))]
    assert len(report.files) == 200


def test_objects_without_a_break_between_them(tmp_path: Path) -> None:
    path = written(tmp_path, "all.json", GOOD.strip() * 3)
    assert texts(path) == ["good"] * 3


def test_rows_in_order_are_read_straight_through(tmp_path: Path) -> None:
    rows, report = read(written(tmp_path, "a.jsonl", GOOD + row_line(NOON + 1, "later")))
    assert not report.sorted
    assert [row.line for row in rows] == [1, 2]


def test_rows_without_a_time_stay_where_they_stood(tmp_path: Path) -> None:
    lines = [(NOON + 9, "d"), (None, "e"), (NOON, "a"), (None, "b"), (NOON + 5, "c")]
    rows, report = read(written(tmp_path, "a.jsonl", "".join(row_line(at, text) for at, text in lines)))
    assert [text_of(row) for row in rows] == ["a", "b", "c", "d", "e"]
    assert report.untimed == 2
    _, report = read(written(tmp_path, "b.jsonl", row_line(None, "x") * 3))
    assert (report.order, report.sorted, report.first) == ("file", False, None)


def test_equal_times_keep_the_order_of_files_and_lines(tmp_path: Path) -> None:
    first = written(tmp_path, "z.jsonl", row_line(NOON + 1, "3") + row_line(NOON, "1"))
    second = written(tmp_path, "a.jsonl", row_line(NOON, "2") + row_line(NOON + 1, "4"))
    assert texts(first, second) == ["1", "2", "3", "4"]


def test_a_limit_takes_rows_from_the_front(tmp_path: Path) -> None:
    files = [written(tmp_path, name, "junk\n" + GOOD * 5) for name in ("a.jsonl", "b.jsonl")]
    rows, report = read(*files, limit=7)
    assert (len(rows), report.rows, report.limited) == (7, 7, True)
    assert [Path(row.file).name for row in rows] == ["a.jsonl"] * 5 + ["b.jsonl"] * 2


def test_places_are_merged_in_order(tmp_path: Path) -> None:
    rng = random.Random(1)
    wanted = [(rng.randrange(20), number) for number in range(500)]
    places = Places(tmp_path, run=9)
    for time, number in wanted:
        places.add(float(time), Place(0, number, 1, number))
    assert not places.is_sorted
    assert [place.offset for place in places] == [number for _, number in sorted(wanted)]
    assert [place.offset for place in places] == [number for _, number in sorted(wanted)]
    places.close()
