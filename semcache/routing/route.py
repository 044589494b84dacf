"""Several upstreams under one name: who is asked, and who next when that fails before the first byte of an answer.

A `Route` is a `Generator`. It decides by the call alone: its affinity, whose key it holds, what its path asks. A
call that was answered, or may have been, is never made again, beyond the statuses and kinds of failure that the
configuration names. Knows no dialect and no connection.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from semcache.dialects.dialect import Family
from semcache.errors import RequestError, UpstreamError
from semcache.ports import UpstreamCall, UpstreamReply
from semcache.routing.balance import Node
from semcache.routing.credentials import split_credentials
from semcache.routing.models import shape_of
from semcache.routing.paths import dialect_of, is_anywhere
from semcache.routing.target import Target
from semcache.routing.told import Told

_NOBODY_ASKED = frozenset({"upstream_unavailable", "overloaded"})
"""Refused here, without a word to the upstream."""


def fresh() -> bytes:
    """Give an affinity to a call that has none: any node will do."""
    return secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class Retrying:
    """After what another upstream is asked.

    `statuses` of a reply and `codes` of `UpstreamError`, beside failures that left the upstream untouched; `tries`:
    how many are asked for one call at most.
    """

    statuses: frozenset[int] = frozenset({429, *range(500, 600)})
    codes: frozenset[str] = frozenset()
    tries: int = 3


class Ordering(Protocol):
    """Shares calls out; `sharing.Sharing` is the one that is served with."""

    def note(self, affinity: bytes) -> None:
        """Take notice of a call; once, before it is shared out."""
        ...

    def order(self, affinity: bytes, nodes: Sequence[Node]) -> list[str]:
        """Give the names of the nodes in the order in which they are to be asked."""
        ...

    def home(self, affinity: bytes, nodes: Sequence[Node]) -> str:
        """Give the node that a call belongs to; "": there are no nodes."""
        ...


class Heard(Protocol):
    """Hears what became of a route's calls, for the metrics."""

    def routed(self, route: str, upstream: str, result: str) -> None:
        """An upstream was asked: `home` (the call's own), `spill` (its own was full or away), `fallback`, `failed`."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """A `Generator` over several.

    Args:
        name: from the configuration.
        targets: in the order of the configuration, fallbacks last; the first is whose the name is.
        sharing: how calls are shared out.
        retrying: after what another one is asked.
        heard: who hears of it; None: nobody.
        fresh: gives a random affinity.
    """

    name: str
    targets: tuple[Target, ...]
    sharing: Ordering
    retrying: Retrying = Retrying()
    heard: Heard | None = None
    fresh: Callable[[], bytes] = fresh

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Have the call answered; the reply's head says by whom (`told.answered`).

        Where every try fails, the first one's reply or error is given: it is what the call's own upstream said.

        Raises:
            UpstreamError: no upstream could be reached, or none has room.
            RequestError: 400, no upstream of this route can be asked this with this key.
        """
        attempts = _Attempts(self, self.plan(call))
        try:
            return await attempts.run(call)
        finally:
            await attempts.aclose()

    async def aclose(self) -> None:
        """Close its upstreams' connections, which are theirs too. Idempotent."""
        for target in self.targets:
            await target.member.aclose()

    @property
    def family(self) -> Family:
        """Whose way of sending keys its calls are written for."""
        return self.targets[0].family

    def plan(self, call: UpstreamCall) -> Plan:
        """Say who may be asked, in order.

        Raises:
            RequestError: 400, nobody.
        """
        able = [target for target in self.targets if _may_take(target, call)]
        if not is_anywhere(call.method, call.path):
            # What one upstream keeps, another does not know.
            able = [target for target in able if target is self.targets[0]]
        if not able:
            message = f"No upstream of the route {self.name!r} can be asked this."
            raise RequestError(message, code="unroutable", param="Semcache-Upstream")
        shared = [target for target in able if not target.is_fallback]
        affinity = call.affinity or self.fresh()
        if call.affinity:
            self.sharing.note(affinity)
        order = self._ordered(shared, affinity)
        order += [target for target in able if target.is_fallback and not target.member.refuses]
        # One that refuses says why.
        return Plan(tuple(order) or (able[0],), self.sharing.home(affinity, _nodes(shared)))

    def _ordered(self, targets: Sequence[Target], affinity: bytes) -> list[Target]:
        by_place = {target.place: target for target in targets}
        return [by_place[place] for place in self.sharing.order(affinity, _nodes(targets))]


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is asked for one call, in order, and the place of the one that it belongs to ("": none is left)."""

    targets: tuple[Target, ...]
    home: str

    def result(self, target: Target) -> str:
        """Give the word for an answer by this target."""
        if target.is_fallback:
            return "fallback"
        return "home" if target.place == self.home else "spill"


def _nodes(targets: Sequence[Target]) -> list[Node]:
    return [
        Node(
            target.place,
            target.weight,
            target.member.active,
            has_room=not target.member.is_full,
            is_away=target.member.refuses,
        )
        for target in targets
    ]


def _may_take(target: Target, call: UpstreamCall) -> bool:
    """A client's own key goes only where it was meant for, and a dialect only where it is spoken."""
    _, keys = split_credentials(call.headers)
    if keys and not target.takes_client_keys:
        return False
    dialect = dialect_of(call.path)
    if dialect is not None:
        return dialect in target.speaks
    return not target.is_inner or shape_of(call.path, ()) is not None


