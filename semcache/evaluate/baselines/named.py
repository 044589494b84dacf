"""Baselines by the name that `--baseline` gives them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from semcache.errors import SemcacheError
from semcache.evaluate.baselines.rule import Peer, Scale
from semcache.evaluate.baselines.threshold import GptCache, RedisVl, Static
from semcache.evaluate.baselines.vcache import VCache

KNOWN = "static:THRESHOLD (as static:0.95), gptcache, redisvl, vcache:DELTA (as vcache:0.02)"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline as asked for; `make` gives a fresh one for a scale and a source of chance."""

    name: str
    make: Callable[[Scale, random.Random], Peer]


def baseline(name: str) -> Baseline:
    """Find a baseline.

    Raises:
        SemcacheError: there is none of this name, or its number is not between 0 and 1.
    """
    kind, colon, argument = name.partition(":")
    match kind, bool(colon):
        case "gptcache", False:
            return Baseline(name, lambda scale, _: GptCache(scale))
        case "redisvl", False:
            return Baseline(name, lambda scale, _: RedisVl(scale))
        case "static", True:
            threshold = _share(name, argument)
            return Baseline(name, lambda scale, _: Static(threshold, scale))
        case "vcache", True:
            delta = _share(name, argument)
            return Baseline(name, lambda scale, chance: VCache(delta, scale, chance))
        case _:
            raise SemcacheError(f"there is no baseline {name!r}; there are: {KNOWN}")


def _share(name: str, argument: str) -> float:
    try:
        value = float(argument)
    except ValueError:
        value = -1.0
    if not 0.0 < value < 1.0:
        raise SemcacheError(f"baseline {name!r}: the number should lie between 0 and 1; there are: {KNOWN}")
    return value
