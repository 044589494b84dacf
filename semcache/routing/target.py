"""One upstream of a route, and a call as that upstream is to see it.

Decides nothing: who is asked stands in `route`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Protocol

import orjson

from semcache.core import JsonObject
from semcache.dialects.dialect import Family
from semcache.ports import Generator, UpstreamCall, UpstreamReply
from semcache.routing.aliases import body_under, path_under
from semcache.routing.credentials import Pair, for_family, split_credentials, without_vendor
from semcache.routing.told import Answered


class Member(Protocol):
    """A generator that shows how busy it is, and when it would only refuse."""

    @property
    def name(self) -> str:
        """Name from the configuration."""
        ...

    @property
    def active(self) -> int:
        """Calls under way."""
        ...

    @property
    def waiting(self) -> int:
        """Those of them that wait for a place."""
        ...

    @property
    def is_full(self) -> bool:
        """True while one more would have to wait."""
        ...

    @property
    def refuses(self) -> bool:
        """True while calls would fail at once."""
        ...

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send a call and wait for the reply's head, as `ports.Generator` does."""
        ...

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Fronted:
    """A member behind something that changes its calls: its name and load are the member's.

    Args:
        member: whose load it is.
    """

    member: Member

    @property
    def name(self) -> str:
        """Name from the configuration."""
        return self.member.name

    @property
    def active(self) -> int:
        """Calls under way."""
        return self.member.active

    @property
    def waiting(self) -> int:
        """Those of them that wait for a place."""
        return self.member.waiting

    @property
    def is_full(self) -> bool:
        """True while one more would have to wait."""
        return self.member.is_full

    @property
    def refuses(self) -> bool:
        """True while calls would fail at once."""
        return self.member.refuses

    async def aclose(self) -> None:
        """Close the member."""
        await self.member.aclose()


@dataclass(frozen=True, slots=True)
class Spoken(Fronted):
    """A member that is asked through somebody who speaks for it.

    Args:
        generator: asks the member in its own words.
    """

    generator: Generator

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send a call; errors as for `ports.Generator`, and RequestError for what cannot be said."""
        return await self.generator.open(call)


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream as a route uses it.

    Attributes:
        member: who is asked.
        speaks: dialects that it takes as they come.
        family: whose way of sending keys it wants.
        weight: its share; 0: drained.
        model: the name that it knows the model by; "": the one that was asked for.
        key: the managed key's header; None: it needs none.
        is_own: its answers count as the route's own.
        is_fallback: asked only after the others.
        takes_client_keys: a client's own key may go there.
        is_inner: it has pages that are not for clients (the local engine).
    """

    member: Member
    speaks: frozenset[str]
    family: Family = "openai"
    weight: float = 1.0
    model: str = ""
    key: Pair | None = None
    is_own: bool = True
    is_fallback: bool = False
    takes_client_keys: bool = False
    is_inner: bool = False

    @property
    def name(self) -> str:
        """The upstream's name."""
        return self.member.name

    @property
    def place(self) -> str:
        """What tells it apart from others of the route: one upstream may stand there under several models."""
        return f"{self.name}\x00{self.model}"

    @property
    def answered(self) -> Answered:
        """What its answers are marked with."""
        return Answered(self.name, self.model, self.is_own, self.is_inner)

    def call(self, call: UpstreamCall, written_for: Family) -> UpstreamCall | None:
        """Give the call with its own key and its name of the model; None where it cannot be told so.

        Args:
            call: as it came to the route; a key in it is the client's own.
            written_for: the family that the client's key is written for.
        """
        plain, keys = split_credentials(call.headers)
        if keys:
            keys = for_family(keys, self.family, written_for)
        elif self.key is not None:
            keys = (self.key,)
        if self.family != written_for:
            plain = without_vendor(plain)
        call = replace(call, headers=(*plain, *keys))
        return self._renamed(call) if self.model else call

    def _renamed(self, call: UpstreamCall) -> UpstreamCall | None:
        if not isinstance(call.body, bytes):
            return None
        if not call.body:
            return call
        body = _read(call.body)
        if body is None:
            return None
        said = body.get("model")
        path = path_under(call.path, said if isinstance(said, str) else _model_in(call.path), self.model)
        if "model" not in body and path == call.path:
            return None
        return replace(call, path=path, body=_written(body_under(body, self.model)))


def _model_in(path: str) -> str:
    """Give the model that a path of Gemini's names."""
    return path.partition("/models/")[2].partition(":")[0]


def _read(body: bytes) -> JsonObject | None:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            # Text that is no Unicode, which orjson refuses, is passed on.
            read = json.loads(body)
        except ValueError:
            return None
    return read if isinstance(read, dict) else None


def _written(body: JsonObject) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()
