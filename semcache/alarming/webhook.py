"""Alarms told to a chat room or a duty officer: one JSON POST each, in order, again until it is taken.

Bounded in everything: what waits, how often and for how long it is tried. Redirects are not followed. The address may
hold a secret and is in no log line. Knows HTTP only through a port, and neither conditions nor levels.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import orjson
import structlog

from semcache.cost_port import CostAlarm
from semcache.errors import SemcacheError
from semcache.ports import Clock, Generator, UpstreamCall

_log = structlog.get_logger()
_AGAIN = frozenset((408, 425, 429))
"""Refusals that may be over in a moment."""
_READ = 65_536
"""Bytes of a reply that are read, so that its connection can be used again."""
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Address:
    """Where to post: `path` and `query` behind the generator's base; `secret` signs, b"" for no signature."""

    path: str
    query: bytes = b""
    secret: bytes = b""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long posts are tried; times in seconds.

    `attempt` is for one of them, `whole` from the first to the last. Pauses grow from `pause` by half each up to `longest`.
    `waiting`: alarms that wait at most; the oldest are let go.
    """

    attempt: float = 10.0
    whole: float = 900.0
    pause: float = 2.0
    longest: float = 120.0
    waiting: int = 200


class Webhook:
    """Posts alarms.

    Args:
        generator: reaches the host.
        address: where there.
        clock: for times.
        told: hears how each post ended: `delivered`, `refused`, `late` or `dropped`.
        patience: how long it is tried.
    """

    def __init__(
        self,
        generator: Generator,
        address: Address,
        clock: Clock,
        told: Callable[[str], None],
        patience: Patience | None = None,
    ) -> None:
        self._generator = generator
        self._address = address
        self._clock = clock
        self._told = told
        self._patience = patience or Patience()
        self._waiting: deque[CostAlarm] = deque()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._wakes = asyncio.Event()

    def post(self, alarms: Sequence[CostAlarm]) -> None:
        """Take alarms to be told; what was taken before is not told again. Never waits."""
        for alarm in alarms:
            name = name_of(alarm)
            if name in self._known:
                continue
            self._known[name] = None
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            if len(self._waiting) >= self._patience.waiting:
                self._waiting.popleft()
                self._told("dropped")
            self._waiting.append(alarm)
        self._wakes.set()

    async def run(self) -> None:
        """Tell them, for as long as the worker lives."""
        while True:
            await self._wakes.wait()
            self._wakes.clear()
            while self._waiting:
                alarm = self._waiting[0]
                self._ended(alarm, await self._tell(alarm))

    async def finish(self, seconds: float) -> None:
        """Try what still waits once more, after `run` has ended, within so many seconds in all."""
        try:
            async with asyncio.timeout(seconds):
                while self._waiting:
                    alarm = self._waiting[0]
                    status = await self._attempt(body_of(alarm))
                    self._ended(alarm, "delivered" if 200 <= status < 300 else "late")
        except TimeoutError:
            return

    def _ended(self, alarm: CostAlarm, outcome: str) -> None:
        # It may have been let go meanwhile, for newer ones.
        if self._waiting and self._waiting[0] is alarm:
            self._waiting.popleft()
        self._told(outcome)
        if outcome != "delivered":
            _log.warning("an alarm could not be told to the webhook", outcome=outcome)

    async def _tell(self, alarm: CostAlarm) -> str:
        """Try until it is taken, refused for good, or too late."""
        body = body_of(alarm)
        until = self._clock.monotonic() + self._patience.whole
        pause = self._patience.pause
        while True:
            status = await self._attempt(body)
            if 200 <= status < 300:
                return "delivered"
            if 300 <= status < 500 and status not in _AGAIN:
                return "refused"
            if self._clock.monotonic() + pause >= until:
                return "late"
            await asyncio.sleep(pause)
            pause = min(self._patience.longest, pause * 1.5)

    async def _attempt(self, body: bytes) -> int:
        """Post once; gives the status, 0 where there was none."""
        call = UpstreamCall("POST", self._address.path, self._headers(body), body, self._address.query)
        status = 0
        try:
            async with asyncio.timeout(self._patience.attempt):
                reply = await self._generator.open(call)
                # Taken is taken, whatever becomes of the rest of the reply.
                status = reply.status
                try:
                    await _drained(reply.body())
                finally:
                    await reply.aclose()
        except (SemcacheError, TimeoutError):
            return status
        return status

    def _headers(self, body: bytes) -> tuple[tuple[bytes, bytes], ...]:
        headers = ((b"content-type", b"application/json"), (b"user-agent", b"semcache"))
        if not self._address.secret:
            return headers
        return (*headers, (b"semcache-signature", signature(self._address.secret, self._clock.now(), body)))


async def _drained(body: AsyncIterator[bytes]) -> None:
    read = 0
    try:
        async for part in body:
            read += len(part)
            if read > _READ:
                return
    finally:
        if isinstance(body, AsyncGenerator):
            await body.aclose()


def name_of(alarm: CostAlarm) -> str:
    """Give the name of one change, by which it can be told once: the same for the same alarm, state and beginning."""
    parts = (alarm.tenant, alarm.kind.value, alarm.subject, str(alarm.is_raised), f"{alarm.since:.3f}")
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def body_of(alarm: CostAlarm) -> bytes:
    """Give the JSON that is posted; chat tools show its `text`."""
    texts = {
        "text": alarm.text,
        "kind": alarm.kind.value,
        "tenant": alarm.tenant,
        "subject": alarm.subject,
    }
    told = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    state = "raised" if alarm.is_raised else "over"
    numbers = {"value": alarm.value, "limit": alarm.limit, "since": alarm.since, "at": alarm.at}
    return orjson.dumps({**told, "state": state, **numbers, "id": name_of(alarm)})


def signature(secret: bytes, at: float, body: bytes) -> bytes:
    """Sign a body: `t=<Unix seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`, as many webhooks do."""
    stamp = b"%d" % int(at)
    return b"t=%b,v1=%b" % (stamp, hmac.new(secret, stamp + b"." + body, hashlib.sha256).hexdigest().encode())
