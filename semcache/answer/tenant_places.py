"""Calls of one tenant under way at once: a bound of its own for each, before any upstream is asked.

A call keeps its place until its reply is closed, however long it streams. Calls that are nobody's pass. Knows neither
policies nor upstreams; how many there may be is asked each time, so that changed policies hold at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass

from semcache.answer.places import Places, Room
from semcache.errors import UpstreamError
from semcache.ports import Generator, UpstreamCall, UpstreamReply


@dataclass(frozen=True, slots=True)
class Load:
    """Calls of a tenant under way, and those that wait for a place."""

    tenant: str
    used: int
    waiting: int


class TenantPlaces:
    """One worker's places, by tenant. Holds nothing of tenants that have no call.

    Args:
        room_of: how many calls of a tenant there may be.

    Attributes:
        refused: hears of each call that found no place, by tenant; None: nobody does.
    """

    def __init__(self, room_of: Callable[[str], Room]) -> None:
        self._room_of = room_of
        self._places: dict[str, Places] = {}
        self.refused: Callable[[str], None] | None = None

    def loads(self) -> Iterator[Load]:
        """Give the load of each tenant that has any."""
        for tenant, places in self._places.items():
            yield Load(tenant, places.used, places.waiting)

    async def take(self, tenant: str) -> None:
        """Take a place; `give` it back, whatever happens.

        Raises:
            UpstreamError: 429 `tenant_busy`: too many wait, or it waited long enough.
        """
        places = self._places.get(tenant)
        if places is None:
            places = self._places[tenant] = Places(Room(), _refusal)
        places.resize(self._room_of(tenant))
        try:
            await places.take()
        except UpstreamError:
            if self.refused is not None:
                self.refused(tenant)
            raise
        finally:
            self._forget(tenant, places)

    def give(self, tenant: str) -> None:
        """Give a place back."""
        places = self._places[tenant]
        places.give()
        self._forget(tenant, places)

    def _forget(self, tenant: str, places: Places) -> None:
        if not places.used and not places.waiting and self._places.get(tenant) is places:
            del self._places[tenant]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A `Generator` whose calls take a place of their tenant first.

    Args:
        generator: who is asked.
        places: of all tenants, shared by all upstreams.
    """

    generator: Generator
    places: TenantPlaces

    @property
    def name(self) -> str:
        """Name from the configuration."""
        return self.generator.name

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send a call and wait for the reply's head.

        Raises:
            UpstreamError: as the upstream itself; 429 `tenant_busy`: its tenant has as many calls as it may.
            RequestError: as the upstream itself.
        """
        if not call.tenant:
            return await self.generator.open(call)
        await self.places.take(call.tenant)
        try:
            reply = await self.generator.open(call)
        except BaseException:
            self.places.give(call.tenant)
            raise
        return _Reply(reply, lambda: self.places.give(call.tenant))

    async def aclose(self) -> None:
        """Close the upstream's connections."""
        await self.generator.aclose()


class _Reply:
    """A reply that gives its place back when it is closed."""

    __slots__ = ("_give", "_reply")

    def __init__(self, reply: UpstreamReply, give: Callable[[], None]) -> None:
        self._reply = reply
        self._give: Callable[[], None] | None = give

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._reply.status

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Raw header pairs."""
        return self._reply.headers

    def body(self) -> AsyncIterator[bytes]:
        """Stream the raw body once; errors as for `ports.UpstreamReply`."""
        return self._reply.body()

    async def aclose(self) -> None:
        """Close the reply. Idempotent."""
        if self._give is not None:
            give, self._give = self._give, None
            give()
        await self._reply.aclose()


def _refusal(room: Room) -> UpstreamError:
    return UpstreamError(
        "This tenant has as many calls under way as it may have at once.",
        status=429,
        code="tenant_busy",
        type="rate_limit_error",
        untouched=True,
        headers=room.retry_after,
    )
