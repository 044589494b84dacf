"""Files that grow, vanish, break or are large while they are read."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from semcache.advise import forms, reading, splitting
from semcache.advise.ordering import Place, Places
from semcache.advise.rows import Watcher
from semcache.errors import SemcacheError
from tests.advise.reading_parts import read, row_line, written
from tests.advise.reading_texts import GOOD, NOON


def test_a_log_may_grow_while_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "log.jsonl", GOOD)
    with reading.opened_logs([path], Watcher()) as logs:
        with path.open("a") as file:
            file.write(GOOD)
        assert len(list(logs.rows(Watcher()))) == 1


@pytest.mark.parametrize("straight", [True, False])
def test_a_file_that_vanishes_between_two_readings_ends_in_a_clear_error(
    straight: bool, tmp_path: Path
) -> None:
    text = GOOD + row_line(NOON + 1, "b") if straight else row_line(NOON + 1, "b") + GOOD
    path = written(tmp_path, "log.jsonl", text)
    with reading.opened_logs([path], Watcher()) as logs:
        path.unlink()
        with pytest.raises(SemcacheError, match="cannot be read any further"):
            list(logs.rows(Watcher()))


def test_a_disk_that_breaks_on_the_way_costs_what_lies_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(file: io.BufferedReader, form: object, start: int) -> Iterator[object]:
        yield from islice(splitting.records(file, form, start), 2)  # type: ignore[arg-type]  # a form
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(forms, "records", breaking)
    rows, report = read(written(tmp_path, "log.jsonl", GOOD * 5))
    assert len(rows) == 2
    assert report.examples == (f"{tmp_path}/log.jsonl: {forms.BROKEN}",)


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(tmp_path, run=2)
    places.close()
    monkeypatch.setattr(places, "_file", Full())
    places.add(1.0, Place(0, 0, 1, 1))
    with pytest.raises(SemcacheError, match="No space left"):
        places.add(2.0, Place(0, 1, 1, 2))


class Full(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


MEASURED = """
import resource, sys
from pathlib import Path
from semcache.advise.reading import opened_logs
from semcache.advise.rows import Watcher
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with opened_logs([Path(sys.argv[1])], Watcher()) as logs:
    rows = sum(1 for _ in logs.rows(Watcher()))
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""


def measured(path: Path) -> tuple[int, int]:
    """Rows read, and MiB that reading took at most, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True, timeout=900
    )
    rows, grown = done.stdout.split()
    return int(rows), int(grown)


def grown_file(path: Path, mebibytes: int, form: str) -> int:
    """Write a log of this size, in reversed time order; gives its rows."""
    size, rows = 0, 0
    body = "x" * 2000
    with path.open("w") as file:
        file.write("[" if form == "json" else "")
        while size < mebibytes << 20:
            line = row_line(NOON - rows, f"{rows} {body}")
            size += file.write(("," if form == "json" and rows else "") + line)
            rows += 1
        file.write("]" if form == "json" else "")
    return rows


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{form}"
    wanted = grown_file(path, 24, form)
    rows, grown = measured(path)
    assert rows == wanted
    assert grown < 16, "MiB, less than the file"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json"])
@pytest.mark.timeout(900)
def test_memory_does_not_grow_with_a_large_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{form}"
    wanted = grown_file(path, 300, form)
    rows, grown = measured(path)
    assert rows == wanted
    assert grown < 60, "MiB: one run of places"
