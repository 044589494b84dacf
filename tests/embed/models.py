"""Where the converted model folders of the tests lie; without them the tests that need one fail."""

from __future__ import annotations

import os
from pathlib import Path

LATIN = "all-MiniLM-L6-v2"
MULTILINGUAL = "multilingual-e5-small"

ROOT = Path(__file__).resolve().parents[2]


def model_folder(name: str) -> Path:
    base = Path(os.environ.get("SEMCACHE_TEST_MODELS") or ROOT / "semcache-data" / "models")
    folder = base / name
    assert (folder / "semcache-model.json").is_file(), (
        f"no converted model in {folder}: run `semcache models fetch` or set SEMCACHE_TEST_MODELS"
    )
    return folder
