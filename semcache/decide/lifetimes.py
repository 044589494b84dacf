"""How long a stored answer may live: as policy and client say, and for minutes where it is about the present. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import CachePolicy, Directives
from semcache.decide.volatile import is_volatile


@dataclass(frozen=True, slots=True)
class ShortLife:
    """What makes answers live `volatile_ttl` at most.

    Attributes:
        what: it is, for the docs.
        holds: tells it from the last user text (None: there is none) and whether the model looked on the web.
    """

    what: str
    holds: Callable[[str | None, bool], bool]


def _is_of_the_moment(prompt: str | None, searched: bool) -> bool:
    del searched
    return prompt is not None and is_volatile(prompt)


def _is_searched(prompt: str | None, searched: bool) -> bool:
    del prompt
    return searched


SHORT_LIVES: tuple[ShortLife, ...] = (
    ShortLife(
        "a question about the present: today, tomorrow, the latest, news, weather, prices, rates, the time",
        _is_of_the_moment,
    ),
    ShortLife("an answer that the model looked up on the web", _is_searched),
)


def lifetime(
    policy: CachePolicy,
    directives: Directives,
    jitter01: float,
    prompt: str | None = None,
    *,
    searched: bool = False,
) -> float:
    """Give the seconds an entry may live.

    Args:
        policy: Its `ttl`, spread by `ttl_jitter` (a fraction) so that entries do not expire together.
        directives: The client's `ttl` may shorten the result, never lengthen it.
        jitter01: A uniform number in [0, 1]; 0 gives the shortest life, 1 the longest.
        prompt: The last user text; one about the present lives `volatile_ttl` at most.
        searched: The model may have looked on the web: so long lives such an answer, too.
    """
    spread = policy.ttl_jitter * (2.0 * min(1.0, max(0.0, jitter01)) - 1.0)
    seconds = max(0.0, policy.ttl * (1.0 + spread))
    if seconds > policy.volatile_ttl and any(row.holds(prompt, searched) for row in SHORT_LIVES):
        seconds = max(0.0, policy.volatile_ttl)
    if directives.ttl is None:
        return seconds
    # `ttl` that is not a number compares false: no life at all.
    return min(seconds, directives.ttl) if directives.ttl > 0 else 0.0
