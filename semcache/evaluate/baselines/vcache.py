"""vCache's rule: a threshold for each stored question, learned from comparing answers.

Re-implemented from the paper (Schroeder et al., "vCache: Verified Semantic Prompt Caching",
arXiv 2502.03771); none of its code is used. For the nearest stored question and similarity s:

- its observations are pairs (similarity, was its answer right), begun with (0, wrong) and (1, right);
- with fewer than six of them the model is asked ("explore");
- else the chance that its answer is right is a logistic curve in s, fitted to the observations;
- for a confidence 1 - e in the curve's midpoint t, moved up to its one-sided bound t', the answer is right with
  probability at least a = (1 - e) L(s; t', slope), and exploring with probability 1 - d / (1 - a) keeps errors
  under d; the smallest such probability over e is used;
- exploring adds an observation, and stores the new question only if the neighbour's answer was wrong.

The paper leaves open what to do where the labels are separable and no finite curve fits best: here a
weak ridge keeps it finite, and the bound comes from the curvature there (delta method). The bound d
is per request, not per hit. System prompt, history, model and parameters are ignored.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from semcache.core import EncoderId
from semcache.evaluate.baselines.rule import Memory, Question, Scale

_LEAST = 6
"""Observations, the two given ones included, before anything is served."""
_RIDGE = 1e-3
_STEPS = 100
_CLOSE = 1e-9
_CONFIDENCES = tuple(i / 50 for i in range(1, 50))


@dataclass(slots=True)
class Observations:
    """What was seen of one stored question, and what follows from it."""

    similarity: list[float] = field(default_factory=lambda: [0.0, 1.0])
    right: list[float] = field(default_factory=lambda: [0.0, 1.0])
    _curve: tuple[float, float, float] | None = None

    def add(self, similarity: float, *, right: bool) -> None:
        """Add what a comparison of answers showed."""
        self.similarity.append(similarity)
        self.right.append(float(right))
        self._curve = None

    def explore_probability(self, similarity: float, delta: float) -> float:
        """Give the probability with which the model has to be asked to keep errors under `delta`."""
        if len(self.right) < _LEAST:
            return 1.0
        if self._curve is None:
            self._curve = fit(self.similarity, self.right)
        midpoint, slope, spread = self._curve
        if slope <= 0.0:
            return 1.0
        least = 1.0
        for error in _CONFIDENCES:
            bound = midpoint + NormalDist().inv_cdf(1.0 - error) * spread
            sure = (1.0 - error) * _logistic(slope * (similarity - bound))
            least = min(least, 1.0 - delta / (1.0 - sure))
        return max(0.0, least)


class VCache:
    """vCache with error rate `delta`.

    Args:
        delta: most wrong answers per request.
        scale: see `rule.Scale`.
        chance: where exploring is left to chance.
    """

    def __init__(self, delta: float, scale: Scale, chance: random.Random) -> None:
        self._delta = delta
        self._memory = Memory(scale)
        self._chance = chance
        self._observations: dict[tuple[EncoderId, int], Observations] = {}

    def ask(self, question: Question) -> str | None:
        """Serve the nearest question's answer, or explore."""
        if question.embedding is None:
            return None
        found = self._memory.nearest(question.embedding)
        if found is None:
            self._memory.add(question.embedding, question.answer)
            return None
        place, answer, similarity = found
        key = question.embedding.encoder, place
        known = self._observations.setdefault(key, Observations())
        if self._chance.random() > known.explore_probability(similarity, self._delta):
            return answer
        right = answer == question.answer
        known.add(similarity, right=right)
        if not right:
            self._memory.add(question.embedding, question.answer)
        return None


def fit(similarity: list[float], right: list[float]) -> tuple[float, float, float]:
    """Fit the logistic curve by Newton's method; gives midpoint, slope, and the midpoint's standard error."""
    rows = np.column_stack([np.ones(len(similarity)), similarity])
    labels = np.asarray(right)
    weights = np.zeros(2)
    curvature = _RIDGE * np.eye(2)
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -500, 500)))
        curvature = (rows * (chance * (1.0 - chance))[:, None]).T @ rows + _RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, rows.T @ (labels - chance) - _RIDGE * weights)
        weights = weights + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    level, slope = float(weights[0]), float(weights[1])
    if slope <= 0.0:
        return 0.0, 0.0, 0.0
    gradient = np.array([-1.0 / slope, level / slope**2])
    spread = float(gradient @ np.linalg.solve(curvature, gradient))
    return -level / slope, slope, max(0.0, spread) ** 0.5


def _logistic(value: float) -> float:
    return float(1.0 / (1.0 + np.exp(-np.clip(value, -500, 500))))
