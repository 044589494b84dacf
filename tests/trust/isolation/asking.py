"""Draws asks at random: mostly few popular ones, so that many are asked again, and now and then everything else. Pure.

An ask is drawn from the seed and its number alone, whatever happened before it: the same seed gives the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from tests.trust.isolation.corpus import TOPICS
from tests.trust.isolation.world import (
    DIALECTS,
    EXTRAS,
    LANGUAGES,
    MAX_TOKENS,
    TAGS,
    TEMPERATURES,
    TENANTS,
    TOOLS,
    Ask,
    Size,
)

T = TypeVar("T")


def drawn(seed: int, number: int, size: Size) -> Ask:
    """Draw the ask of this number in the plan of this seed."""
    by = Random(f"{seed}:{number}")
    near = by.random()
    if number and near < 0.6:
        # Somebody else, or the same one, asks what was asked a moment ago: the same, in other words, or almost the same.
        before = drawn(seed, by.randrange(max(0, number - 400), number), size)
        again = replace(before, number=number, stream=by.random() < 0.35, no_store=False, no_cache=False)
        if near < 0.3:
            return again
        if near < 0.45:
            return replace(again, text=by.choice(again.wish.wordings))
        return _sideways(by, again, size)
    return _fresh(by, number, size)


def _fresh(by: Random, number: int, size: Size) -> Ask:
    tenant = by.choices(TENANTS, (5, 3, 5, 3))[0]
    leans = by.random() < 0.06
    wish = size.leaning if leans else _popular(by, size.wishes)
    has_user = tenant.scope == "user" or by.random() < 0.4
    dialect = DIALECTS[0] if by.random() < 0.88 else by.choice(DIALECTS[1:])
    tools = by.choice(TOOLS[1:]) if dialect == "chat" and not leans and by.random() < 0.03 else ""
    says_topic = leans or by.random() < 0.06
    return Ask(
        number=number,
        tenant=tenant.name,
        key=by.choice(tenant.keys),
        wish=wish,
        text=_popular(by, wish.wordings),
        user=_popular(by, size.users) if has_user else "",
        user_by="header" if dialect == "ollama" or by.random() < 0.3 else "field",
        namespace=_popular(by, size.namespaces),
        model=_popular(by, size.models),
        system=_popular(by, size.systems),
        topic=by.choice(tuple(TOPICS)) if says_topic and not tools else "",
        tools=tools,
        temperature=_seldom(by, TEMPERATURES) if dialect != "responses" else None,
        max_tokens=MAX_TOKENS if dialect == "anthropic" else _seldom(by, (None, MAX_TOKENS), 0.02),
        language=_seldom(by, LANGUAGES),
        extra=_seldom(by, EXTRAS) if dialect == "chat" else "",
        tags=tuple(sorted(by.sample(TAGS, by.choice((1, 2))))) if by.random() < 0.1 else (),
        dialect=dialect,
        stream=by.random() < 0.35,
        no_store=by.random() < 0.04,
        no_cache=by.random() < 0.03,
    )


def _sideways(by: Random, ask: Ask, size: Size) -> Ask:
    """Change one thing that sets two askers apart, and nothing else."""
    what = by.choice(("who", "who", "user", "temperature", "topic", "wish", "where", "where", "where"))
    match what:
        case "who":
            tenant = by.choice(TENANTS)
            return replace(ask, tenant=tenant.name, key=by.choice(tenant.keys))
        case "user":
            by_header = ask.dialect == "ollama" or by.random() < 0.3
            return replace(ask, user=by.choice(size.users), user_by="header" if by_header else "field")
        case "temperature" if ask.dialect != "responses":
            return replace(ask, temperature=by.choice(TEMPERATURES))
        case "wish" if not ask.wish.leans:
            wish = by.choice(size.wishes)
            return replace(ask, wish=wish, text=by.choice(wish.wordings))
        case "topic" if ask.topic:
            return replace(ask, topic=by.choice(tuple(TOPICS)))
        case _:
            return _elsewhere(by, ask, size)


def _elsewhere(by: Random, ask: Ask, size: Size) -> Ask:
    match by.choice(("namespace", "model", "system", "language")):
        case "namespace":
            return replace(ask, namespace=by.choice(size.namespaces))
        case "model":
            return replace(ask, model=by.choice(size.models))
        case "system":
            return replace(ask, system=by.choice(size.systems))
        case _:
            return replace(ask, language=by.choice(LANGUAGES))


def _popular(by: Random, several: Sequence[T]) -> T:
    """Draw one; the first ones far more often than the last."""
    return several[int(len(several) * by.random() ** 2.2)]


def _seldom(by: Random, several: Sequence[T], share: float = 0.05) -> T:
    return by.choice(several[1:]) if by.random() < share else several[0]
