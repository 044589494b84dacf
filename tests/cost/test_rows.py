"""The writer of rows: files of a bounded size, for their owner alone, and a disk that fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from semcache.cost import rows as rows_module
from semcache.cost.rows import RowFiles
from semcache.cost.segments import files, held, name_of, segments
from tests.cost.told import DAY, NOON, HandClock, Heard

LINE = b'{"at":1}\n'


def writer(folder: Path, clock: HandClock, heard: Heard, rotate: int = 1000) -> RowFiles:
    return RowFiles(folder, "w-1", rotate, clock, heard)


def test_lines_are_written_as_they_come_for_the_owner_alone(tmp_path: Path) -> None:
    heard, folder = Heard(), tmp_path / "data" / "ledger"
    out = writer(folder, HandClock(), heard)
    out.write([])
    assert not folder.exists()
    out.write([LINE, LINE])
    out.write([LINE])
    path = out.path
    assert path is not None
    assert path.read_bytes() == LINE * 3
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert heard.rows_ == {"written": 3}
    with held(path) as ours:
        assert not ours
    out.close()
    out.close()
    with held(path) as ours:
        assert ours
    assert heard.segments_ == {"closed": 1}


def test_a_full_file_is_closed_and_another_begun(tmp_path: Path) -> None:
    clock, heard = HandClock(), Heard()
    out = writer(tmp_path, clock, heard, rotate=20)
    for _ in range(5):
        clock.at += 1
        out.write([LINE, LINE])
    out.close()
    assert [file.size // len(LINE) for file in files(tmp_path)] == [4, 4, 2]
    assert heard.segments_ == {"closed": 3}


def test_one_flush_of_much_is_cut_into_files(tmp_path: Path) -> None:
    # Each has a name of its own however fast they follow each other.
    out = writer(tmp_path, HandClock(), Heard(), rotate=3 * len(LINE))
    out.write([LINE] * 10)
    out.close()
    assert [file.size // len(LINE) for file in files(tmp_path)] == [3, 3, 3, 1]


def test_a_file_ends_with_its_day(tmp_path: Path) -> None:
    clock = HandClock()
    out = writer(tmp_path, clock, Heard())
    out.write([LINE])
    clock.at += DAY / 2 - 1
    out.write([LINE])
    clock.at += 2
    # Also when nothing comes any more.
    out.write([])
    assert out.path is None
    out.write([LINE])
    out.close()
    assert [file.size // len(LINE) for file in files(tmp_path)] == [2, 1]


def test_writers_have_files_of_their_own(tmp_path: Path) -> None:
    one, other = (RowFiles(tmp_path, name, 100, HandClock(), Heard()) for name in ("a", "b"))
    one.write([LINE])
    other.write([LINE])
    assert len(files(tmp_path)) == 2


def test_two_of_one_name_at_one_moment_never_write_one_file(tmp_path: Path) -> None:
    clock = HandClock()
    one, other = writer(tmp_path, clock, Heard()), writer(tmp_path, clock, Heard())
    one.write([LINE])
    other.write([LINE, LINE])
    assert [file.size for file in files(tmp_path)] == [len(LINE), 2 * len(LINE)]


def test_what_cannot_be_written_at_the_end_is_lost_and_counted(tmp_path: Path) -> None:
    heard = Heard()
    (tmp_path / "file").write_text("")
    out = writer(tmp_path / "file", HandClock(), heard)
    out.write([LINE] * 3)
    out.close()
    out.close()
    assert heard.rows_ == {"lost": 3}
    # At the end there is no waiting for another try.
    (tmp_path / "file").unlink()
    out.write([LINE])
    out.close()
    assert heard.rows_ == {"lost": 3, "written": 1}


def test_a_folder_that_cannot_be_made_costs_nothing_but_rows(tmp_path: Path) -> None:
    clock, heard = HandClock(), Heard()
    (tmp_path / "file").write_text("")
    out = writer(tmp_path / "file" / "ledger", clock, heard)
    for _ in range(3):
        out.write([LINE])
    assert heard.segments_ == {"failed": 1}
    (tmp_path / "file").unlink()
    clock.at += 6
    out.write([])
    assert heard.rows_ == {"written": 3}


def test_what_waits_is_bounded_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_MOST_WAITING", 4 * len(LINE))
    clock, heard = HandClock(), Heard()
    (tmp_path / "file").write_text("")
    out = writer(tmp_path / "file", clock, heard)
    out.write([LINE] * 10)
    assert heard.rows_ == {"lost": 6}


def test_a_full_disk_leaves_half_a_line_and_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, heard = HandClock(), Heard()
    out = writer(tmp_path, clock, heard)
    out.write([LINE])
    first = out.path
    room = 2 * len(LINE) + 3
    real = os.write

    def full(file: int, data: bytes) -> int:
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = real(file, bytes(data)[:room])
        room -= done
        return done

    monkeypatch.setattr(os, "write", full)
    out.write([LINE] * 4)
    assert first is not None
    assert first.read_bytes() == LINE * 3 + LINE[:3]
    assert heard.rows_ == {"written": 3}
    clock.at += 1
    out.write([LINE])
    assert heard.segments_["failed"] == 1
    # Still full after a while: no empty files pile up.
    clock.at += 6
    out.write([])
    assert len(files(tmp_path)) == 1
    monkeypatch.setattr(os, "write", real)
    clock.at += 6
    out.write([])
    out.close()
    assert heard.rows_ == {"written": 6}
    assert [file.size for file in files(tmp_path)] == [3 * len(LINE) + 3, 3 * len(LINE)]


def test_who_is_told_of_a_closed_file(tmp_path: Path) -> None:
    calls: list[int] = []
    out = RowFiles(tmp_path, "w", 5, HandClock(), Heard(), closed=lambda: calls.append(1))
    out.write([LINE])
    assert calls == [1]


@pytest.mark.parametrize("writer_name", ["a-b/../c", "名", "", "x" * 500, "."])
def test_names_of_files_are_plain(tmp_path: Path, writer_name: str) -> None:
    name = name_of(writer_name, NOON + 0.1234)
    (tmp_path / name).write_bytes(LINE)
    (found,) = files(tmp_path)
    assert found.path.name == name
    assert abs(found.begins - NOON - 0.123) < 0.002


def test_only_files_of_rows_are_looked_at(tmp_path: Path) -> None:
    stem = name_of("w", NOON).removesuffix(".jsonl")
    for name in ("notes.jsonl", f"{stem}.csv", f".packing-{stem}.parquet", "w-20269999T999999.000Z.jsonl"):
        (tmp_path / name).write_text("x")
    (tmp_path / f"{stem}.parquet").mkdir()
    (tmp_path / f"{stem}.jsonl").symlink_to(tmp_path / "notes.jsonl")
    assert files(tmp_path) == []
    assert files(tmp_path / "absent") == []


def test_of_two_forms_the_packed_one_holds(tmp_path: Path) -> None:
    stem = name_of("w", NOON).removesuffix(".jsonl")
    for form in (".jsonl", ".parquet"):
        (tmp_path / f"{stem}{form}").write_text("x")
    assert [segment.form for segment in segments(tmp_path)] == [".parquet"]
