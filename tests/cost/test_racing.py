"""A writer, a packer and a reader at once, whoever comes first: no row is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from semcache.cost import rows as writing
from semcache.cost import segments as listing
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.row_reader import read_rows
from semcache.cost.rows import RowFiles
from tests.cost.told import NOON, HandClock, Heard

LINE = b'{"at": %d, "tenant": "t"}\n' % NOON


def keeper(folder: Path) -> Keeper:
    return Keeper(folder, KeepRules("jsonl"), HandClock(NOON), Heard())


def count(folder: Path) -> int:
    return sum(1 for _ in read_rows(folder))


@contextmanager
def always_packing(folder: Path) -> Iterator[None]:
    stopping = threading.Event()

    def pack() -> None:
        while not stopping.is_set():
            keeper(folder).tidy()

    thread = threading.Thread(target=pack)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


@pytest.mark.parametrize("step", [0.0, 0.01], ids=["the clock stands", "the clock goes on"])
def test_what_is_written_while_files_are_packed_is_there(tmp_path: Path, step: float) -> None:
    for turn in range(5):
        folder, clock = tmp_path / str(turn), HandClock(NOON)
        out = RowFiles(folder, "w", len(LINE), clock, Heard())
        with always_packing(folder):
            for written in range(40):
                assert count(folder) >= written - 1, "all but the newest were on disk before"
                clock.at += step
                out.write([LINE])
            out.close()
        assert count(folder) == 40


def test_a_name_whose_packed_form_is_there_is_not_used_again(tmp_path: Path) -> None:
    out = RowFiles(tmp_path, "w", len(LINE), HandClock(NOON), Heard())
    for _ in range(3):
        out.write([LINE])
        keeper(tmp_path).tidy()
    out.close()
    keeper(tmp_path).tidy()
    assert count(tmp_path) == 3


def test_a_file_that_was_deleted_before_it_was_locked_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, packed = writing.lock, []

    def late(file: int) -> bool:
        if not packed:
            packed.append(file)
            keeper(tmp_path).tidy()
        return lock(file)

    monkeypatch.setattr(writing, "lock", late)
    out = RowFiles(tmp_path, "w", 1 << 20, HandClock(NOON), Heard())
    out.write([LINE])
    out.close()
    assert packed
    assert count(tmp_path) == 1


def test_a_file_that_was_empty_when_it_was_listed_is_packed_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = RowFiles(tmp_path, "w", 1 << 20, HandClock(NOON), Heard())
    out.write([LINE])
    listed = listing.files(tmp_path)
    out.close()
    empty = [listing.Segment(one.path, one.stem, one.begins, one.form, 0) for one in listed]
    monkeypatch.setattr("semcache.cost.keeping.files", lambda _: empty)
    keeper(tmp_path).tidy()
    assert count(tmp_path) == 1
    assert not empty[0].path.exists()


def test_a_file_that_is_packed_while_the_folder_is_read_is_found_under_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = RowFiles(tmp_path, "w", 1 << 20, HandClock(NOON), Heard())
    out.write([LINE])
    out.close()
    scandir, read = os.scandir, []

    @contextmanager
    def slow(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(folder) as entries:
            seen = list(entries)
        read.append(folder)
        if len(read) == 1:
            keeper(tmp_path).tidy()
        yield seen

    monkeypatch.setattr(listing.os, "scandir", slow)
    assert count(tmp_path) == 1
    assert len(read) > 2
