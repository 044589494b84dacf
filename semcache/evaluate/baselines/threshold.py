"""Peers that serve the nearest stored question's answer from one fixed similarity up.

They differ in what they call similarity and in the default. All three store every question that
they did not serve, and look at its last user text only: system prompt, history, model and
parameters are ignored (RedisVL leaves them to filters that the caller sets).
"""

from __future__ import annotations

from semcache.evaluate.baselines.rule import Memory, Question, Scale

GPTCACHE_THRESHOLD = 0.8
REDISVL_DISTANCE = 0.1
_GPTCACHE_FURTHEST = 4.0


class Static:
    """Any cache with one cosine threshold.

    Args:
        threshold: least similarity that is served.
        scale: see `rule.Scale`.
    """

    def __init__(self, threshold: float, scale: Scale) -> None:
        self._threshold = threshold
        self._memory = Memory(scale)

    def ask(self, question: Question) -> str | None:
        """Serve from the threshold up, else remember."""
        if question.embedding is None:
            return None
        found = self._memory.nearest(question.embedding)
        if found is not None and self._serves(found[2]):
            return found[1]
        self._memory.add(question.embedding, question.answer)
        return None

    def _serves(self, similarity: float) -> bool:
        return similarity >= self._threshold


class GptCache(Static):
    """GPTCache as `init_similar_cache` sets it up: last message, top 1, `SearchDistanceEvaluation`, 0.8.

    Its index gives the squared Euclidean distance d2 = 2 - 2 cos of unit vectors; the evaluation
    is 4 - d2 on a range of 0 to 4, of which the threshold takes the 0.8th part: served is from
    4 - d2 = 3.2, which is cosine 0.6, up. Its temperature rule skips nothing at temperature 0.
    Source: zilliztech/GPTCache, similarity_evaluation/distance.py, adapter/adapter.py, config.py.
    """

    def __init__(self, scale: Scale) -> None:
        super().__init__(GPTCACHE_THRESHOLD, scale)

    def _serves(self, similarity: float) -> bool:
        distance = min(_GPTCACHE_FURTHEST, max(0.0, 2.0 - 2.0 * similarity))
        return _GPTCACHE_FURTHEST - distance >= self._threshold * _GPTCACHE_FURTHEST


class RedisVl(Static):
    """RedisVL's `SemanticCache` by default: cosine distance 1 - cos of at most 0.1, one result.

    Source: RedisVL user guide, "Semantic caching for LLMs" (`distance_threshold`).
    """

    def __init__(self, scale: Scale) -> None:
        super().__init__(REDISVL_DISTANCE, scale)

    def _serves(self, similarity: float) -> bool:
        return 1.0 - similarity <= self._threshold
