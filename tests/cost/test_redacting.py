"""A name goes out of raw rows in every form; rows, money and other names stay."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
from pathlib import Path

import pytest

from semcache.cost.parquet import write_parquet
from semcache.cost.plain import dumped
from semcache.cost.redacting import redact
from semcache.cost.row_fields import Row, filled
from semcache.cost.row_reader import read_rows

ANNS = [
    {"tenant": "acme", "id": "1", "at": 1.0, "project": "ann", "cost": 5},
    {"tenant": "acme", "id": "2", "at": 2.0, "labels": '{"customer":"ann","floor":"3"}', "cost": 6},
    {"tenant": "acme", "id": "3", "at": 3.0, "key": "ann", "task": "ann", "cost": None},
]
OTHERS = [
    {"tenant": "acme", "id": "4", "at": 4.0, "project": "anna", "labels": '{"customer":"bob"}', "cost": 7},
    {"tenant": "other", "id": "5", "at": 5.0, "project": "ann", "cost": 8},
]
ROWS: list[Row] = [*ANNS, *OTHERS]


def write(folder: Path, form: str) -> Path:
    path = folder / f"w-20260101T000000.000Z{form}"
    lines = b"".join(map(dumped, ROWS))
    match form:
        case ".parquet":
            write_parquet(path, map(filled, ROWS))
        case ".jsonl.gz":
            path.write_bytes(gzip.compress(lines))
        case _:
            path.write_bytes(lines + b'{"tenant":"acme","project":"ann"')
    return path


def is_ann(text: str) -> bool:
    return text == "ann"


@pytest.mark.parametrize("form", [".jsonl", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("name", ["", "ann"])
def test_the_name_goes_and_the_row_stays(tmp_path: Path, form: str, name: str) -> None:
    path = write(tmp_path, form)
    before = path.read_bytes()
    assert redact(tmp_path, "acme", is_ann, remove=False, name=name).rows == 3
    assert path.read_bytes() == before, "counting changes nothing"
    done = redact(tmp_path, "acme", is_ann, remove=True, name=name)
    assert (done.rows, done.left) == (3, [])
    rows = list(read_rows(tmp_path))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row["cost"] for row in rows] == [5, 6, None, 7, 8]
    assert json.loads(str(rows[1]["labels"]))["floor"] == "3"
    assert not {"ann"} & {value for row in rows[:3] for value in row.values()}
    assert "ann" not in str(rows[1]["labels"])
    assert (rows[3]["project"], rows[4]["project"]) == ("anna", "ann")
    assert redact(tmp_path, "acme", is_ann, remove=True).rows == 0
    assert {one.name for one in tmp_path.iterdir()} == {path.name, ".keeping"}


def test_a_file_is_changed_under_the_hands_of_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "w-20260101T000000.000Z.jsonl"
    writer = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    fcntl.flock(writer, fcntl.LOCK_EX)
    os.write(writer, dumped(ANNS[0]) + dumped(OTHERS[0]))
    assert redact(tmp_path, "acme", is_ann, remove=True).rows == 1
    os.write(writer, dumped(OTHERS[1]))
    os.close(writer)
    assert [row["id"] for row in read_rows(tmp_path)] == ["1", "4", "5"]
    assert b'"ann"' not in path.read_bytes().replace(dumped(OTHERS[1]), b"")


def test_odd_files_are_told_and_keep_nothing_from_being_done(tmp_path: Path) -> None:
    write(tmp_path, ".jsonl")
    (tmp_path / "x-20250101T000000.000Z.parquet").write_bytes(b"no parquet")
    (tmp_path / "y-20250101T000000.000Z.jsonl").write_bytes(b'{"tenant":"acme","labels":"{"}\n[]\n\xff\n')
    (tmp_path / "stranger").write_bytes(b'{"tenant":"acme","project":"ann"}\n')
    done = redact(tmp_path, "acme", is_ann, remove=True)
    assert done.rows == 3
    assert [one.split(":")[0] for one in done.left] == ["x-20250101T000000.000Z.parquet"]
    assert redact(tmp_path / "none", "acme", is_ann, remove=True).rows == 0


def test_a_short_name_leaves_no_room_for_a_word(tmp_path: Path) -> None:
    row = {"tenant": "acme", "project": "a"}
    (tmp_path / "w-20260101T000000.000Z.jsonl").write_bytes(dumped(row))
    assert redact(tmp_path, "acme", lambda text: text == "a", remove=True).rows == 1
    assert b'"~"' in (tmp_path / "w-20260101T000000.000Z.jsonl").read_bytes()


@pytest.mark.parametrize("name", ['a"nn', "a\\nn", "名 and \x1f", "Ann Ö"])
def test_names_that_json_spells_in_its_own_way_are_found_too(tmp_path: Path, name: str) -> None:
    row = {"tenant": "acme", "labels": dumped({"customer": name}).decode().rstrip()}
    (tmp_path / "w-20260101T000000.000Z.jsonl").write_bytes(dumped(row))
    assert redact(tmp_path, "acme", lambda text: text == name, remove=True, name=name).rows == 1
    assert redact(tmp_path, "acme", lambda text: text == name, remove=True, name=name).rows == 0
