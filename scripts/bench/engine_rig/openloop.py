"""Sends requests at their moments, whether or not earlier ones are answered, and gives up at a deadline.

One coroutine and one connection a request. The clock of a request starts at the moment at which it was
to arrive, so a client that is late counts against the figures and not in their favour.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine_rig.mix import Arrival, Outcome
from engine_rig.rows import CHAT, body
from engine_rig.servers import Server


async def open_loop(server: Server, arrivals: Sequence[Arrival], deadline: float) -> list[Outcome]:
    """Send all arrivals at their moments; gives the outcomes in their order."""
    start = time.perf_counter()
    return await asyncio.gather(*(_one(server, each, start + each.at, deadline) for each in arrivals))


async def closed_loop(
    server: Server, draw: Callable[[], Arrival], clients: int, seconds: float
) -> tuple[int, float]:
    """Keep `clients` busy for a while; gives answers and seconds until the last of them."""
    start = time.perf_counter()
    done = 0

    async def work() -> None:
        nonlocal done
        while time.perf_counter() - start < seconds:
            outcome = await _one(server, draw(), time.perf_counter(), 300.0)
            done += outcome.is_complete

    await asyncio.gather(*(work() for _ in range(clients)))
    return done, time.perf_counter() - start


async def _one(server: Server, arrival: Arrival, moment: float, deadline: float) -> Outcome:
    await asyncio.sleep(moment - time.perf_counter())
    seen = _Seen(moment)
    try:
        async with asyncio.timeout(moment + deadline - time.perf_counter()):
            await _exchange(server, arrival, seen)
    except TimeoutError:
        seen.status = 0
    except OSError:
        seen.status = -1
    return seen.outcome()


@dataclass
class _Seen:
    """What has come of a stream so far."""

    moment: float
    status: int = -1
    first: float = 0.0
    retry_after: bool = False
    usage: dict[str, object] = field(default_factory=dict)

    def outcome(self) -> Outcome:
        details = self.usage.get("prompt_tokens_details") or {}
        assert isinstance(details, dict)
        return Outcome(
            self.status,
            self.first,
            time.perf_counter() - self.moment,
            int(details.get("cached_tokens", 0)),
            int(str(self.usage.get("prompt_tokens", 0))),
            int(str(self.usage.get("completion_tokens", 0))),
            self.retry_after,
        )

    def line(self, line: bytes) -> None:
        """Take one event."""
        if not line.startswith(b"data: {"):
            return
        event = json.loads(line[6:])
        if event.get("usage"):
            self.usage = event["usage"]
        choices = event.get("choices") or [{}]
        if not self.first and (choices[0].get("delta") or {}).get("content"):
            self.first = time.perf_counter() - self.moment


async def _exchange(server: Server, arrival: Arrival, seen: _Seen) -> None:
    request = body(
        server, arrival.messages, arrival.most, stream=True, stream_options={"include_usage": True}
    )
    payload = json.dumps(request).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(f"{head}content-length: {len(payload)}\r\n\r\n".encode() + payload)
        answer = await reader.readuntil(b"\r\n\r\n")
        seen.status = int(answer[9:12])
        seen.retry_after = b"\r\nretry-after:" in answer.lower()
        async for line in reader:
            seen.line(line)
    finally:
        writer.close()
