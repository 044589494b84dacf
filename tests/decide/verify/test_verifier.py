"""Opening the weights: what is missing or broken is named, with what to do; and which forest judges what."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semcache.decide.risk.grid import BINS
from semcache.decide.verify.traits import NAMES
from semcache.decide.verify.verifier import open_prior, open_verifier
from semcache.errors import EncoderError
from tests.decide.verify.build import chinese_arrays, english_arrays


def leaf(total: float, names: tuple[str, ...] = NAMES, feature: int = -1) -> dict[str, Any]:
    """A forest of one tree of one leaf: the same for every pair."""
    one = np.zeros((1, 1), np.float32)
    return {
        "feature": np.full((1, 1), feature, np.int16),
        "threshold": one,
        "left": one.astype(np.int16),
        "right": one.astype(np.int16),
        "value": one + np.float32(total),
        "base": np.array(0.0),
        "knots": np.array([[0.0, 0.0], [1.0, 1.0]], np.float32),
        "depth": np.array(1),
        "names": np.frombuffer("\n".join(names).encode(), np.uint8),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "lexicon_en.npz", **english_arrays())
    np.savez(tmp_path / "lexicon_zh.npz", **chinese_arrays())
    np.savez(tmp_path / "forest_en.npz", **leaf(0.25))
    np.savez(tmp_path / "forest_zh.npz", **leaf(0.75))
    (tmp_path / "prior.json").write_text(json.dumps({"hits": [2.0] * BINS, "wrong": [1.0] * BINS}))
    return tmp_path


def test_pairs_with_chinese_have_a_forest_of_their_own(folder: Path) -> None:
    verifier = open_verifier(folder)
    assert verifier.score("buy a ticket", "sell a ticket", 0.9) == pytest.approx(0.25)
    assert verifier.score("修改地址", "修改密码", 0.9) == pytest.approx(0.75)
    assert verifier.score("buy a ticket", "修改密码", 0.9) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("asked", "stored"), [("", "dog"), ("dog", "?!"), ("dog " * 300, "dog"), ("dog", "a. " * 2000)]
)
def test_it_says_nothing_of_texts_that_it_cannot_read(folder: Path, asked: str, stored: str) -> None:
    verifier = open_verifier(folder)
    assert verifier.score(asked, stored, 0.9) is None
    assert verifier.score(stored, asked, 0.9) is None


FILES = ["lexicon_en.npz", "lexicon_zh.npz", "forest_en.npz", "forest_zh.npz"]
HARMS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("no archive"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-60]),
    "another archive": lambda path: np.savez(path, other=np.zeros(3)),
    "damaged": lambda path: path.write_bytes(path.read_bytes().replace(b"\x93NUMPY", b"\x93NUMBY")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "one array": lambda path: (
        np.save(path.with_suffix(".npy"), np.zeros(3)),
        path.with_suffix(".npy").rename(path),
    ),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", FILES)
def test_broken_files_are_one_named_error_that_says_what_to_do(folder: Path, name: str, harm: str) -> None:
    HARMS[harm](folder / name)
    with pytest.raises(EncoderError) as caught:
        open_verifier(folder)
    said = str(caught.value)
    assert str(folder) in said
    assert "again" in said
    assert "train.py" in said


@pytest.mark.parametrize(
    "forest",
    [
        leaf(0.5, NAMES[:-1]),
        leaf(0.5, (*NAMES[1:], NAMES[0])),
        leaf(0.5, feature=len(NAMES)),
        leaf(0.5) | {"names": np.frombuffer(b"\xff\xfe", np.uint8)},
    ],
)
def test_a_forest_for_other_traits_is_refused(folder: Path, forest: dict[str, Any]) -> None:
    np.savez(folder / "forest_en.npz", **forest)
    with pytest.raises(EncoderError):
        open_verifier(folder)


def test_the_prior_is_that_of_the_file(folder: Path) -> None:
    prior = open_prior(folder)
    assert (prior.hits, prior.wrong) == ((2.0,) * BINS, (1.0,) * BINS)


@pytest.mark.parametrize(
    "text",
    [
        None, "", "{", "[]", "7", "null", "{}", '{"hits": [1]}', '{"hits": [1], "wrong": [0]}', '{"hits": "x", "wrong": "y"}',
        json.dumps({"hits": [1.0] * BINS, "wrong": [2.0] * BINS}),
        json.dumps({"hits": [None] * BINS, "wrong": [0.0] * BINS}),
        json.dumps({"hits": [1.0] * BINS, "wrong": [float("nan")] * BINS}),
        b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_prior_that_is_none_is_one_named_error(folder: Path, text: str | bytes | None) -> None:
    path = folder / "prior.json"
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EncoderError, match=r"prior\.json.*train\.py"):
        open_prior(folder)


def test_the_shipped_files_open() -> None:
    try:
        verifier, prior = open_verifier(), open_prior()
    except EncoderError as error:
        pytest.skip(f"no weights: {error}")
    assert verifier.score("How do I reset my password?", "how do I reset my password", 1.0) is not None
    assert sum(prior.hits) > 0
