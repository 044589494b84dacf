"""Builds whoever answers: the clients of upstreams, the routes over them, and the names of models.

A route and its upstreams share one client each, so that connections, breaker and places count for both. All are made
together and closed together.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from semcache.answer.interpreting import Interpreter
from semcache.answer.limits import Limits
from semcache.answer.places import Room
from semcache.answer.tenant_places import Bounded, TenantPlaces
from semcache.answer.upstream import HttpUpstream
from semcache.core import TenantId
from semcache.cost.metrics import Metrics
from semcache.dialects.dialect import Family
from semcache.dialects.table import BY_NAME
from semcache.journey import Backend
from semcache.models.catalogue import resolve
from semcache.policy.snapshot import PolicySnapshot
from semcache.prefixes import Prefixes
from semcache.routing.aliases import Alias
from semcache.routing.balance import Balance
from semcache.routing.checks import Telling, common_speech, told_in
from semcache.routing.credentials import key_pair
from semcache.routing.hearing import Ears
from semcache.routing.route import Retrying, Route
from semcache.routing.salting import Salting
from semcache.routing.settings import (
    CHAT,
    ENGINE_SPEAKS,
    TRANSLATED,
    RouteSettings,
    TargetSettings,
    UpstreamSettings,
    codes_of,
    statuses_of,
)
from semcache.routing.sharing import Sharing
from semcache.routing.target import Member, Spoken, Target
from semcache.routing.widths import Widths
from semcache.settings import Settings, key_of

_VERSIONS = {"anthropic.messages": ((b"anthropic-version", b"2023-06-01"),)}
"""What dialects want to be told beside the request."""


def backends_of(
    settings: Settings, engine_socket: str, prefixes: Prefixes | None, ears: Ears | None = None
) -> dict[str, Backend]:
    """Give everything that can answer, by name: upstreams, the local engine when it runs, routes.

    Args:
        settings: checked (see `load_settings`).
        engine_socket: where the local engine listens; "": it does not run.
        prefixes: what the engine alone is told of whose prompts are.
        ears: hear what becomes of routed calls, and get to know the upstreams.

    Raises:
        PolicyError: a secret cannot be resolved.
    """
    members = {name: _member(name, upstream) for name, upstream in settings.all_upstreams.items()}
    backends = {name: _backend(members[name], settings.all_upstreams[name]) for name in members}
    engine = settings.engine.name
    if engine_socket:
        client = HttpUpstream(engine, f"unix:{engine_socket}")
        identity = f"engine:{_model_identity(settings)}"
        backends[engine] = Backend(
            client, identity, stream_usage=True, prefixes=prefixes, speaks=ENGINE_SPEAKS
        )
        # On a route it is a node like others: it is told by a salt whose a prompt is.
        members[engine] = Salting(client)
    for name, route in settings.routes.items():
        backends[name] = _Built(settings, members, name, route).backend(ears)
    if ears is not None:
        ears.members = tuple(members.values())
    return backends


def bounded(
    backends: Mapping[str, Backend], policies: Callable[[], PolicySnapshot]
) -> tuple[dict[str, Backend], TenantPlaces]:
    """Give the same backends, with calls held to what their tenants may have under way, and what holds them to it."""

    def room_of(tenant: str) -> Room:
        told = policies().limits(TenantId(tenant))
        return Room(told.concurrent, told.queue, told.seconds)

    places = TenantPlaces(room_of)
    held = {
        name: replace(backend, generator=Bounded(backend.generator, places))
        for name, backend in backends.items()
    }
    return held, places


def told_to(ears: Ears, places: TenantPlaces, metrics: Metrics) -> None:
    """Let metrics hear of routed calls and refused ones, and look at the loads of upstreams and tenants."""
    ears.listener = metrics.routes
    metrics.routes.loads.members = ears.members
    places.refused = metrics.calls.refused
    metrics.calls.loads.of = places.loads


def aliases_of(settings: Settings) -> dict[str, Alias]:
    """Give what the names of models stand for."""
    return {name: Alias(told.model or name, told.upstream or "") for name, told in settings.models.items()}


def client_of(name: str, upstream: UpstreamSettings) -> HttpUpstream:
    """Give the client of an upstream."""
    limits = Limits(
        connect=upstream.connect_timeout,
        head=upstream.first_byte_timeout,
        idle=upstream.idle_timeout,
        connections=upstream.max_connections,
        breaker_threshold=upstream.breaker_threshold,
        breaker_pause=upstream.breaker_pause,
        breaker_statuses=statuses_of(upstream.breaker_on),
        breaker_codes=codes_of(upstream.breaker_on),
        concurrent=upstream.max_concurrent,
        waiting=upstream.max_queue,
        patience=upstream.queue_seconds,
    )
    return HttpUpstream(name, upstream.base, limits)


def _member(name: str, upstream: UpstreamSettings) -> Member:
    client = client_of(name, upstream)
    return Salting(client) if upstream.cache_salt else client


def _backend(member: Member, upstream: UpstreamSettings) -> Backend:
    return Backend(
        generator=member,
        identity=member.name,
        authorization=f"Bearer {key_of(member.name, upstream.api_key)}" if upstream.api_key else None,
        stream_usage=upstream.stream_usage,
        predicts=upstream.predicted_outputs,
        speaks=upstream.native,
        protocol=upstream.speech,
    )


@dataclass(frozen=True, slots=True)
class _Built:
    """One route while it is put together."""

    settings: Settings
    members: Mapping[str, Member]
    name: str
    route: RouteSettings

    def backend(self, heard: Ears | None) -> Backend:
        route = self.route
        upstreams = self.settings.all_upstreams
        told = [upstreams.get(target.name) for target in (*route.upstreams, *route.fallback)]
        own = told[: len(route.upstreams)]
        first = route.upstreams[0]
        speech = common_speech(route, self._speaks())
        return Backend(
            generator=Route(
                name=self.name,
                targets=tuple(self._targets()),
                sharing=self._sharing(),
                retrying=Retrying(statuses_of(route.retry_on), codes_of(route.retry_on), route.tries),
                heard=heard,
            ),
            # Whoever answers, answers as the route's first upstream would; nodes may come and go.
            identity=f"route:{self.name}:{first.model or ''}",
            stream_usage=all(upstream is None or upstream.stream_usage for upstream in told),
            predicts=all(upstream is not None and upstream.predicted_outputs for upstream in own),
            speaks=speech,
            protocol=self._family(first.name),
        )

    def _sharing(self) -> Sharing:
        route = self.route
        match route.nodes_per_prompt:
            case "auto" if route.balance == "prefix":
                near: int | Widths | None = Widths(sum(target.weight > 0 for target in route.upstreams))
            case int(count):
                near = count
            case _:
                near = None
        return Sharing(Balance(route.load_factor, route.floor), near)

    def _speaks(self) -> dict[str, frozenset[str]]:
        speaks = {name: upstream.native for name, upstream in self.settings.all_upstreams.items()}
        return {**speaks, self.settings.engine.name: ENGINE_SPEAKS}

    def _targets(self) -> list[Target]:
        own = [self._target(target, is_fallback=False) for target in self.route.upstreams]
        return own + [self._target(target, is_fallback=True) for target in self.route.fallback]

    def _target(self, target: TargetSettings, *, is_fallback: bool) -> Target:
        upstream = self.settings.all_upstreams.get(target.name)
        first = self.route.upstreams[0]
        same_model = not is_fallback and target.model == first.model
        key = upstream.api_key if upstream is not None else None
        family = self._family(target.name)
        member, speaks = self._told(target.name)
        return Target(
            member=member,
            speaks=speaks,
            family=family,
            weight=target.weight,
            model=target.model or "",
            key=key_pair(family, key_of(target.name, key)) if key is not None else None,
            is_own=same_model if target.stored is None else target.stored,
            is_fallback=is_fallback,
            takes_client_keys=self.route.client_keys == "all" or self._is_beside(target.name, first.name),
            is_inner=upstream is None,
        )

    def _told(self, name: str) -> tuple[Member, frozenset[str]]:
        """Give an upstream and what it takes: chat alone, through an interpreter, where it has no dialect of the route's."""
        member, native = self.members[name], self._speaks()[name]
        if told_in(common_speech(self.route, self._speaks()), native) is Telling.AS_IT_IS:
            return member, native
        dialect = BY_NAME[next(own for own in sorted(TRANSLATED) if own in native)]
        headers = _VERSIONS.get(dialect.name, ())
        interpreter = Interpreter(member, dialect, headers, partial(secrets.token_hex, 12), time.time)
        return Spoken(member, interpreter), frozenset({CHAT})

    def _family(self, name: str) -> Family:
        upstream = self.settings.all_upstreams.get(name)
        return upstream.speech if upstream is not None else "openai"

    def _is_beside(self, name: str, other: str) -> bool:
        """True for one host and port under two names: what is sent to one is told to the other's owner anyway."""
        return name == other or (self._origin(name) is not None and self._origin(name) == self._origin(other))

    def _origin(self, name: str) -> tuple[str, str] | None:
        upstream = self.settings.all_upstreams.get(name)
        if upstream is None:
            return None
        parts = urlsplit(upstream.base_url)
        return parts.scheme, parts.netloc.lower()


def _model_identity(settings: Settings) -> str:
    """Tell the local model's weights apart, so that another model never answers from the old one's entries."""
    folder = Path(resolve(settings.engine.model, settings.data))
    manifest = folder / "semcache-model.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_bytes()).get("fingerprint", folder.name))
    return hashlib.sha256(str(folder).encode()).hexdigest()
