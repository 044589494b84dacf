"""Nodes as processes, and a route over them built from a configuration as the proxy builds it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson

from semcache.dialects.chat.request import parse_chat
from semcache.ports import UpstreamCall
from semcache.routing.affinity import affinity_of
from semcache.routing.route import Route
from semcache.routing.told import answered
from semcache.routing_parts import backends_of
from semcache.settings import load_settings

ROOT = Path(__file__).parents[2]


@dataclass
class Process:
    """A node; `kill` is as sudden as it can be."""

    name: str
    delay: float = 0.0
    port: int = 0
    child: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.routing.node", self.name, str(self.port), str(self.delay)]
        self.child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def wait_ready(self) -> None:
        assert self.child is not None
        assert self.child.stdout is not None
        self.port = int(self.child.stdout.readline())

    def seen(self) -> dict[str, int]:
        """Give how many calls it had, and how many at most at once."""
        with urlopen(f"http://127.0.0.1:{self.port}/v1/seen") as reply:
            told: dict[str, int] = json.load(reply)
        return told

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.child is not None
        self.child.send_signal(number)

    def end(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait(10)
            assert self.child.stdout is not None
            self.child.stdout.close()
            self.child = None


@contextmanager
def nodes(count: int, delay: float = 0.0) -> Iterator[list[Process]]:
    started = [Process(f"n{number}", delay) for number in range(count)]
    try:
        for process in started:
            process.start()
        for process in started:
            process.wait_ready()
        yield started
    finally:
        for process in started:
            process.end()


@asynccontextmanager
async def routed(
    pool: list[Process], upstream: dict[str, Any] | None = None, **route: Any
) -> AsyncIterator[Route]:
    """Give the route `pool` over these nodes; `upstream` and `route` as in a configuration."""
    base = {"connect_timeout": 20.0, "breaker_threshold": 2, "breaker_pause": 0.2, **(upstream or {})}
    upstreams = {node.name: {"base_url": f"http://127.0.0.1:{node.port}/v1", **base} for node in pool}
    told = {"upstreams": [node.name for node in pool], "balance": "prefix", **route}
    settings = load_settings({"upstreams": upstreams, "routes": {"pool": told}})
    backends = backends_of(settings, "", None)
    try:
        generator = backends["pool"].generator
        assert isinstance(generator, Route)
        yield generator
    finally:
        for backend in backends.values():
            await backend.generator.aclose()


@dataclass
class Conversation:
    """Several turns with one system prompt; remembers who answered, and what of its prompts was cached."""

    number: int
    system: str = "You answer briefly."
    where: list[str] = field(default_factory=list)
    cached: int = 0
    prompt: int = 0
    messages: list[dict[str, str]] = field(default_factory=list)

    async def turn(self, route: Route) -> str:
        """Ask once more; gives who answered."""
        if not self.messages:
            self.messages.append({"role": "system", "content": self.system})
        self.messages.append({"role": "user", "content": f"question {len(self.messages)} of {self.number}"})
        told = await ask(route, self.messages)
        self.messages.append(told["choices"][0]["message"])
        self.where.append(told["answered_by"])
        self.prompt += told["usage"]["prompt_tokens"]
        self.cached += told["usage"]["prompt_tokens_details"]["cached_tokens"]
        return self.where[-1]


async def ask(route: Route, messages: list[dict[str, str]]) -> Any:
    body = {"model": "m", "messages": messages}
    request = parse_chat(body, "/v1/chat/completions")
    headers = ((b"content-type", b"application/json"),)
    call = UpstreamCall(
        "POST", request.path, headers, orjson.dumps(body), affinity=affinity_of(request, "acme")
    )
    reply = await route.open(call)
    try:
        assert reply.status == 200
        who = answered(reply.headers)
        assert who is not None
        told = orjson.loads(b"".join([part async for part in reply.body()]))
        return {**told, "answered_by": who.upstream}
    finally:
        await reply.aclose()


async def turns(route: Route, conversations: list[Conversation], at_once: int = 4) -> list[str]:
    """Let every conversation take a turn, so many at once; gives who answered each."""
    places = asyncio.Semaphore(at_once)

    async def one(conversation: Conversation) -> str:
        async with places:
            return await conversation.turn(route)

    return list(await asyncio.gather(*map(one, conversations)))


def stopped(process: Process) -> contextlib.AbstractContextManager[None]:
    """Let a process hang for a while: it is there, and says nothing."""

    @contextmanager
    def hanging() -> Iterator[None]:
        process.kill(signal.SIGSTOP)
        try:
            yield
        finally:
            process.kill(signal.SIGCONT)

    return hanging()
