"""An upstream's reply is cut at every byte, in three protocols and every framing of HTTP.

The client gets an explicit error or the exact whole answer, never a part that looks whole; nothing of it is kept.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Literal

import aiohttp
import pytest

from tests.e2e.running import Proxy
from tests.events.answers import CHAT, MESSAGES, OLLAMA, STREAMED, UPSTREAM, WHOLE, asked
from tests.fakes.upstream_server import Behaviour, ByRequest, Exchange, Seen, UpstreamServer

Framing = Literal["length", "chunked", "until close"]
TEXT = 'Tea 茶 is "hot".'
AT_ONCE = 48


@dataclass(frozen=True)
class Case:
    """One protocol, wire mode and framing."""

    path: str
    stream: bool
    framing: Framing
    reset: bool = False
    """The connection is reset instead of closed."""
    client: str = ""
    """The path that the client asks at, where that is another protocol's."""

    @property
    def body(self) -> bytes:
        if self.stream:
            return STREAMED[self.path](TEXT)
        return json.dumps(WHOLE[self.path](TEXT), ensure_ascii=False).encode()

    def wire(self) -> bytes:
        """Give all that the upstream sends, head and body."""
        kind = "application/json"
        if self.stream:
            kind = "application/x-ndjson" if self.path == OLLAMA else "text/event-stream"
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n"
        body = self.body
        if self.framing == "length":
            return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
        if self.framing == "until close":
            return f"{head}connection: close\r\n\r\n".encode() + body
        middle = len(body) // 2
        parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:middle], body[middle:]))
        return f"{head}transfer-encoding: chunked\r\n\r\n".encode() + parts + b"0\r\n\r\n"


CASES = (
    {
        f"{path.rpartition('/')[2]}{' stream' if stream else ''}, {framing}": Case(path, stream, framing)
        for path in (CHAT, MESSAGES, OLLAMA)
        for stream in (True, False)
        for framing in ("length", "chunked", "until close")
    }
    | {
        f"{client} from {path}, {framing}": Case(path, True, framing, client=client)
        for client, path in ((MESSAGES, CHAT), (OLLAMA, CHAT), (CHAT, MESSAGES), (CHAT, OLLAMA))
        for framing in ("chunked", "until close")
    }
    | {
        f"{path}, chunked, reset": Case(path, True, "chunked", reset=True)
        for path in (CHAT, MESSAGES, OLLAMA)
    }
)


def positions(wire: bytes, step: int) -> list[int]:
    """Give where to cut: each byte, or each `step`th and around every line's end."""
    ends = [at + more for at in range(len(wire)) if wire[at : at + 1] == b"\n" for more in (0, 1)]
    return sorted({*range(0, len(wire), step), *ends, len(wire) - 1} - {len(wire)})


