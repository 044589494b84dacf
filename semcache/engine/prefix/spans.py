"""A prompt's layers as spans: who owns which stretch of exactly these tokens.

Knows nothing of trees. Adjacent layers of one owner are one span, so that equal ownership is
written in one way only.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.engine.layers import NOBODY, Layers, Owner
from semcache.engine.prefix.faults import TokensError

Span = tuple[int, Owner]
"""The end of a stretch in tokens, and its owner; it begins where the span before ends."""

TOKEN_BYTES = 4


def token_count(tokens: bytes) -> int:
    """Count the int32 tokens in `tokens`.

    Raises:
        TokensError: the bytes are not a whole number of tokens.
    """
    if len(tokens) % TOKEN_BYTES:
        message = f"{len(tokens)} bytes are not a whole number of int32 tokens"
        raise TokensError(message)
    return len(tokens) // TOKEN_BYTES


def spans_of(layers: Layers, count: int) -> tuple[Span, ...]:
    """Give the spans of a prompt of `count` tokens; the last one ends at `count`. None for no tokens.

    Raises:
        TokensError: the layers' ends do not grow strictly from above 0.
    """
    merged: list[Span] = []
    before = 0
    for layer in layers:
        if layer.end <= before:
            message = f"layer ends must grow: {layer.end} after {before}"
            raise TokensError(message)
        before = layer.end
        if merged and merged[-1][1] == layer.owner:
            merged.pop()
        merged.append((before, layer.owner))
    if not merged:
        merged.append((count, NOBODY))
    merged[-1] = (max(merged[-1][0], count), merged[-1][1])
    return clipped(merged, count)


def clipped(spans: Sequence[Span], length: int) -> tuple[Span, ...]:
    """Give the spans of the first `length` tokens."""
    kept: list[Span] = []
    for end, owner in spans:
        if end >= length:
            if length:
                kept.append((length, owner))
            break
        kept.append((end, owner))
    return tuple(kept)


def public_part(spans: Sequence[Span], length: int) -> int:
    """Count the tokens among the first `length` that everybody may share."""
    found = start = 0
    for end, owner in spans:
        if start >= length:
            break
        if owner.is_public:
            found += min(end, length) - start
        start = end
    return found
