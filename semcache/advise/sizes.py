"""How much a cache must hold for 50, 80 and 95 % of what an unlimited one would give: answers, and prefixes. Pure.

Bytes of answers are those of the product's own entries, encoded as the store encodes them; bytes of prefixes are tokens
times what a model keeps of each.
"""

from __future__ import annotations

import math

import numpy as np
import orjson

from semcache.advise.chains import Chain
from semcache.advise.distances import Curve, Distances
from semcache.advise.exact import Repeat
from semcache.advise.findings import Size, SizeCurve, Sizes
from semcache.advise.rows import LogRow
from semcache.core import Completion, Embedding, EncoderId, Entry, EntryId, ExactKey, Usage
from semcache.errors import StoreError
from semcache.store import codec
from semcache.store.packing import size_of

SHARES = (0.5, 0.8, 0.95)
KV_BYTES = (
    ("SmolLM2-135M, float32 (the engine's default)", 2 * 30 * 3 * 64 * 4),
    ("7B with 4 KV heads, bfloat16 (Qwen2.5-7B)", 2 * 28 * 4 * 128 * 2),
    ("8B with 8 KV heads, bfloat16 (Llama-3.1-8B)", 2 * 32 * 8 * 128 * 2),
    ("70B with 8 KV heads, bfloat16 (Llama-3.1-70B)", 2 * 80 * 8 * 128 * 2),
)
"""Bytes of keys and values a token: 2 x layers x KV heads x size of a head x bytes of a number."""
_TYPICAL_KV = KV_BYTES[2][1]
_DIMENSION = 384
INDEX_BYTES = 4 * _DIMENSION
"""Of an entry's vector in the index of one process."""
_SAMPLES = 500
_EVERY = 7
_GUESSED = 2048
_POINTS = 64


class SizeCount:
    """Takes rows in time order, with what exact reuse and overlap made of them."""

    def __init__(self) -> None:
        self._answers = Distances()
        self._prefixes = Distances()
        self._sampled: list[int] = []
        self._met = 0

    def answer(self, row: LogRow, repeat: Repeat, usage: Usage) -> None:
        """Hear of one look-up of an answer; the gain is the tokens of the call that a hit saves."""
        if repeat.key is None:
            return
        self._answers.use(repeat.key, 1.0, float(usage.total_tokens) if repeat.hit else 0.0)
        self._met += 1
        if not repeat.hit and self._met % _EVERY == 1 and len(self._sampled) < _SAMPLES:
            size = _entry_bytes(row, repeat, usage)
            if size is not None:
                self._sampled.append(size)

    def prefix(self, chain: Chain, known: int) -> None:
        """Hear of one prompt of which `known` blocks came before; the gain is their tokens.

        The deepest block first: so what stands before a block was always used after it, and leaves after it.
        """
        for number in range(len(chain.names) - 1, -1, -1):
            tokens = chain.tokens[number]
            self._prefixes.use(chain.names[number], tokens, tokens if number < known else 0.0)

    def findings(self) -> Sizes:
        """Give the sizes; None where nothing came twice."""
        mean = sum(self._sampled) / len(self._sampled) if self._sampled else _GUESSED
        return Sizes(
            answers=_sized(self._answers.curve(), round(mean) + INDEX_BYTES),
            prefixes=_sized(self._prefixes.curve(), _TYPICAL_KV),
            kv_bytes=KV_BYTES,
        )


def _sized(curve: Curve, item_bytes: int) -> SizeCurve | None:
    if not curve.total:
        return None
    sizes = []
    for share in SHARES:
        items = math.floor(curve.size_for(share) + 1e-6)
        sizes.append(Size(share, items, items * item_bytes))
    step = max(1, len(curve.points) // _POINTS)
    points = [*curve.points[::step], curve.points[-1]]
    told = tuple(
        dict.fromkeys((math.floor(size + 1e-6), round(gain / curve.total, 6)) for size, gain in points)
    )
    return SizeCurve(tuple(sizes), told, item_bytes, round(curve.distinct), curve.rate)


def _entry_bytes(row: LogRow, repeat: Repeat, usage: Usage) -> int | None:
    """Give what the answer takes in the store."""
    policy, asked = repeat.policy, repeat.asked
    if policy is None or asked is None or row.response is None:
        return None
    message = {"role": "assistant", "content": row.response}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"object": "chat.completion", "model": row.model, "choices": [choice]}
    # A vector that packs as badly as real ones do.
    vector = np.random.default_rng(0).standard_normal(_DIMENSION).astype(np.float32)
    try:
        entry = Entry(
            id=EntryId("0" * 26),
            tenant=policy.tenant,
            namespace="0" * 64,
            key=ExactKey("0" * 64),
            domain=policy.domain,
            model=row.model,
            prompt=asked.request.prompt or "",
            completion=Completion(orjson.dumps(body), usage),
            created_at=0.0,
            expires_at=policy.ttl,
            embedding=Embedding(vector / np.linalg.norm(vector), EncoderId("0" * 40)),
        )
        return size_of(entry, codec.encode(entry))
    except (StoreError, TypeError):
        return None
