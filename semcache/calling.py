"""How a request is put to its backend: in which dialect, under which key, in which bytes.

A backend that speaks the client's dialect gets the client's own words; every other one is asked in chat's, and what
chat cannot say is refused rather than dropped.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from semcache.core import CachePolicy, Caller, ChatRequest, Draft, Scope
from semcache.dialects.request import in_chat
from semcache.dialects.unsaid import refusal
from semcache.errors import RequestError
from semcache.journey import Asked, Backend, Step
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import UpstreamCall
from semcache.routing.affinity import affinity_of

Pair = tuple[bytes, bytes]

_JSON = (b"content-type", b"application/json")
_OF_THE_BODY = frozenset((b"content-type", b"content-length"))
_OF_A_DIALECT = (b"anthropic-", b"openai-", b"x-goog-", b"x-stainless-")
"""Beginnings of header names that speak of one API: not for a backend that is asked in other words."""
_KEY_HEADERS = {"anthropic": b"x-api-key", "gemini": b"x-goog-api-key"}


def spoken(asked: Asked, backend: Backend) -> Asked:
    """Give the request in the dialect in which this backend is asked.

    Raises:
        RequestError: 400 with `param`: the backend does not speak the client's dialect, and something in the request cannot
            be said in chat's words.
    """
    request = asked.request
    if request.native is None or request.dialect in backend.speaks:
        return asked
    if request.unsayable:
        raise refusal(request, backend.generator.name)
    return replace(
        asked,
        request=in_chat(request),
        headers=_without_dialect(asked.headers),
        answer_changing=tuple(
            pair for pair in asked.answer_changing if not pair[0].encode().startswith(_OF_A_DIALECT)
        ),
    )


def renamed(asked: Asked, request: ChatRequest) -> Asked:
    """Give the same for a request whose model's name was resolved: not even bytes that cannot be hashed say another one."""
    if asked.raw_body is None:
        return replace(asked, request=request)
    body = request.body if request.native is None else request.native
    return replace(asked, request=request, raw_body=json.dumps(body).encode())


def no_upstream(name: str, known: Iterable[str]) -> RequestError:
    """Give the refusal of a name that no upstream has."""
    near = difflib.get_close_matches(name, list(known), 1)
    message = f"There is no upstream named {name!r}{f'; did you mean {near[0]!r}?' if near else '.'}"
    return RequestError(message, code="unknown_upstream", param="Semcache-Upstream")


def is_translated(asked: Asked) -> bool:
    """True when the backend is asked in other words than the client's."""
    return asked.request.dialect != asked.dialect.name


def auth_of(backend: Backend, caller: Caller | None, *, native: bool = False) -> list[Pair]:
    """Give the headers that let a call in: the caller's own key, else the managed one.

    Args:
        backend: who is asked; its protocol says where keys stand.
        caller: whose request it is; None: the managed key alone.
        native: the caller's own call goes on as it came, so that a bearer token may be more than a key.
    """
    credential = backend.authorization if caller is None else backend.credential(caller)
    if credential is None:
        return []
    name = _KEY_HEADERS.get(backend.protocol)
    scheme, _, key = credential.partition(" ")
    own = caller is not None and caller.authorization is not None
    if (
        name is None
        or scheme.lower() != "bearer"
        or (own and native and caller is not None and not caller.by_key)
    ):
        return [(b"authorization", credential.encode("latin-1"))]
    return [(name, key.encode("latin-1"))]


def call_of(asked: Asked, backend: Backend, policy: CachePolicy, by: PolicySnapshot) -> UpstreamCall:
    """Give the request as the backend shall see it: the very JSON that was keyed.

    The local engine is told, beside it, whose the prompt is under `policy`, which `by` gave.
    """
    request = asked.request
    affinity = affinity_of(request, _owner(asked, policy))
    headers = [pair for pair in asked.headers if pair[0].lower() not in _OF_THE_BODY]
    headers += [_JSON, (b"accept-encoding", b"identity")]
    headers += auth_of(backend, asked.caller, native=request.native is not None)
    if request.native is not None:
        content = asked.raw_body if asked.raw_body is not None else orjson.dumps(request.native)
        return UpstreamCall(
            "POST", request.path, tuple(headers), content, request.query, affinity, policy.tenant
        )
    body: Mapping[str, Any] = request.body
    if backend.prefixes is not None:
        body = backend.prefixes.prepared(request, asked.caller, asked.directives, policy, by)
    translated = is_translated(asked)
    if translated:
        body = {name: value for name, value in body.items() if name not in ("stream", "stream_options")}
        body = {**body, "stream": True} if request.stream else body
    if request.stream and (translated or (backend.stream_usage and not request.include_usage)):
        options = body.get("stream_options")
        body = {**body, "stream_options": {**(options or {}), "include_usage": True}}
    content = _content(asked, backend, body)
    return UpstreamCall(
        "POST", request.path, tuple(headers), content, affinity=affinity, tenant=policy.tenant
    )


def _owner(asked: Asked, policy: CachePolicy) -> str:
    """Name who shares computed prompts, as `journey.partition_of` names who shares answers."""
    user = asked.directives.user or asked.request.end_user if policy.scope is Scope.USER else ""
    return f"{asked.caller.tenant}\0{asked.caller.principal}\0{user}"


def flight_key(step: Step, *, drafts: bool) -> str:
    """Say who may share a call: equal requests; a stream with usage cannot be had from one without.

    A request that found no draft, or must not use one, has no part in the call of one that does (`drafts`: they are made).
    Nor has one that was asked after an invalidation in a call from before: that answer is as old as those that went.
    """
    request = step.asked.request
    with_usage = request.stream and request.include_usage and not step.backend.stream_usage
    drafted = drafts and isinstance(step.trace.decision, Draft)
    born = repr(step.epochs.values) if step.epochs is not None else ""
    words = ["usage" if with_usage else "", "draft" if drafted else "", born]
    if request.native is not None:
        # Where the path or the query says how an answer is framed, other framings are other calls.
        words += [request.path, request.query.decode("latin-1")]
    return ":".join((step.policy.tenant, step.key, *words))


def _content(asked: Asked, backend: Backend, body: Mapping[str, Any]) -> bytes:
    if asked.raw_body is None:
        return orjson.dumps(body)
    # Not even text that is no Unicode brings the engine a word about owners that is not ours.
    plain = backend.prefixes is None and not is_translated(asked)
    return asked.raw_body if plain else json.dumps(body).encode()


def _without_dialect(headers: tuple[Pair, ...]) -> tuple[Pair, ...]:
    return tuple(pair for pair in headers if not pair[0].lower().startswith(_OF_A_DIALECT))
