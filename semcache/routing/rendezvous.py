"""Weighted rendezvous hashing: which of several nodes a key belongs to, and which comes next. Pure.

Every node gets a score from key and name alone, so that losing one moves its own keys and no others, and a node that
comes takes its share from all (the logarithmic method of Schindelhauer and Schomaker, "Weighted Distributed Hash
Tables", SPAA 2005). All processes rank alike, whatever order their configuration has.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

_SPACE = float(1 << 64)


def ranked(key: bytes, weights: Mapping[str, float]) -> list[str]:
    """Give the names, the key's home first; those of weight 0 stand last."""
    return sorted(weights, key=lambda name: _score(key, name, weights[name]), reverse=True)


def _score(key: bytes, name: str, weight: float) -> tuple[float, float]:
    digest = hashlib.blake2b(name.encode(), key=key[:64], digest_size=8).digest()
    share = (int.from_bytes(digest, "big") + 0.5) / _SPACE
    # The largest digest rounds to 1, whose logarithm is 0.
    return weight / -math.log(min(share, 1 - 2**-53)), share
