"""Which models are there, and what a name in the configuration means.

Does NOT know: how to fetch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from semcache.models.errors import ModelError
from semcache.models.fetch import MODELS
from semcache.models.manifest import ModelManifest, load_manifest
from semcache.models.packaged import PACKAGED, PackagedModel
from semcache.models.workshop import is_healthy

_PATH_STARTS: Final = ("/", "./", "../", "~")


class ModelState(StrEnum):
    """What stands in a data directory for a packaged model."""

    READY = "ready"
    MISSING = "missing"
    OUTDATED = "outdated"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One packaged model in one data directory; `size` in bytes, 0 when it is missing."""

    name: str
    kind: str
    state: ModelState
    path: Path
    size: int
    licence: str


def resolve(name_or_path: str, data_dir: Path, packaged: Mapping[str, PackagedModel] = PACKAGED) -> Path:
    """Say where a model lies: packaged name, local folder, or the name of one on a model hub.

    A packaged name wins over a folder of the same name; write `./name` for the folder. A hub name
    comes back as it is, for the model libraries to load.

    Raises:
        ModelError: a packaged model that is not ready, or a path without a folder.
    """
    if name_or_path in packaged:
        return _packaged_folder(packaged[name_or_path], data_dir)
    # os.path's version leaves an unknown ~user as it is, Path's raises.
    path = Path(os.path.expanduser(name_or_path))  # noqa: PTH111 - see above
    if name_or_path.strip() and path.is_dir():
        return path.absolute()
    if name_or_path.startswith(_PATH_STARTS) or not name_or_path.strip():
        raise ModelError(f"there is no model folder {name_or_path!r}")
    return Path(name_or_path)


def status(
    data_dir: Path, packaged: Mapping[str, PackagedModel] = PACKAGED, *, thorough: bool = False
) -> list[ModelStatus]:
    """Give the state of every packaged model in a data directory.

    Sizes and samples of the files are compared (milliseconds), with `thorough` all of their bytes.
    """
    folder = data_dir.absolute() / MODELS
    return [_status(model, folder / model.name, thorough=thorough) for model in packaged.values()]


def _packaged_folder(model: PackagedModel, data_dir: Path) -> Path:
    folder = data_dir.absolute() / MODELS / model.name
    try:
        manifest = load_manifest(folder)
    except ModelError as error:
        raise ModelError(
            f"the model {model.name} is not in {data_dir}: run `semcache models fetch {model.name}`"
        ) from error
    if manifest.fingerprint != model.fingerprint:
        raise ModelError(
            f"the model in {folder} is of another version: run `semcache models fetch {model.name}`"
        )
    return folder


def _status(model: PackagedModel, folder: Path, *, thorough: bool) -> ModelStatus:
    manifest = _manifest(folder)
    size = sum(record.bytes for record in manifest.files.values()) if manifest else 0
    state = _state(model, folder, manifest, thorough=thorough)
    return ModelStatus(model.name, model.kind, state, folder, size, model.licence)


def _manifest(folder: Path) -> ModelManifest | None:
    try:
        return load_manifest(folder)
    except ModelError:
        return None


def _state(
    model: PackagedModel, folder: Path, manifest: ModelManifest | None, *, thorough: bool
) -> ModelState:
    if manifest is None:
        return ModelState.DAMAGED if folder.exists() else ModelState.MISSING
    if manifest.fingerprint != model.fingerprint:
        return ModelState.OUTDATED
    return ModelState.READY if is_healthy(folder, model, thorough=thorough) else ModelState.DAMAGED