class _Attempts:
    """The tries of one call. Keeps what came of the first, until a better one comes."""

    def __init__(self, route: Route, plan: Plan) -> None:
        self._route = route
        self._plan = plan
        self._first: UpstreamReply | UpstreamError | RequestError | None = None

    async def run(self, call: UpstreamCall) -> UpstreamReply:
        """Ask one after another."""
        route, tries = self._route, 0
        for target in self._plan.targets:
            told = target.call(call, route.family)
            if told is None or (self._has_waited and target.member.is_full):
                continue
            try:
                reply = Told(await target.member.open(told), target.answered)
            except RequestError as error:
                # It has no words for this; another may.
                self._first = self._first or error
            except UpstreamError as error:
                self._note(target, "failed")
                self._first = self._first or error
                if not self._goes_on(call, error):
                    break
                tries += error.code not in _NOBODY_ASKED
            else:
                if not self._is_failure(reply, call):
                    self._note(target, self._plan.result(target))
                    return reply
                self._note(target, "failed")
                await self._keep(reply)
                tries += 1
            if tries >= route.retrying.tries:
                break
        return self._outcome()

    def _outcome(self) -> UpstreamReply:
        first, self._first = self._first, None
        if isinstance(first, UpstreamError | RequestError):
            raise first
        if first is not None:
            return first
        message = (
            f"No upstream of the route {self._route.name!r} can be told this under its own model's name."
        )
        raise RequestError(message, code="unroutable", param="Semcache-Upstream")

    async def _keep(self, reply: UpstreamReply) -> None:
        if self._first is None:
            self._first = reply
        else:
            await reply.aclose()

    @property
    def _has_waited(self) -> bool:
        """True when the call has waited in vain for a place: once is enough."""
        return isinstance(self._first, UpstreamError) and self._first.code == "overloaded"

    def _note(self, target: Target, result: str) -> None:
        if self._route.heard is not None:
            self._route.heard.routed(self._route.name, target.name, result)

    def _goes_on(self, call: UpstreamCall, error: UpstreamError) -> bool:
        if error.untouched:
            return True
        # A body that passes as it arrives is gone once somebody began to read it.
        return isinstance(call.body, bytes) and error.code in self._route.retrying.codes

    def _is_failure(self, reply: UpstreamReply, call: UpstreamCall) -> bool:
        return isinstance(call.body, bytes) and reply.status in self._route.retrying.statuses

    async def aclose(self) -> None:
        """Let go of a reply that nobody gets."""
        if self._first is not None and not isinstance(self._first, UpstreamError | RequestError):
            await self._first.aclose()
