"""What the parts of a configuration say of one another: routes of upstreams, aliases of either. Pure.

Every mistake names its setting, and the nearest name that exists.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum

from semcache.errors import PolicyError
from semcache.routing.settings import (
    CHAT,
    ENGINE_SPEAKS,
    TRANSLATED,
    AliasSettings,
    RouteSettings,
    UpstreamSettings,
)


def check_routes(
    upstreams: Mapping[str, UpstreamSettings],
    engine: str | None,
    routes: Mapping[str, RouteSettings],
    models: Mapping[str, AliasSettings],
) -> None:
    """Refuse what cannot be meant.

    Args:
        upstreams: by name.
        engine: name of the local engine when it runs.
        routes: by name.
        models: aliases by the name that clients give.

    Raises:
        PolicyError: says which setting and why.
    """
    speaks = {name: upstream.native for name, upstream in upstreams.items()}
    if engine in speaks:
        raise PolicyError(f"upstreams.{engine}: the local engine runs under that name; see engine.name")
    if engine is not None:
        speaks[engine] = ENGINE_SPEAKS
    for name, route in routes.items():
        if name in speaks:
            raise PolicyError(
                f"routes.{name}: there is an upstream of that name; a route needs one of its own"
            )
        _check_route(name, route, speaks, routes)
    names = [*speaks, *routes]
    for alias, told in models.items():
        if told.upstream is not None and told.upstream not in names:
            raise PolicyError(f"models.{alias}.upstream: {_unknown(told.upstream, names)}")
        if told.upstream is None and told.model in models and told.model != alias:
            raise PolicyError(
                f"models.{alias}.model: {told.model!r} stands in models too, and is not looked up again;"
                " say what it stands for, or name the upstream that knows it"
            )


def common_speech(route: RouteSettings, speaks: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Give the dialects that every upstream of a route (fallbacks aside) takes as they come."""
    return frozenset.intersection(*(speaks[target.name] for target in route.upstreams))


def _check_route(
    name: str,
    route: RouteSettings,
    speaks: Mapping[str, frozenset[str]],
    routes: Mapping[str, RouteSettings],
) -> None:
    seen: set[tuple[str, str | None]] = set()
    for part, targets in (("upstreams", route.upstreams), ("fallback", route.fallback)):
        for number, target in enumerate(targets):
            place = f"routes.{name}.{part}.{number}"
            if target.name not in speaks:
                is_route = f"{target.name!r} is a route; a route names upstreams"
                told = is_route if target.name in routes else _unknown(target.name, speaks)
                raise PolicyError(f"{place}.name: {told}")
            if (target.name, target.model) in seen:
                raise PolicyError(f"{place}.name: {target.name!r} stands in this route already")
            seen.add((target.name, target.model))
    if not any(target.weight for target in route.upstreams):
        raise PolicyError(f"routes.{name}.upstreams: every weight is 0; one must be more")
    common = common_speech(route, speaks)
    if not common:
        raise PolicyError(f"routes.{name}.upstreams: they have no dialect in common; see their `speaks`")
    for number, target in enumerate(route.fallback):
        place = f"routes.{name}.fallback.{number}"
        match told_in(common, speaks[target.name]):
            case Telling.NOT:
                raise PolicyError(
                    f"{place}.name: {target.name!r} takes none of what the route's upstreams are told in "
                    f"({', '.join(sorted(common))}); it could never be asked"
                )
            case Telling.TRANSLATED if target.model is None:
                raise PolicyError(
                    f"{place}.model: say which model of {target.name!r} answers; its API is another, so that it "
                    "does not know the names of the route's"
                )


class Telling(StrEnum):
    """How a fallback can be told what a route's upstreams are."""

    AS_IT_IS = "as it is"
    TRANSLATED = "translated"
    NOT = "not"


def told_in(common: frozenset[str], native: frozenset[str]) -> Telling:
    """Say how an upstream that speaks `native` can be asked for others that have `common` in common."""
    if common & native:
        return Telling.AS_IT_IS
    return Telling.TRANSLATED if CHAT in common and TRANSLATED & native else Telling.NOT


def _unknown(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
    return f"there is no upstream named {name!r}; {hint}"
