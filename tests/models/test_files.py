from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from semcache.models.files import digest, link_tree, publish, sample_digest, seal, sweep, temporary

BIG = os.urandom(1 << 21)


def test_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(BIG)
    assert digest(tmp_path / "a") == hashlib.sha256(BIG).hexdigest()


def test_the_sample_of_a_small_file_is_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(BIG[:1000])
    assert sample_digest(tmp_path / "a") == hashlib.sha256(BIG[:1000]).hexdigest()


@pytest.mark.parametrize("change", ["start", "end", "zeros"])
def test_the_sample_sees_typical_damage(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(BIG)
    before = sample_digest(path)
    damaged = {
        "start": b"x" * 10 + BIG[10:],
        "end": BIG[:-10] + b"x" * 10,
        "zeros": BIG[: 1 << 20] + bytes(1 << 20),  # pages that never reached the disk
    }[change]
    path.write_bytes(damaged)
    assert sample_digest(path) != before


def test_publish_replaces_a_folder_and_leaves_nothing(tmp_path: Path) -> None:
    for content in ("old", "new"):
        made = temporary(tmp_path, "model")
        (made / "sub").mkdir()
        (made / "sub" / "a").write_text(content)
        seal(made)
        publish(made, tmp_path / "model")
    assert (tmp_path / "model" / "sub" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_sealed_files_are_read_only(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    seal(tmp_path)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o444


def test_sweep_takes_only_the_leftovers_of_its_own_name(tmp_path: Path) -> None:
    mine, other = temporary(tmp_path, "model"), temporary(tmp_path, "model-2")
    (tmp_path / "model").mkdir()
    sweep(tmp_path, "model")
    assert not mine.exists()
    assert other.exists()
    assert (tmp_path / "model").exists()


def test_links_share_the_file(tmp_path: Path) -> None:
    (tmp_path / "a" / "sub").mkdir(parents=True)
    (tmp_path / "a" / "sub" / "x").write_text("1")
    link_tree(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b/sub/x").samefile(tmp_path / "a/sub/x")


def test_across_file_systems_it_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "other device")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    link_tree(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b/x").read_text() == "1"
    assert not (tmp_path / "b/x").samefile(tmp_path / "a/x")


def test_a_full_disk_is_not_taken_for_another_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "hardlink_to", full)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    with pytest.raises(OSError, match="full"):
        link_tree(tmp_path / "a", tmp_path / "b")
