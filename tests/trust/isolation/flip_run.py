"""Flips asked of a real proxy over sockets: after each request one thing is changed, and nothing stored may be served."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from semcache.dialects.table import dialect_at
from tests.dialects import contract
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import (
    JSON_TYPE,
    Behaviour,
    ByRequest,
    Seen,
    UpstreamServer,
    chat_body,
    json_reply,
    reply,
)
from tests.trust.isolation.flipping import NAMES, Flip, Request, base, flips, heard, in_other_words, quiet
from tests.trust.isolation.model import HITS

_PER_BASE = 6
_SHARE_OF_WORDINGS = 0.3
_FRESH = {"cache-control": "no-cache, no-store"}
_VECTOR = {
    "object": "list",
    "model": "m",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.6, 0.8]}],
    "usage": {"prompt_tokens": 5, "total_tokens": 5},
}
_LOOK = {"cache-control": "no-store"}


@dataclass
class Flipped:
    """What came of it, counted."""

    tries: int = 0
    """Flips that were asked and answered: each a chance to be served what was stored for another request."""
    refused: int = 0
    """Flips that no upstream was asked for: the request was none any more."""
    unheard: int = 0
    """Flips of which the upstream hears nothing: the call is the same."""
    by_kind: Counter[str] = field(default_factory=Counter)
    by_dialect: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    expected: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def recall(self, what: str) -> float:
        """Give the share of expected hits that were hits."""
        return self.found[what] / self.expected[what] if self.expected[what] else 1.0


def answer(seen: Seen) -> Behaviour:
    """Answer in the dialect that was asked in, and tell what was heard."""
    path, _, query = seen.target.partition("?")
    dialect = dialect_at(path, query.encode())
    if dialect is None or not seen.body:
        return json_reply({"object": "list", "data": []})
    body = seen.json()
    told = json.dumps([dialect.name, path, heard(dialect.name, body)], sort_keys=True)
    name = ("x-heard", hashlib.sha256(told.encode()).hexdigest())
    if dialect.name == "openai.embeddings":
        return json_reply(_VECTOR, headers=(JSON_TYPE, name))
    stream = bool(body.get("stream", "ollama" in dialect.name)) or "stream" in path
    document = chat_body("Open the box and follow the picture.")
    completion = contract.stored(
        {key: value for key, value in document.items() if key not in ("id", "created")}
    )
    data = dialect.layout(completion, contract.wanted(stream=stream)).whole(b"0" * 24, b"1700000000")
    kind = dialect.stream_type.decode() if stream else "application/json"
    return reply(data, headers=(("content-type", kind), name))


def policy() -> str:
    """Write the policy of the one tenant: histories must be equal."""
    hashes = "".join(
        f'\n    - {{name: k{number}, hash: "sha256:{hashlib.sha256(f"sk-flip-{number}".encode()).hexdigest()}"}}'
        for number in (1,)
    )
    return (
        f"schema_version: 1\ntenant: flips\naccess:\n  keys:{hashes}\n  anonymous: never\n  unknown_keys: passthrough\n"
        "default_domain: chat\ndefaults:\n  mode: semantic\n  conversations: equal\n  audit: {enabled: false}\n"
        "  risk: {budget: 0.5}\ndomains:\n  chat:\n    threshold: 0.85\n"
        "    alone: {threshold: 0.70, margin: 0.10, min_score: 0.88}\nassign: {header: false, rules: []}\n"
    )


def nobody(_: int) -> None:
    """Look at no progress."""


async def run(
    tries: int, seed: int, folder: Path, progress: Callable[[int], None] = nobody, connections: int = 24
) -> Flipped:
    """Make so many tries in an empty folder."""
    async with UpstreamServer(ByRequest(answer)) as server:
        (folder / "policies").mkdir(parents=True)
        (folder / "policies" / "flips.yaml").write_text(policy())
        every = ", ".join(dict.fromkeys(NAMES))
        (folder / "config.yaml").write_text(
            f"default_upstream: every\nupstreams:\n  every: {{base_url: '{server.url}', speaks: [{every}]}}\n"
            f"  plain: {{base_url: '{server.url}', speaks: [openai.chat]}}\n"
            f"  other: {{base_url: '{server.url}', speaks: [{every}]}}\n"
        )
        arguments = ("--config", str(folder / "config.yaml"), "--policies", str(folder / "policies"))
        slow = {
            "SEMCACHE_STORE__DEADLINE": "3",
            "SEMCACHE_ENCODER__DEADLINE": "3",
            "SEMCACHE_LEDGER__ROWS": "off",
        }
        context = running(folder / "data", *arguments, **slow)
        proxy = await asyncio.to_thread(context.__enter__)
        try:
            return await _Flipping(proxy, server, tries, seed, progress).all(connections)
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


@dataclass
class _Flipping:
    proxy: Proxy
    server: UpstreamServer
    wanted: int
    seed: int
    progress: Callable[[int], None]
    found: Flipped = field(default_factory=Flipped)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def all(self, connections: int) -> Flipped:
        began = time.monotonic()
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2.0)
        async with aiohttp.ClientSession(connector=connector) as self.session, asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(self._on())
        self.found.seconds = time.monotonic() - began
        return self.found

    async def _on(self) -> None:
        for number in self.numbers:
            if self.found.tries >= self.wanted or len(self.found.wrong) > 20:
                return
            by = Random(f"{self.seed}:{number}")
            await self._one(by, base(by, number))
            self.server.requests.clear()
            self.proxy.stdout.clear()
            self.progress(self.found.tries)

    async def _one(self, by: Random, request: Request) -> None:
        """Ask once, then everything that is not the same, then what is."""
        status, outcome, _ = await self._ask(request)
        if status != 200 or outcome != "miss":
            self.found.outcomes[f"base: {outcome or status}"] += 1
            return
        for flip in flips(by, request, _PER_BASE):
            await self._try(by, request, flip)
        await self._expect("the same again", request, ("exact",))
        same = quiet(by, request)
        await self._expect(f"quiet: {same.place}", same.request, ("exact",))
        if not _is_exact_only(request):
            await self._expect("in other words", in_other_words(by, request), HITS)

    async def _try(self, by: Random, request: Request, flip: Flip) -> None:
        asked = flip.request
        if (
            flip.kind != "question"
            and by.random() < _SHARE_OF_WORDINGS
            and request.text in json.dumps(asked.body)
        ):
            # The tier by meaning must keep them apart as well.
            asked = in_other_words(by, asked)
        status, outcome, _ = await self._ask(asked, _LOOK)
        self.found.outcomes[outcome or str(status)] += 1
        if status != 200:
            self.found.refused += 1
            return
        if outcome in HITS and await self._hears_the_same(request, flip.request):
            self.found.unheard += 1
            return
        self.found.tries += 1
        self.found.by_kind[flip.kind] += 1
        self.found.by_dialect[asked.dialect.name] += 1
        if outcome in HITS:
            what = f"{outcome} {asked.dialect.name} at {asked.upstream}: {flip.kind} of {flip.place}"
            self.found.wrong.append(
                f"{what}: {json.dumps(request.body)} -> {json.dumps(asked.body)} {asked.headers}"
            )

    async def _hears_the_same(self, one: Request, other: Request) -> bool:
        """Ask both past the cache: True when no upstream could tell them apart."""
        if one.headers != other.headers:
            return False
        heard_by = [(await self._ask(request, _FRESH))[2] for request in (one, other)]
        return bool(heard_by[0]) and heard_by[0] == heard_by[1]

    async def _expect(self, what: str, request: Request, outcomes: tuple[str, ...]) -> None:
        status, outcome, reason = await self._ask(request, _LOOK)
        kind = what.partition(":")[0]
        self.found.expected[kind] += 1
        self.found.found[kind] += outcome in outcomes
        if outcome not in outcomes and len(self.found.missed) < 100:
            told = f"{what} at {request.upstream}: {status} {outcome} {reason}"
            self.found.missed.append(f"{told} {request.dialect.name} {json.dumps(request.body)}")

    async def _ask(self, request: Request, more: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Give status, outcome, and what the upstream heard (or why it was asked)."""
        async with self.session.post(
            self.proxy.url + request.target,
            data=json.dumps(request.body).encode(),
            headers=request.sent() | (more or {}),
        ) as answered:
            await answered.read()
        headers: Any = answered.headers
        told = headers.get("x-heard") if more is _FRESH else headers.get("semcache-reason")
        return answered.status, headers.get("semcache-outcome", ""), told or ""


def _is_exact_only(request: Request) -> bool:
    """True for requests that close the tier by meaning."""
    if request.dialect.name == "openai.embeddings":
        return True
    return any(name in request.body for name in ("tools", "seed", "modalities"))
