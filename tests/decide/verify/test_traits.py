"""The row of a pair: what is counted, in both directions, and that no side is favoured."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.reasons import Veto
from semcache.decide.verify.traits import NAMES
from tests.decide.verify.build import traits

TRAITS = traits()


def named(one: str, other: str, similarity: float = 0.9) -> dict[str, float]:
    row = TRAITS.row(one, other, similarity)
    return dict(zip(NAMES, row.tolist(), strict=True))


def test_each_number_has_one_name() -> None:
    row = TRAITS.row("How do I buy a ticket?", "如何修改密码", 0.5)
    assert row.dtype == np.float32
    assert row.shape == (len(NAMES),)
    assert len(set(NAMES)) == len(NAMES)
    assert np.isfinite(row).all()


def test_every_rule_of_the_gate_has_its_number() -> None:
    assert {name for name in NAMES if name.startswith("gate_")} == {
        f"gate_{veto.value}" for veto in Veto if veto is not Veto.UNREAD
    }


SAME = {
    "least_cosine_low": 1, "mean_cosine_low": 1, "least_same_low": 1, "mean_same_low": 1, "broader_high": 0,
    "sibling_high": 0, "antonym_high": 0, "unlike_high": 0, "phrase": 1, "left_content_high": 0,
    "left_function_high": 0, "jaccard": 1, "content_jaccard": 1, "content_cover": 1, "trigrams": 1, "edits": 0,
    "replacements": 0, "touched": 0, "single_swap": 0, "least_swap": 1, "same_first": 1, "same_last": 1,
    "asking_high": 0, "relating_high": 0, "limiting_high": 0, "persons_high": 0, "digits": 0,
    "inversions": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("How do I buy a ticket?", "how do i buy a ticket", SAME),
        ("如何修改密码", "如何修改密码？", SAME),
        (
            "How do I buy a ticket?",
            "How do I purchase a ticket?",
            {"least_same_low": 0.8, "antonym_high": 0, "unlike_high": 0, "single_swap": 1, "edits": 1,
             "replacements": 1, "touched": 1 / 6, "left_content_low": 1, "left_content_high": 1, "common": 5,
             "common_content": 1, "jaccard": 5 / 7, "content_jaccard": 1 / 3, "content_cover": 1 / 2},
        ),
        (
            "How do I buy a ticket?",
            "How do I sell a ticket?",
            {"least_same_low": 0, "antonym_high": 1, "antonym_low": 1, "unlike_low": 1, "unlike_high": 1,
             "single_swap": 1},
        ),
        (
            "How big is a dog?",
            "How big is a poodle?",
            {"broader_high": 1, "sibling_high": 0, "least_same_low": 0, "same_last": 0, "same_first": 1},
        ),
        ("How big is a dog?", "How big is a cat?", {"broader_high": 0, "sibling_high": 1, "unlike_high": 1}),
        (
            "How big is a dog?",
            "How big is a dog in Berlin?",
            {"left_content_low": 0, "left_content_high": 1, "left_function_high": 1, "relating_high": 1,
             "relating_low": 0, "least_same_low": 0, "least_same_high": 1, "phrase": 0, "names": 1, "edits": 1,
             "replacements": 0, "words_low": 5, "words_high": 7},
        ),
        (
            "Can I buy all tickets?",
            "When can they buy tickets?",
            {"asking_high": 1, "asking_low": 0, "limiting_high": 1, "limiting_low": 0, "persons_low": 1,
             "persons_high": 1, "same_first": 0},
        ),
        ("Is 5 more than 7?", "Is 7 more than 5?", {"inversions": 1, "digits": 0, "left_content_high": 0}),
        ("Take 5 now", "Take 6 now", {"digits": 2, "gate_numbers": 1}),
        ("Take 5 now", "Take five now", {"digits": 1, "gate_numbers": 0}),
        (
            "如何修改密码",
            "如何更改密码",
            {"least_cosine_low": 9500 / (100 * np.hypot(95, 10)), "single_swap": 1, "common": 3, "unlike_high": 1},
        ),
        ("dog", "修改", {"least_cosine_low": 0, "least_same_low": 0, "phrase": 0}),
        ("", "", {"jaccard": 0, "phrase": 1, "edits": 0, "words_high": 0}),
    ],
)  # fmt: skip
def test_expected_values(one: str, other: str, expected: dict[str, float]) -> None:
    for found in (named(one, other), named(other, one)):
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=0.005)


def test_the_similarity_is_passed_on() -> None:
    assert named("a", "b", 0.75)["similarity"] == 0.75
    assert named("a", "b", -1.0)["similarity"] == -1.0


texts = st.lists(
    st.sampled_from(
        [
            "how",
            "do",
            "i",
            "not",
            "buy",
            "sell",
            "the",
            "ticket",
            "tickte",
            "dog",
            "cats",
            "Berlin",
            "5",
            "12.5",
            "%",
            "before",
            "all",
            "修改",
            "密码",
            "地址",
            "吗",
            "不",
            "Python",
        ]
    ),
    max_size=14,
).map(" ".join) | st.text(alphabet=st.characters(exclude_categories=()), max_size=40)


@given(texts, texts, st.floats(-1, 1))
def test_which_text_comes_first_does_not_matter(one: str, other: str, similarity: float) -> None:
    row = TRAITS.row(one, other, similarity)
    np.testing.assert_array_equal(row, TRAITS.row(other, one, similarity))
    assert np.isfinite(row).all()


def test_long_texts_are_compared_in_bounded_time() -> None:
    began = time.process_time()
    TRAITS.row("dog cat animal buy sell " * 60, "poodle ticket berlin went canceled " * 60, 0.5)
    assert time.process_time() - began < 0.5


def test_only_short_texts_are_remembered() -> None:
    traits = TRAITS
    short, long = "where is the red door", "where is the red door " * 200
    assert traits.words(short) is traits.words(short)
    assert traits.words(long) is not traits.words(long)
    assert traits.words(long) == traits.words(long)
