"""What words mean to each other, by a dictionary of fourteen words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.verify.lexicon import Lexicon, read_lexicon
from tests.decide.verify.build import ENGLISH, chinese, chinese_arrays, english, english_arrays

LEXICON = english()
WORDS = [*ENGLISH, "went", "dogs", "buying", "unheard", "unherd", "bigger", "a", "canceled", "ticktes"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("buy", "purchase", {"synonym": 0.8, "antonym": 0.0, "broader": 0.8}),
        ("buy", "sell", {"synonym": 0.0, "antonym": 1.0}),
        ("cancel", "cancellation", {"synonym": 0.5, "prefix": 1.0}),
        ("dog", "animal", {"broader": 1.0, "sibling": 0.0, "synonym": 0.0}),
        ("poodle", "animal", {"broader": 0.5, "sibling": 0.0}),
        ("dog", "cat", {"broader": 0.0, "sibling": 1.0}),
        ("poodle", "cat", {"broader": 0.0, "sibling": 2 / 3}),
        ("big", "huge", {"similar": 1.0, "synonym": 0.0}),
        ("went", "go", {"synonym": 1.0}),
        ("dogs", "dog", {"synonym": 1.0}),
        ("buying", "bought", {"synonym": 1.0}),
        ("ticket", "tickte", {"typo": 1.0, "synonym": 0.0, "prefix": 0.0}),
        ("cancellation", "cancelation", {"typo": 1.0}),
        ("unheard", "unherd", {"typo": 1.0, "cosine": 0.0}),
        ("big", "bigg", {"typo": 0.0, "synonym": 0.0}),
        ("dog", "ticket", {"synonym": 0.0, "typo": 0.0, "broader": 0.0, "sibling": 0.0, "antonym": 0.0}),
        ("berlin", "dog", {"synonym": 0.0, "cosine": 0.0}),
    ],
)  # fmt: skip
def test_relations(one: str, other: str, expected: dict[str, float]) -> None:
    found = LEXICON.relation(one, other)._asdict()
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=2 / 255)
    assert LEXICON.relation(other, one) == LEXICON.relation(one, other)


def test_words_that_may_stand_for_each_other() -> None:
    assert LEXICON.relation("buy", "purchase").same == pytest.approx(0.8, abs=2 / 255)
    assert LEXICON.relation("ticket", "tickte").same == 1.0
    assert LEXICON.relation("buy", "sell").same == 0.0


def test_two_known_words_are_never_a_slip_of_each_other() -> None:
    """`form` and `from`, `diary` and `dairy` are one slip apart, and two words."""
    arrays = english_arrays()
    known = "\n".join(["form", "from", *list(ENGLISH)[2:]]).encode()
    assert Lexicon(arrays | {"words": np.frombuffer(known, np.uint8)}).relation("form", "from").typo == 0.0


def test_cosine_is_that_of_the_vectors() -> None:
    one, other = np.array([100.0, 10, 0]), np.array([80.0, 30, 0])
    expected = one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
    assert LEXICON.relation("buy", "sell").cosine == pytest.approx(expected, abs=1e-6)
    vector = LEXICON.vector("went")
    assert vector is not None
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    assert LEXICON.vector("unheard") is None


def test_a_lexicon_without_senses_knows_vectors_only() -> None:
    found = chinese().relation("修改", "更改")
    assert found.cosine > 0.99
    assert (found.synonym, found.broader, found.antonym, found.typo) == (0.0, 0.0, 0.0, 0.0)
    assert "修改" in chinese()
    assert "改修" not in chinese()
    assert chinese().longest == 4


@given(st.sampled_from(WORDS) | st.text(max_size=12), st.sampled_from(WORDS) | st.text(max_size=12))
def test_any_two_words_have_a_symmetric_relation_in_range(one: str, other: str) -> None:
    found = LEXICON.relation(one, other)
    assert found == LEXICON.relation(other, one)
    assert -1.0001 <= found.cosine <= 1.0001
    assert all(0.0 <= value <= 1.0 for name, value in found._asdict().items() if name != "cosine")


def test_files_are_read_and_broken_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.npz"
    np.savez(path, **english_arrays())
    assert read_lexicon(path).relation("buy", "sell").antonym == 1.0
    np.savez(path, words=chinese_arrays()["words"])
    with pytest.raises(KeyError):
        read_lexicon(path)
    np.savez(path, **(chinese_arrays() | {"vectors": np.zeros((2, 3), np.int8)}))
    with pytest.raises(ValueError, match="vectors"):
        read_lexicon(path)
    with pytest.raises(OSError, match="none"):
        read_lexicon(tmp_path / "none.npz")
