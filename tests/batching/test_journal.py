"""What is answered once is never lost: half lines, other batches, full disks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from semcache.batching.journal import Journal, name_of
from semcache.errors import SemcacheError


@contextmanager
def opened(path: Path, batch: str = "b") -> Iterator[Journal]:
    journal = Journal(path, batch)
    journal.open()
    yield journal
    journal.close(remove=False)


def numbers(file: Path) -> list[object]:
    return [json.loads(line)["n"] for line in file.read_text().splitlines()]


def test_what_was_written_is_there_after_a_crash(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as first, opened(tmp_path / "j") as again:
        first.put(3, {"n": 3})
        first.put(1, {"n": 1})
        assert again.places == {}
        with opened(tmp_path / "j") as last:
            assert set(last.places) == {1, 3}
            last.put(0, {"n": 0})
            last.finish(tmp_path / "out", range(4), {2: {"n": "none"}})
    assert numbers(tmp_path / "out") == [0, 1, "none", 3]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_half_last_line_is_forgotten_and_written_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    with opened(path) as journal:
        journal.put(0, {"n": 0})
        whole = path.stat().st_size
        journal.put(1, {"n": "x" * 10})
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - cut)
    with opened(path) as again:
        assert set(again.places) == {0}
        assert path.stat().st_size == whole
        again.put(1, {"n": 1})
        again.finish(tmp_path / "out", range(2), {})
    assert numbers(tmp_path / "out") == [0, 1]


def test_another_batch_s_journal_is_not_taken(tmp_path: Path) -> None:
    with opened(tmp_path / "j", "one"):
        pass
    with pytest.raises(SemcacheError, match="belongs to another"), opened(tmp_path / "j", "other"):
        pass


def test_it_goes_when_nothing_is_left(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        journal.close(remove=True)
    assert not (tmp_path / "j").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SemcacheError, match="cannot be used"), opened(tmp_path / "no" / "j"):
        pass


def test_a_full_disk_is_told_and_how_to_go_on(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal, Path("/dev/full").open("wb", buffering=0) as full:
        assert journal._stream is not None
        journal._stream.close()
        journal._stream = full
        with pytest.raises(SemcacheError, match="run the same command again"):
            journal.put(0, {"n": 0})


def test_a_batch_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("one")
    assert name_of(tmp_path / "a", "m") == name_of(tmp_path / "b", "m")
    assert name_of(tmp_path / "a", "m") != name_of(tmp_path / "a", "n")
