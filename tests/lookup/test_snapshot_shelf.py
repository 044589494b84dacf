"""The shelf of snapshots: old or new whatever happens, one writer, nothing that was refused is used."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcache.errors import VectorIndexError
from semcache.lookup import snapshot_shelf
from semcache.lookup.snapshot_format import Header
from semcache.lookup.snapshot_shelf import Shelf
from tests.lookup.snapshots import HEADER, block, loaded, saved


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def shelf(folder: Path) -> Iterator[Shelf]:
    made = Shelf(folder)
    yield made
    made.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_there_at_first_and_nothing_is_made_by_looking(shelf: Shelf, folder: Path) -> None:
    assert shelf.open() is None
    assert not folder.exists()
    assert shelf.purge()
    assert not folder.exists()


def test_a_newer_one_takes_the_place_of_the_older(folder: Path) -> None:
    for count in (3, 5, 4):
        saved(folder, block(count))
        found = loaded(folder)
        assert found is not None
        assert len(found[1][0].ids) == count
    assert names(folder) == ["3.vectors", "lock", "manifest"]


def test_only_the_owner_can_read_it(folder: Path) -> None:
    saved(folder, block(3))
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def test_who_reads_an_older_one_reads_it_to_its_end(folder: Path, shelf: Shelf) -> None:
    saved(folder, block(3), block(2, seed=1))
    opened = shelf.open()
    assert opened is not None
    saved(folder, block(9))
    assert [len(one.ids) for one in opened.blocks()] == [3, 2]
    opened.close()


def test_one_process_writes_at_a_time(folder: Path, shelf: Shelf) -> None:
    saved(folder, block(3))
    holder = Shelf(folder)
    assert holder.claim()
    assert not shelf.claim()
    assert shelf.draft(HEADER) is None
    assert not shelf.purge()
    shelf.set_aside()
    assert loaded(folder) is not None, "another's snapshot is left alone"
    holder.close()
    assert shelf.claim()
    assert shelf.claim()


def test_a_dead_writers_right_and_leavings_go(folder: Path, shelf: Shelf) -> None:
    saved(folder, block(3))
    code = (
        "import sys, os; from pathlib import Path; from semcache.lookup.snapshot_shelf import Shelf;"
        "from tests.lookup.snapshots import HEADER, block; d = Shelf(Path(sys.argv[1])).draft(HEADER);"
        "d.writer.write(block(50)); d._file.flush(); print('on', flush=True); import time; time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"on\n"
        assert not shelf.claim()
        assert "2.part" in names(folder)
        writer.kill()
    draft = shelf.draft(HEADER)
    assert draft is not None
    draft.writer.write(block(7))
    draft.publish()
    assert names(folder) == ["2.vectors", "lock", "manifest"]


# -- what was changed (26) ------------------------------------------------------------------------


@pytest.mark.event(26)
@pytest.mark.parametrize("name", ["manifest", "1.vectors"])
def test_every_flipped_byte_of_either_file_is_refused(folder: Path, name: str) -> None:
    saved(folder, block(3))
    path = folder / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        raw = bytearray(whole)
        raw[place] ^= 1 << (place % 8)
        path.write_bytes(raw)
        with pytest.raises(VectorIndexError):
            loaded(folder)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(VectorIndexError):
            loaded(folder)
    path.write_bytes(whole)
    assert loaded(folder) is not None


@pytest.mark.event(26)
def test_files_of_two_snapshots_are_no_snapshot(folder: Path) -> None:
    saved(folder, block(3))
    older = (folder / "1.vectors").read_bytes()
    saved(folder, block(3, seed=5))
    (folder / "2.vectors").write_bytes(older)
    with pytest.raises(VectorIndexError):
        loaded(folder)


@pytest.mark.event(26)
def test_a_missing_file_is_refused_and_a_missing_manifest_is_none(folder: Path) -> None:
    saved(folder, block(3))
    (folder / "1.vectors").unlink()
    with pytest.raises(VectorIndexError, match="missing"):
        loaded(folder)
    (folder / "manifest").unlink()
    assert loaded(folder) is None


@pytest.mark.event(26)
def test_what_is_set_aside_is_kept_once_and_not_for_ever(folder: Path, shelf: Shelf) -> None:
    for _ in range(3):
        saved(folder, block(3))
        shelf.set_aside()
        shelf.close()
        assert loaded(folder) is None
        assert names(folder) == ["lock", "manifest.bad", "vectors.bad"]
    saved(folder, block(3))
    assert "vectors.bad" in names(folder)
    for name in ("vectors.bad", "manifest.bad"):
        os.utime(folder / name, (1, time.time() - 8 * 86_400))
    saved(folder, block(3))
    assert names(folder) == ["2.vectors", "lock", "manifest"]


def test_purging_leaves_no_vector(folder: Path, shelf: Shelf) -> None:
    saved(folder, block(3))
    shelf.set_aside()
    saved_again = shelf.draft(HEADER)
    assert saved_again is not None
    saved_again.publish()
    (folder / "9.part").write_bytes(b"half")
    assert shelf.purge()
    assert names(folder) == ["lock"]
    assert loaded(folder) is None


# -- disks that are full or read-only (28) --------------------------------------------------------


@pytest.mark.event(28)
@pytest.mark.parametrize("fails_at", range(1, 7))
def test_a_fault_at_any_step_of_writing_leaves_the_one_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    saved(folder, block(3))
    before = names(folder)
    steps = 0

    def step(real: object) -> object:
        def call(*args: object) -> object:
            nonlocal steps
            steps += 1
            if steps == fails_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args)  # type: ignore[operator] # whatever it was

        return call

    for name in ("_create", "_force", "_sync_folder"):
        monkeypatch.setattr(snapshot_shelf, name, step(getattr(snapshot_shelf, name)))
    with pytest.raises(OSError, match="No space"):
        saved(folder, block(8))
    monkeypatch.undo()
    found = loaded(folder)
    assert found is not None
    # Steps: part, its bytes, its name, manifest, its bytes; and the manifest's name, when it is the newer one already.
    assert len(found[1][0].ids) == (3 if fails_at < 6 else 8)
    if fails_at < 6:
        assert names(folder) == before
    saved(folder, block(4))
    assert len(names(folder)) == 3


@pytest.mark.event(28)
def test_a_disk_that_takes_so_much_and_no_more(folder: Path) -> None:
    saved(folder, block(3))
    before, limits = names(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            saved(folder, *(block(400, seed=seed) for seed in range(9)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(folder) == before
    assert loaded(folder) is not None


# -- kill -9 at any point (27) --------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from tests.lookup.snapshots import HEADER, block, saved
from semcache.lookup.snapshot_format import Header
folder = Path(sys.argv[1])
number = int(sys.argv[2])
print('on', flush=True)
while True:
    number += 1
    blocks = [block(400, seed=seed) for seed in range(number % 7 + 1)]
    saved(folder, *blocks, header=Header('one store', number, HEADER.generations))
    print(number, flush=True)
"""


@pytest.mark.event(27)
@pytest.mark.parametrize("runs", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_any_point_of_writing_the_old_or_the_new_is_there(folder: Path, runs: int) -> None:
    saved(folder, block(400), header=Header("one store", 0, HEADER.generations))
    chance, last = random.Random(runs), 0
    for _ in range(runs):
        command = [sys.executable, "-c", WRITER, str(folder), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"on\n"
            time.sleep(chance.random() * 0.06)
            writer.send_signal(signal.SIGKILL)
            told = [int(line) for line in writer.stdout.read().split()]
        acknowledged = told[-1] if told else last
        found = loaded(folder)
        assert found is not None
        header, blocks = found
        assert header.number in (acknowledged, acknowledged + 1), (
            "the one that was finished, or the one after it"
        )
        assert [one.ids[0] for one in blocks] == [f"{seed}-0" for seed in range(len(blocks))]
        assert len(blocks) == (header.number % 7 + 1 if header.number else 1)
        assert len(list(folder.glob("*.vectors"))) <= 2
        last = header.number
