"""A whole worker before a scripted engine and a real store: told, counted, written, prewarmed after a restart."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from semcache.app import Wiring, opened
from semcache.core import TenantId
from semcache.parts import open_store
from semcache.ports import Selector
from semcache.settings import Settings
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.keys import Keys
from tests.answer.eventually import eventually
from tests.fakes.upstream_server import Behaviour, ByRequest, Seen, UpstreamServer, chat_body, json_reply
from tests.store.servers import command

HOUSE = (
    "You work for the house and answer questions about its products, briefly, politely and in whole sentences. "
    * 2
)
DEFAULT = TenantId("default")
WARM = Keys().base(DEFAULT) + b"warm"


class ScriptedEngine:
    """Answers as an engine does; `restart` makes it another process."""

    def __init__(self) -> None:
        self.pid = 1
        self.chats: list[Any] = []
        self.warmed: list[Any] = []

    def __call__(self, seen: Seen) -> Behaviour:
        if seen.target == "/readyz":
            return json_reply(
                {"model": "local", "fingerprint": "fp", "pid": self.pid, "active": 0, "queued": 0}
            )
        body = seen.json()
        if seen.target == "/v1/prefix/warm":
            self.warmed.append(body)
            return json_reply({"tokens": 50, "computed": 50, "cached": 0, "digest": "d", "seconds": 0.5})
        self.chats.append(body)
        told = {"cached_tokens": 4, "digest": "d"}
        return json_reply(chat_body(f"Answer {len(self.chats)}.", prefix=told))


@asynccontextmanager
async def worker(data: Path, store: ValkeyChild) -> AsyncIterator[httpx.AsyncClient]:
    """One worker without encoders, as the command line starts it."""
    (data / "none").mkdir(exist_ok=True)
    settings = Settings(
        data=data,
        log_requests=False,
        engine={"model": str(data / "none")},  # type: ignore[arg-type] # validated
        encoder={"latin": str(data / "none"), "multilingual": str(data / "none")},  # type: ignore[arg-type] # validated
        prewarm={"write_every": 0.1},  # type: ignore[arg-type] # validated
    )
    async with opened(settings, Wiring(store.url, str(data / "engine.sock"))) as parts:
        transport = httpx.ASGITransport(app=parts.edge())  # type: ignore[arg-type] # an ASGI application
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


@pytest.fixture(autouse=True)
def own_log() -> None:
    """Tests of commands before this one may have bound the log to their own, closed output."""
    structlog.reset_defaults()


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("w")


@pytest.fixture
async def store(data: Path) -> AsyncIterator[ValkeyChild]:
    child = ValkeyChild(data, ChildRules())
    await child.start()
    yield child
    await child.stop()


async def ask(client: httpx.AsyncClient, question: str, **headers: str) -> httpx.Response:
    messages = [{"role": "system", "content": HOUSE}, {"role": "user", "content": question}]
    reply = await client.post(
        "/v1/chat/completions", json={"model": "local", "messages": messages}, headers=headers
    )
    assert reply.status_code == 200, reply.text
    return reply


async def metric(client: httpx.AsyncClient, name: str) -> float:
    text = (await client.get("/metrics")).text
    found = re.search(rf"^{re.escape(name)} ([0-9.e+]+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def test_a_prompt_that_comes_again_is_computed_after_a_restart(data: Path, store: ValkeyChild) -> None:
    engine = ScriptedEngine()
    async with UpstreamServer(ByRequest(engine), uds=data / "engine.sock"):
        async with worker(data, store) as client:
            for question in ("What is rain?", "What is snow?", "What is hail?"):
                await ask(client, question)
            await ask(client, "What is hail?")  # from the cache
            assert len(engine.chats) == 3
            assert {body["prefix_cache"]["tenant_messages"] for body in engine.chats} == {1}
            assert (await client.post("/v1/prefix/warm", json={})).status_code == 404
            await counted(store)
        assert engine.warmed == []

        engine.pid = 2  # the whole installation was stopped and started
        async with worker(data, store) as client:
            await eventually(lambda: engine.warmed, within=10)
            (head,) = engine.warmed
            assert head["messages"] == [{"role": "system", "content": HOUSE}]
            assert head["prefix_cache"] == engine.chats[0]["prefix_cache"]
            await ask(client, "What is fog?")
            assert engine.chats[-1]["prefix_cache"] == head["prefix_cache"]
            assert await metric(client, 'semcache_prewarm_heads_total{outcome="done"}') == 1
            assert await metric(client, 'semcache_prewarm_tokens_total{kind="computed"}') == 50
            # It is in nobody's account: one request, and only its own tokens.
            assert await metric(client, 'semcache_tokens_total{kind="input",tenant="default"}') == 12
            assert (
                len(re.findall(r"^semcache_requests_total", (await client.get("/metrics")).text, re.M)) == 1
            )

            engine.pid = 3  # the engine alone
            await eventually(lambda: len(engine.warmed) == 2, within=10)
            assert (data / "owners.key").stat().st_mode & 0o777 == 0o600


async def counted(store: ValkeyChild) -> None:
    """Wait until heads that were asked for are on the shelf."""
    async with asyncio.timeout(10):
        while not await command(store.url, "EXISTS", WARM):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.05)


async def test_a_flushed_tenant_is_prewarmed_no_more(data: Path, store: ValkeyChild) -> None:
    engine = ScriptedEngine()
    async with UpstreamServer(ByRequest(engine), uds=data / "engine.sock"):
        async with worker(data, store) as client:
            for question in ("What is rain?", "What is snow?"):
                await ask(client, question)
            await counted(store)
        store_of = open_store(Settings(data=data))
        await store_of.delete(Selector(DEFAULT))
        await store_of.aclose()
        assert await command(store.url, "EXISTS", WARM) == 0
        engine.pid = 2
        async with worker(data, store) as client:
            await ask(client, "What is fog?")  # a first sight again
            await asyncio.sleep(4)
            assert engine.warmed == []


async def test_no_store_leaves_nothing(data: Path, store: ValkeyChild) -> None:
    engine = ScriptedEngine()
    async with UpstreamServer(ByRequest(engine), uds=data / "engine.sock"), worker(data, store) as client:
        for question in ("What is rain?", "What is snow?", "What is hail?"):
            await ask(client, question, **{"cache-control": "no-store"})
        assert len({body["prefix_cache"]["user"] for body in engine.chats}) == 3
    log = b"".join(path.read_bytes() for path in (data / "valkey").rglob("*") if path.is_file())
    assert b"work for the house" not in log


async def test_a_replayed_answer_claims_nothing_of_the_engines_cache(data: Path, store: ValkeyChild) -> None:
    engine = ScriptedEngine()
    async with UpstreamServer(ByRequest(engine), uds=data / "engine.sock"), worker(data, store) as client:
        first = (await ask(client, "What is rain?")).json()
        assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 4
        assert first["prefix"]["digest"] == "d"
        again = (await ask(client, "What is rain?")).json()
        assert again["choices"] == first["choices"]
        assert again["usage"].keys() == {
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "semcache_saved",
        }
        assert again["usage"]["prompt_tokens"] == 0
        assert "prefix" not in again
        assert await metric(client, 'semcache_tokens_total{kind="cached_input",tenant="default"}') == 4
        assert await metric(client, 'semcache_tokens_total{kind="saved_input",tenant="default"}') == 12
