"""How alike two answers are by the encoder: a hint about wording, for whoever compares answers beside requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from semcache.asking.pace import Pace
from semcache.core import Embedding
from semcache.errors import EncoderError
from semcache.ports import Clock, Encoder

_BEGINNING = 500
"""Characters of an answer that are compared."""

Similar = Callable[[str, str], Awaitable[float | None]]
"""Gives how alike two answers are, on the reference scale; None where no encoder can tell."""


def similar_by(encoder: Encoder, pace: Pace, clock: Clock) -> Similar:
    """Give what tells how alike two answers are, on the encoder's reference scale.

    It compares their beginnings, and not more of them than `pace` allows: likeness is a hint about wording here and decides
    nothing, and the encoder's time belongs to questions.
    """

    async def encoded(text: str) -> Embedding:
        return await encoder.encode(text[:_BEGINNING])

    async def similar(one: str, other: str) -> float | None:
        if not pace.take(clock.monotonic()):
            return None
        try:
            left, right = await encoded(one), await encoded(other)
        except EncoderError:
            return None  # no text for it, or too busy with requests
        if left.encoder != right.encoder:
            return None
        return encoder.to_reference(left.encoder, float(left.vector @ right.vector))

    return similar
