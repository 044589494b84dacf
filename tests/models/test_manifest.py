from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.models import ModelError, load_manifest
from semcache.models.manifest import MANIFEST_NAME, write_manifest

ENCODER = {
    "dim": 384, "window": 256, "pooling": "mean", "normalise": True, "prefix": "", "onnx": "model.onnx",
    "tokenizer": "tokenizer.json", "st": "st", "inputs": ["input_ids"], "output": "out",
    "unknown_id": 100, "pad_id": 0,
}  # fmt: skip
GOOD = {
    "format": 1,
    "kind": "encoder",
    "name": "tiny",
    "fingerprint": "a" * 64,
    "licence": "MIT",
    "source": {"package": "p", "version": "1", "sha256": "b" * 64},
    "converter": "1",
    "tools": {},
    "files": {"st/config.json": {"bytes": 2, "sha256": "c" * 64, "sample": "d" * 64}},
    "encoder": ENCODER,
}


def put(folder: Path, value: object) -> Path:
    (folder / MANIFEST_NAME).write_text(json.dumps(value))
    return folder


def test_a_manifest_survives_a_round_trip(tmp_path: Path) -> None:
    manifest = load_manifest(put(tmp_path, GOOD))
    assert manifest.encoder is not None
    assert (manifest.encoder.window, manifest.encoder.inputs) == (256, ("input_ids",))
    write_manifest(tmp_path, manifest)
    assert load_manifest(tmp_path) == manifest


def test_the_written_file_is_the_documented_one(tmp_path: Path) -> None:
    write_manifest(tmp_path, load_manifest(put(tmp_path, GOOD)))
    assert json.loads((tmp_path / MANIFEST_NAME).read_text()) == GOOD


def test_unknown_keys_are_for_later_formats(tmp_path: Path) -> None:
    assert load_manifest(put(tmp_path, {**GOOD, "later": 1})).name == "tiny"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"format": 2}, "format"),
        ({"kind": "lm"}, "kind"),
        ({"lm": {"context": 1, "dtype": "float32"}}, "kind"),
        ({"fingerprint": "A" * 64}, "fingerprint"),
        ({"files": {"../x": GOOD["files"]["st/config.json"]}}, "inside"),
        ({"files": {"/etc/x": GOOD["files"]["st/config.json"]}}, "inside"),
        ({"files": {"x": {"bytes": -1, "sha256": "c" * 64, "sample": "c" * 64}}}, "files"),
        ({"encoder": {**ENCODER, "onnx": "../../model.onnx"}}, "onnx"),
        ({"encoder": {**ENCODER, "st": "a\\b"}}, "st"),
        ({"encoder": {**ENCODER, "dim": 0}}, "dim"),
        ({"encoder": {**ENCODER, "pooling": "cls"}}, "pooling"),
    ],
)
def test_a_wrong_manifest_is_refused_by_place(tmp_path: Path, change: dict, place: str) -> None:
    with pytest.raises(ModelError, match=place):
        load_manifest(put(tmp_path, {**GOOD, **change}))


def test_no_manifest_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no readable model in"):
        load_manifest(tmp_path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / MANIFEST_NAME).open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ModelError, match="too large"):
        load_manifest(tmp_path)


@given(st.binary(max_size=200))
def test_any_other_bytes_give_the_named_error(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / MANIFEST_NAME).write_bytes(data)
        with pytest.raises(ModelError):
            load_manifest(Path(folder))
