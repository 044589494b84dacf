"""Equal folders are equal wherever they lie; any relevant change is a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.engine.fingerprint import fingerprint


def folder(root: Path, name: str, **changes: bytes) -> Path:
    files = {"config.json": b"{}", "model.safetensors": b"\0" * 3_000_000, "tokenizer.json": b"[]", **changes}
    place = root / name
    place.mkdir()
    for file, content in files.items():
        (place / file).write_bytes(content)
    return place


def test_the_place_and_other_files_do_not_matter(tmp_path: Path) -> None:
    one = folder(tmp_path, "one")
    two = folder(tmp_path, "two", **{"README.md": b"words"})
    assert fingerprint(one, "float32") == fingerprint(two, "float32")
    assert fingerprint(one, "float32").startswith("fp_")
    assert len(fingerprint(one)) == 19


@pytest.mark.parametrize(
    "change",
    [{"config.json": b"{ }"}, {"model.safetensors": b"\0" * 2_999_999 + b"\1"}, {"chat_template.jinja": b""}],
    ids=["config", "last weight", "new template"],
)
def test_every_change_of_contents_matters(tmp_path: Path, change: dict[str, bytes]) -> None:
    assert fingerprint(folder(tmp_path, "one")) != fingerprint(folder(tmp_path, "two", **change))


def test_settings_matter_and_do_not_run_together(tmp_path: Path) -> None:
    place = folder(tmp_path, "one")
    assert len({fingerprint(place, *parts) for parts in [(), ("ab", "c"), ("a", "bc"), ("abc",)]}) == 4
