"""Real models, loaded once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semcache.embed.onnx_encoder import OnnxModel
from tests.embed.models import LATIN, MULTILINGUAL, model_folder


@pytest.fixture(scope="session")
def latin_folder() -> Path:
    return model_folder(LATIN)


@pytest.fixture(scope="session")
def multilingual_folder() -> Path:
    return model_folder(MULTILINGUAL)


@pytest.fixture(scope="session")
def latin_model(latin_folder: Path) -> Iterator[OnnxModel]:
    model = OnnxModel(latin_folder)
    yield model
    model.close()


@pytest.fixture(scope="session")
def multilingual_model(multilingual_folder: Path) -> Iterator[OnnxModel]:
    model = OnnxModel(multilingual_folder)
    yield model
    model.close()
