"""The peers' rules against cases worked out by hand."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId
from semcache.errors import SemcacheError
from semcache.evaluate.baselines.named import baseline
from semcache.evaluate.baselines.rule import Memory, Peer, Question
from semcache.evaluate.baselines.vcache import Observations, VCache, fit
from tests.evaluate.scene import FAKE, embedding


def raw(_: EncoderId, cosine: float) -> float:
    return cosine


def peer(name: str, seed: int = 0) -> Peer:
    return baseline(name).make(raw, random.Random(seed))


def asks(cosine: float, answer: str = "x") -> Question:
    return Question(embedding(cosine), answer)


@pytest.mark.parametrize(
    ("name", "just_served", "just_not"),
    [
        ("static:0.95", 0.951, 0.949),
        # 4 - (2 - 2 cos) >= 0.8 * 4 is cos >= 0.6.
        ("gptcache", 0.601, 0.599),
        # 1 - cos <= 0.1.
        ("redisvl", 0.901, 0.899),
    ],
)
def test_where_bare_thresholds_lie(name: str, just_served: float, just_not: float) -> None:
    for cosine, served in ((just_served, "x"), (just_not, None), (1.0, "x"), (-1.0, None)):
        cache = peer(name)
        assert cache.ask(asks(1.0)) is None, "an empty cache serves nothing"
        assert cache.ask(asks(cosine, "other")) == served


def test_the_nearest_is_served_and_only_what_was_not_served_is_stored() -> None:
    cache = peer("static:0.9")
    assert cache.ask(asks(1.0, "first")) is None
    assert cache.ask(asks(0.95, "never stored")) == "first"
    assert cache.ask(asks(0.5, "second")) is None
    assert cache.ask(asks(0.55, "third")) == "second"


def test_without_a_vector_nothing_is_served_or_stored() -> None:
    for name in ("static:0.5", "gptcache", "redisvl", "vcache:0.5"):
        cache = peer(name)
        assert cache.ask(Question(None, "x")) is None
        assert cache.ask(Question(None, "x")) is None
        assert cache.ask(asks(1.0)) is None


def test_vectors_of_different_encoders_never_meet() -> None:
    cache = peer("gptcache")
    assert cache.ask(Question(embedding(1.0), "x")) is None
    assert cache.ask(Question(embedding(1.0, EncoderId("other@1")), "x")) is None


def test_memory_keeps_everything_while_it_grows() -> None:
    memory = Memory(raw)
    angles = np.linspace(0.0, 3.0, 37)
    for number, angle in enumerate(angles):
        memory.add(Embedding(np.array([math.cos(angle), math.sin(angle)], np.float32), FAKE), str(number))
    for number, angle in enumerate(angles):
        query = Embedding(np.array([math.cos(angle), math.sin(angle)], np.float32), FAKE)
        assert memory.nearest(query) == (number, str(number), pytest.approx(1.0))


def test_scale_is_applied_before_the_threshold() -> None:
    cache = baseline("static:0.95").make(lambda _, cosine: cosine - 0.1, random.Random(0))
    assert cache.ask(asks(1.0)) is None
    assert cache.ask(asks(1.0)) is None


# -- vCache -----------------------------------------------------------------------------------


def test_vcache_asks_the_model_until_it_has_six_observations() -> None:
    cache = VCache(0.999, raw, random.Random(1))
    assert cache.ask(asks(1.0)) is None, "stored"
    # Two observations are given; four more come from comparing answers.
    assert [cache.ask(asks(0.999)) for _ in range(4)] == [None] * 4
    assert cache.ask(asks(0.999)) == "x"


def test_vcache_stores_a_question_only_if_the_neighbours_answer_was_wrong() -> None:
    cache = VCache(0.01, raw, random.Random(1))
    cache.ask(asks(1.0, "x"))
    cache.ask(asks(0.6, "x"))
    assert cache._memory.nearest(embedding(0.6)) == (0, "x", pytest.approx(0.6))
    cache.ask(asks(0.6, "y"))
    assert cache._memory.nearest(embedding(0.6)) == (1, "y", pytest.approx(1.0))


def test_logistic_fit_against_a_grid() -> None:
    similarity = [0.0, 1.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9]
    right = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    midpoint, slope, spread = fit(similarity, right)

    def loss(level: float, rise: float) -> float:
        total = 0.5e-3 * (level**2 + rise**2)
        for s, c in zip(similarity, right, strict=True):
            z = level + rise * s
            total += math.log1p(math.exp(-z)) if c else math.log1p(math.exp(z))
        return total

    level = -midpoint * slope
    best = loss(level, slope)
    for dx in (-0.05, 0.0, 0.05):
        for dy in (-0.05, 0.0, 0.05):
            assert loss(level + dx, slope + dy) >= best - 1e-9
    # The standard error of -level / slope, by moving through the curvature of the loss.
    step = 1e-3
    hessian = np.array(
        [
            [
                (loss(level + i * step, slope + j * step) - loss(level + i * step, slope - j * step)
                 - loss(level - i * step, slope + j * step) + loss(level - i * step, slope - j * step)) / (4 * step**2)
                if i and j else 0.0
                for j in (1,)
            ]
            for i in (1,)
        ]
    )  # fmt: skip
    d11 = (loss(level + step, slope) - 2 * best + loss(level - step, slope)) / step**2
    d22 = (loss(level, slope + step) - 2 * best + loss(level, slope - step)) / step**2
    full = np.array([[d11, hessian[0, 0]], [hessian[0, 0], d22]])
    gradient = np.array([-1 / slope, level / slope**2])
    assert spread == pytest.approx(math.sqrt(gradient @ np.linalg.solve(full, gradient)), rel=1e-2)


def test_explore_probability_by_hand() -> None:
    seen = Observations()
    assert seen.explore_probability(0.9, 0.5) == 1.0, "two observations are too few"
    for similarity, right in (
        (0.6, False),
        (0.7, False),
        (0.9, True),
        (0.95, True),
        (0.8, True),
        (0.75, False),
    ):
        seen.add(similarity, right=right)
    midpoint, slope, spread = fit(seen.similarity, seen.right)
    # At e = 0.02 the one-sided normal quantile is 2.0537.
    sure = 0.98 / (1.0 + math.exp(-slope * (0.97 - midpoint - 2.0537489 * spread)))
    at_this = 1.0 - 0.02 / (1.0 - sure)
    assert seen.explore_probability(0.97, 0.02) <= at_this + 1e-6
    assert seen.explore_probability(0.97, 0.02) < seen.explore_probability(0.7, 0.02) <= 1.0
    assert seen.explore_probability(0.97, 0.2) < seen.explore_probability(0.97, 0.02)
    assert seen.explore_probability(0.97, 0.999) == 0.0


def test_a_curve_that_falls_serves_nothing() -> None:
    seen = Observations()
    for _ in range(20):
        seen.add(0.95, right=False)
        seen.add(0.1, right=True)
    assert seen.explore_probability(0.99, 0.5) == 1.0


def test_vcache_keeps_its_bound_per_request_where_its_model_holds() -> None:
    chance = random.Random(7)
    cache = VCache(0.05, raw, random.Random(8))
    cache.ask(asks(1.0, "right"))
    wrong = served = 0
    for number in range(4000):
        similarity = chance.uniform(0.5, 0.99)
        truly = chance.random() < 1.0 / (1.0 + math.exp(-25 * (similarity - 0.75)))
        known = cache._observations.get((FAKE, 0))
        probability = known.explore_probability(similarity, 0.05) if known else 1.0
        if chance.random() > probability:
            served += 1
            wrong += not truly
        elif number % 20 == 0:
            cache._observations.setdefault((FAKE, 0), Observations()).add(similarity, right=truly)
    assert served > 200
    assert wrong / 4000 <= 0.05


@pytest.mark.parametrize(
    "name",
    ["", "static", "static:", "static:x", "static:0", "static:1", "static:nan", "static:-1", "vcache", "vcache:2",
     "gptcache:0.8", "redisvl:", "GPTCache", "faiss"],
)  # fmt: skip
def test_unknown_baselines_name_the_known_ones(name: str) -> None:
    with pytest.raises(SemcacheError, match=r"static:THRESHOLD .* gptcache, redisvl, vcache:DELTA"):
        baseline(name)
