"""The note of a model folder, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semcache.embed.manifest import FILE_NAME, read_manifest
from semcache.errors import EncoderError


def note(**changes: Any) -> dict[str, Any]:
    encoder = {
        "dim": 384,
        "window": 256,
        "pooling": "mean",
        "normalise": True,
        "prefix": "",
        "onnx": "model.int8.onnx",
        "tokenizer": "tokenizer.json",
        "st": "st",
        "inputs": ["input_ids", "attention_mask"],
        "output": "last_hidden_state",
        "unknown_id": 100,
        "pad_id": 0,
    } | changes
    return {"format": 1, "kind": "encoder", "name": "m", "surprise": 1, "encoder": encoder}


def write(folder: Path, content: str) -> Path:
    (folder / FILE_NAME).write_text(content)
    return folder


def test_reads_what_it_needs_and_ignores_the_rest(tmp_path: Path) -> None:
    manifest = read_manifest(write(tmp_path, json.dumps(note())))
    assert manifest is not None
    assert manifest.name == "m"
    assert manifest.encoder.window == 256


def test_a_folder_without_note_is_an_ordinary_folder(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    assert read_manifest(tmp_path / "absent") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"onnx": "/etc/passwd"},
        {"onnx": "../other/model.onnx"},
        {"tokenizer": "a/../../b"},
        {"st": ""},
        {"onnx": "a\\..\\b"},
        {"dim": 0},
        {"window": -1},
        {"pooling": "max"},
        {"inputs": []},
        {"inputs": ["pixel_values"]},
    ],
)
def test_a_note_that_leads_astray_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(EncoderError):
        read_manifest(write(tmp_path, json.dumps(note(**changes))))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "\x00",
        json.dumps(note() | {"format": 2}),
        json.dumps(note() | {"kind": "lm"}),
        json.dumps(note() | {"name": "a@b"}),
        json.dumps({"format": 1, "kind": "encoder", "name": "m"}),
    ],
)
def test_a_broken_or_foreign_note_is_refused_by_name(content: str, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=FILE_NAME):
        read_manifest(write(tmp_path, content))
