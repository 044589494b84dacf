"""Pure arithmetic on vectors, and the refusals that need no model.

Knows nothing of models or threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.errors import EncoderError

CHARACTERS_PER_TOKEN = 32
"""More characters a token than this, over a whole window, and a text is refused unread.

Real text has 1 (Chinese) to 6 (English) characters a token. The bound keeps a megabyte of
text from reaching the tokenizer at all; what it wrongly refuses is mostly white space.
"""

_TINY = 1e-6


def check_text(text: str, window: int) -> None:
    """Refuse what no encoder should be asked.

    Args:
        text: the text as asked, without prefix.
        window: tokens that the encoder can see.

    Raises:
        EncoderError: `empty`, `too_long` (beyond any doubt), or `unknown_script` for text that is
            not encodable as UTF-8 (lone surrogates).
    """
    if not text or text.isspace():
        raise EncoderError("the text is empty", kind="empty")
    if len(text) > window * CHARACTERS_PER_TOKEN:
        raise EncoderError(f"the text has {len(text)} characters", kind="too_long")
    if not is_encodable(text):
        raise EncoderError("the text holds lone surrogates", kind="unknown_script")


def check_tokens(tokens: int, window: int, content: int, unknown: int, max_unknown_share: float) -> None:
    """Refuse a tokenized text that the encoder would not see whole.

    Args:
        tokens: all tokens, special ones and prefix included.
        window: tokens that the encoder can see.
        content: tokens of the text itself.
        unknown: how many of them are the unknown token.
        max_unknown_share: tolerated share of unknown among content tokens, in [0, 1].

    Raises:
        EncoderError: `too_long`, `empty` (nothing but characters that the tokenizer drops), or
            `unknown_script`.
    """
    if tokens > window:
        raise EncoderError(f"{tokens} tokens exceed the window of {window}", kind="too_long")
    if content <= 0:
        raise EncoderError("the tokenizer sees nothing in the text", kind="empty")
    if unknown > max_unknown_share * content:
        raise EncoderError(f"{unknown} of {content} tokens are unknown", kind="unknown_script")


def is_encodable(text: str) -> bool:
    """True when the text is valid Unicode (no lone surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mean_pool(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """Average token states over real tokens: [n, s, d] and [n, s] to [n, d]."""
    weights = mask.astype(np.float32)
    counts = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    pooled: NDArray[np.float32] = np.einsum("nsd,ns->nd", states, weights) / counts
    return pooled


def unit(row: NDArray[np.float32]) -> Vector:
    """Scale a row to unit length: float32 [d], C-contiguous, read-only (it is shared by a memo).

    Raises:
        EncoderError: the row is not finite or is (nearly) zero: the model broke.
    """
    vector = np.array(row, dtype=np.float32, order="C").reshape(-1)
    length = float(np.sqrt(np.dot(vector.astype(np.float64), vector)))
    if not np.isfinite(length):
        raise EncoderError("the encoder gave a vector that is not finite")
    if length < _TINY:
        raise EncoderError("the encoder gave a zero vector")
    vector /= np.float32(length)
    vector.setflags(write=False)
    return vector


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of two unit vectors, clipped to [-1, 1]."""
    return float(np.clip(np.dot(a, b), -1.0, 1.0))
