from __future__ import annotations

from pathlib import Path

import pytest

from semcache.models import ModelError, ModelState, fetch, resolve, status
from tests.models.conftest import Shop


def fill(shop: Shop) -> None:
    fetch(["tiny"], shop.data, shop.progress, shop.options, shop.packaged)


def test_a_packaged_name_is_its_folder(shop: Shop) -> None:
    fill(shop)
    assert resolve("tiny", shop.data, shop.packaged) == shop.target


def test_a_packaged_name_that_is_not_there_tells_the_command(shop: Shop) -> None:
    with pytest.raises(ModelError, match="semcache models fetch tiny"):
        resolve("tiny", shop.data, shop.packaged)


def test_a_packaged_name_of_another_version_tells_the_command(shop: Shop) -> None:
    fill(shop)
    shop.use(version="2.0")
    with pytest.raises(ModelError, match=r"another version.*semcache models fetch tiny"):
        resolve("tiny", shop.data, shop.packaged)


def test_a_folder_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve("mine", tmp_path) == tmp_path / "mine"
    assert resolve(str(tmp_path / "mine"), tmp_path) == tmp_path / "mine"


def test_a_packaged_name_wins_over_a_folder_unless_written_as_a_path(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(shop)
    (shop.root / "tiny").mkdir()
    monkeypatch.chdir(shop.root)
    assert resolve("tiny", shop.data, shop.packaged) == shop.target
    assert resolve("./tiny", shop.data, shop.packaged) == shop.root / "tiny"


@pytest.mark.parametrize(
    "path", ["/no/such", "./no-such", "../no-such", "~/no-such-folder", "~no-such-user/x", "", " "]
)
def test_a_path_without_a_folder_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model folder"):
        resolve(path, tmp_path)


def test_anything_else_is_a_hub_name(tmp_path: Path) -> None:
    assert str(resolve("BAAI/bge-m3", tmp_path)) == "BAAI/bge-m3"


def test_status_tells_the_four_states(shop: Shop) -> None:
    def state() -> ModelState:
        return status(shop.data, shop.packaged)[0].state

    assert state() is ModelState.MISSING
    fill(shop)
    assert state() is ModelState.READY
    (shop.target / "model.onnx").unlink()
    assert state() is ModelState.DAMAGED
    (shop.target / "semcache-model.json").unlink()
    assert state() is ModelState.DAMAGED
    fill(shop)
    shop.use(version="2.0")
    assert state() is ModelState.OUTDATED


def test_only_a_thorough_status_finds_one_flipped_byte(shop: Shop) -> None:
    fill(shop)
    path = shop.target / "model.onnx"
    path.chmod(0o644)
    with path.open("r+b") as stream:
        stream.seek(100_000)  # between two sampled pieces
        stream.write(b"\xff\xff")
    assert status(shop.data, shop.packaged)[0].state is ModelState.READY
    assert status(shop.data, shop.packaged, thorough=True)[0].state is ModelState.DAMAGED


def test_status_knows_size_and_licence(shop: Shop) -> None:
    fill(shop)
    (one,) = status(shop.data, shop.packaged)
    assert (one.name, one.kind, one.licence, one.path) == ("tiny", "encoder", "MIT", shop.target)
    assert one.size > 256 * 8192
