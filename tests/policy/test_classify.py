"""The classifier on made-up vectors: scale-free, cautious, and deaf to nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from semcache.core import Embedding, EncoderId
from semcache.policy.classify import Classifier

A, B = EncoderId("a"), EncoderId("b")
DIM = 64


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def cloud(axis: int, count: int, common: float, seed: int) -> NDArray[np.float32]:
    """Vectors around one axis, all pulled towards a common direction as narrow encoders do."""
    noise = np.random.default_rng(seed).normal(size=(count, DIM)) * 0.05
    noise[:, axis] += 1.0
    noise[:, -1] += common
    return unit(noise)


def classes(common: float) -> dict[str, NDArray[np.float32]]:
    return {name: cloud(i, 12, common, i) for i, name in enumerate(["medical", "legal", "other"])}


@pytest.mark.parametrize("common", [0.0, 1.0, 3.0])
def test_domains_are_found_whatever_the_encoders_scale(common: float) -> None:
    classifier = Classifier({A: classes(common)}, 0.25, 0.02)
    for axis, expected in enumerate(["medical", "legal", None, None]):
        for vector in cloud(axis, 20, common, 99 + axis):
            assert classifier.domain_of(vector, A) == expected


def test_likeness_is_zero_for_the_unrelated_and_one_for_equals() -> None:
    rows = cloud(0, 1, 0.0, 5).repeat(4, axis=0)
    far = cloud(1, 4, 0.0, 6)
    scores = Classifier({A: {"medical": rows, "legal": far}}, 0, 0).scores(rows[0], A)
    assert scores["medical"] == pytest.approx(1.0, abs=1e-5)
    assert abs(scores["legal"]) < 0.15


def test_a_narrow_lead_is_no_lead() -> None:
    between = unit(np.eye(DIM)[0] + np.eye(DIM)[1])
    assert Classifier({A: classes(0.0)}, 0.25, 0.1).domain_of(between, A) is None
    assert Classifier({A: classes(0.0)}, 0.25, 0.0).domain_of(between, A) in ("medical", "legal")


def test_encoders_never_meet_and_unknown_ones_say_nothing() -> None:
    swapped = classes(0.0)
    swapped["medical"], swapped["legal"] = swapped["legal"], swapped["medical"]
    classifier = Classifier({A: classes(0.0), B: swapped}, 0.25, 0.02)
    vector = cloud(0, 1, 0.0, 7)[0]
    assert classifier.domain_of(vector, A) == "medical"
    assert classifier.domain_of(vector, B) == "legal"
    assert classifier.domain_of(vector, EncoderId("c")) is None


@pytest.mark.parametrize(
    "vector",
    [
        np.full(DIM, np.nan),
        np.full(DIM, np.inf),
        np.ones(DIM + 1),
        np.ones(0),
        np.ones((1, DIM)),
        np.zeros(DIM),
    ],
)
def test_nonsense_vectors_say_nothing(vector: NDArray[np.float64]) -> None:
    assert Classifier({A: classes(0.0)}, 0.25, 0.02).domain_of(vector.astype(np.float32), A) is None


def test_classes_with_too_few_exemplars_have_no_say() -> None:
    few = classes(0.0) | {"legal": cloud(1, 3, 0.0, 1)}
    classifier = Classifier({A: few}, 0.25, 0.02)
    assert set(classifier.scores(cloud(1, 1, 0.0, 8)[0], A)) == {"medical", "other"}
    assert Classifier({A: {"medical": classes(0.0)["medical"]}}, 0, 0).scores(cloud(0, 1, 0.0, 8)[0], A) == {}
    assert Classifier({}, 0, 0).domain_of(cloud(0, 1, 0.0, 8)[0], A) is None


def test_equal_exemplars_of_two_classes_do_not_divide_by_zero() -> None:
    same = cloud(0, 1, 0.0, 3).repeat(4, axis=0)
    scores = Classifier({A: {"medical": same, "legal": same}}, 0, 0).scores(same[0], A)
    assert all(np.isfinite(value) for value in scores.values())


def test_from_embeddings_groups_by_encoder_and_class() -> None:
    items = [(name, Embedding(row, A)) for name, rows in classes(0.0).items() for row in rows]
    items += [(name, Embedding(row, B)) for name, rows in classes(3.0).items() for row in rows]
    classifier = Classifier.from_embeddings(items, 0.25, 0.02)
    direct = Classifier({A: classes(0.0), B: classes(3.0)}, 0.25, 0.02)
    for encoder, common in ((A, 0.0), (B, 3.0)):
        for vector in cloud(1, 5, common, 11):
            assert classifier.scores(vector, encoder) == pytest.approx(direct.scores(vector, encoder))