class Client:
    """Asks with a place of its own for every cut."""

    def __init__(self, proxy: Proxy, case: Case, session: aiohttp.ClientSession) -> None:
        self.proxy, self.case, self.session = proxy, case, session
        self.path = case.client or case.path

    async def ask(self, at: int, **headers: str) -> tuple[int, bytes]:
        """Ask; a connection that breaks is an answer of status 0."""
        messages = [{"role": "user", "content": f"cut {at}"}]
        limit = {} if self.path == OLLAMA else {"max_tokens": 50}
        body = {"model": "m", "messages": messages, "stream": self.case.stream, **limit}
        own = {
            "semcache-namespace": f"{self.proxy.namespace}{at}"[-100:],
            "semcache-upstream": UPSTREAM[self.case.path],
        }
        # The same request in all, so that what was stored would be found.
        for _ in range(3):
            try:
                async with self.session.post(
                    self.proxy.url + self.path, json=body, headers={**own, **headers}
                ) as reply:
                    try:
                        return reply.status, await reply.read()
                    except aiohttp.ClientError:
                        return 0, b""
            except aiohttp.ClientOSError:
                # A busy machine: this process was too slow to send its head in time.
                continue
        return 0, b""

    def is_error(self, status: int, body: bytes) -> bool:
        """Tell whether a client of the protocol sees that this is no answer."""
        if status != 200:
            return status in (502, 504) and self._says_error(body)
        if not self.case.stream:
            return False
        if self.path == OLLAMA:
            lines = [json.loads(line) for line in body.splitlines()]
            return "error" in lines[-1] and (
                not any(line.get("done") for line in lines) or self._text(body) == TEXT
            )
        events = [event for event in body.split(b"\n\n") if event.strip()]
        data = events[-1].rpartition(b"data: ")[2]
        # An error behind the end mark of an answer that lacks nothing hurts nobody.
        whole = (b"[DONE]" in body or b"message_stop" in body) and self._text(body) != TEXT
        named = self.path != MESSAGES or b"event: error" in events[-1]
        return not whole and named and data.startswith(b"{") and self._says_error(data)

    def _says_error(self, body: bytes) -> bool:
        told = json.loads(body)
        if self.path == OLLAMA:
            return isinstance(told["error"], str)
        return isinstance(told["error"]["message"], str) and (
            self.path != MESSAGES or told["type"] == "error"
        )

    def is_whole(self, status: int, body: bytes) -> bool:
        """Tell whether it is the whole answer, byte for byte where the protocol is the same."""
        if self.case.client:
            return status == 200 and self._text(body) == TEXT and b"error" not in body
        if self.path == CHAT and self.case.stream and self.case.framing == "until close":
            # Some servers send no end mark; that all was said is told by the reason.
            lacks = self.case.body.removesuffix(b"\n\ndata: [DONE]\n\n")
            return status == 200 and (body.strip() + b"\n\n").startswith(lacks) and b"error" not in body
        if self.case.stream:
            # The last line's end carries nothing.
            return status == 200 and self.case.body.strip() == body.strip()
        return status == 200 and body == self.case.body

    def is_kept_whole(self, status: int, body: bytes) -> bool:
        """Tell whether what was kept says all of it."""
        if self.case.stream:
            return status == 200 and self._text(body) == TEXT
        return status == 200 and json.dumps(TEXT, ensure_ascii=False).encode() in body

    def _text(self, body: bytes) -> str:
        ends = {CHAT: b"data: [DONE]", MESSAGES: b"message_stop", OLLAMA: b'"done":true'}
        if ends[self.path] not in body:
            return ""
        lines = body.splitlines()
        found = [json.loads(line.removeprefix(b"data: ")) for line in lines if b"{" in line]
        match self.path:
            case "/api/chat":
                return "".join(one["message"]["content"] for one in found if "message" in one)
            case "/v1/messages":
                return "".join(one.get("delta", {}).get("text", "") for one in found)
            case _:
                return "".join(
                    choice["delta"].get("content") or "" for one in found for choice in one.get("choices", ())
                )


def broken(data: bytes, *, reset: bool) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(data)
        if reset:
            # The bytes before it are to arrive: a reset overtakes what was not read yet.
            await asyncio.sleep(0.02)
            exchange.reset()
        else:
            exchange.close()

    return behave


async def cut_everywhere(proxy: Proxy, upstream: UpstreamServer, case: Case, step: int) -> list[str]:
    """Cut at each place, ask, and look whether anything was kept; gives what was not as it must be."""
    wire = case.wire()

    def at_its_byte(seen: Seen) -> Behaviour:
        at = int(asked(seen.json()).removeprefix("cut "))
        return broken(wire[:at], reset=case.reset)

    upstream.script = ByRequest(at_its_byte)
    wrong: list[str] = []
    places = asyncio.Semaphore(AT_ONCE)

    async def one(client: Client, at: int) -> None:
        async with places:
            status, body = await client.ask(at)
            whole = client.is_whole(status, body)
            try:
                fine = whole or client.is_error(status, body)
            except (ValueError, KeyError, TypeError, IndexError):
                fine = False
            if not fine:
                wrong.append(f"{at}: {status} {body[-200:]!r}")
            kept, again = await client.ask(at, **{"cache-control": "only-if-cached"})
            if kept != 504 and not (whole and client.is_kept_whole(kept, again)):
                wrong.append(f"{at}: kept: {kept} {again[-200:]!r}")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        client = Client(proxy, case, session)
        await asyncio.gather(*(one(client, at) for at in positions(wire, step)))
    return sorted(wrong, key=lambda line: int(line.partition(":")[0]))


@pytest.mark.event(13)
@pytest.mark.parametrize("name", CASES)
async def test_cut_here_and_there(proxy: Proxy, upstream: UpstreamServer, name: str) -> None:
    wrong = await cut_everywhere(proxy, upstream, CASES[name], 23)
    assert wrong == []


@pytest.mark.slow
@pytest.mark.event(13)
@pytest.mark.parametrize("name", CASES)
async def test_cut_at_every_byte(proxy: Proxy, upstream: UpstreamServer, name: str) -> None:
    wrong = await cut_everywhere(proxy, upstream, CASES[name], 1)
    assert wrong == []
