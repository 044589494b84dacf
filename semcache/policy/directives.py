"""Applies what a client asked of the cache, one step a wish; every step can only tighten.

Pure. The steps are a list so that serving a request and explaining it run the same code.
Wishes that are not knobs (`no-cache`, `only-if-cached`, namespace, tags) are the pipeline's.
A number that is no number (NaN) is no wish.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from semcache.core import AloneRule, CachePolicy, ChatRequest, Directives, Mode, Scope
from semcache.policy.domain import NEVER
from semcache.policy.match import MODES


@dataclass(frozen=True, slots=True)
class Wishes:
    """The part of a request's wishes that policies look at; hashable.

    `user` is whether the client asked to keep this end user apart, `named` whether an end user
    is named at all (by header or in the body).
    """

    mode: str = "auto"
    ttl: float | None = None
    threshold: float | None = None
    max_age: float | None = None
    no_store: bool = False
    user: bool = False
    named: bool = False


NO_WISHES = Wishes(named=True)


def wishes_of(request: ChatRequest, directives: Directives) -> Wishes:
    """Pick out what matters here."""
    user = bool(directives.user)
    return Wishes(
        mode=directives.mode,
        ttl=_number(directives.ttl),
        threshold=_number(directives.threshold),
        max_age=_number(directives.max_age),
        no_store=directives.no_store,
        user=user,
        named=user or bool(request.end_user),
    )


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


Step = Callable[[CachePolicy, Wishes], CachePolicy]


def _mode(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    match wishes.mode:
        case "off":
            return replace(policy, mode=Mode.OFF)
        case "exact":
            return replace(policy, mode=min(policy.mode, Mode.EXACT, key=MODES.index))
        case "draft":
            return _only_drafts(policy)
        case _:
            return policy


def _only_drafts(policy: CachePolicy) -> CachePolicy:
    """Let nothing be served by meaning; the draft band then reaches up to equality."""
    return replace(policy, threshold=NEVER, verified_threshold=NEVER, alone=AloneRule())


def _least(policy: CachePolicy) -> float:
    return min(policy.draft_threshold, policy.verified_threshold, policy.alone.threshold)


def _threshold(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    if wishes.threshold is None or wishes.threshold <= _least(policy):
        return policy
    asked = min(wishes.threshold, NEVER)
    return replace(
        policy,
        threshold=max(policy.threshold, asked),
        verified_threshold=max(policy.verified_threshold, asked),
        draft_threshold=max(policy.draft_threshold, asked),
        alone=replace(policy.alone, threshold=max(policy.alone.threshold, asked)),
        # The pairs stand for the policy's own threshold; the scales hold for every one.
    )


def _lifetime(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    if wishes.ttl is None or wishes.ttl >= policy.ttl:
        return policy
    if wishes.ttl <= 0:
        return replace(policy, ttl=0.0, store=False)
    return replace(policy, ttl=wishes.ttl)


def _age(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    asked = wishes.max_age
    if asked is None or (policy.max_age is not None and asked >= policy.max_age):
        return policy
    return replace(policy, max_age=max(asked, 0.0))


def _no_store(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    return replace(policy, store=False) if wishes.no_store and policy.store else policy


def _user(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    return replace(policy, scope=Scope.USER) if wishes.user and policy.scope is not Scope.USER else policy


def _nobody(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    """Close the cache where answers belong to one user and the request names none.

    All nameless callers would otherwise count as the same user.
    """
    alone = policy.scope is Scope.USER and not wishes.named and policy.mode is not Mode.OFF
    return replace(policy, mode=Mode.OFF) if alone else policy


STEPS: tuple[tuple[str, Step], ...] = (
    ("the client's mode", _mode),
    ("the client's threshold", _threshold),
    ("the client's lifetime", _lifetime),
    ("the client's greatest age", _age),
    ("the client's no-store", _no_store),
    ("the client's end user", _user),
    ("scope user, and the request names no user", _nobody),
)
"""In the order applied; the last one needs the scope that the ones before it left."""


def apply(policy: CachePolicy, wishes: Wishes) -> CachePolicy:
    """Tighten a policy by all wishes."""
    for _, step in STEPS:
        policy = step(policy, wishes)
    return policy
