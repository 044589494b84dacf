"""Budgets of running proxies: what the official client sees, what hits do, and what two workers count together."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.core import TenantId
from semcache.cost_port import BudgetState
from semcache.policy.loader import load_directory
from semcache.store.budgets import RedisBudgets
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules
from tests.e2e.running import Proxy, running
from tests.e2e.tenants import bearer
from tests.fakes.upstream_server import (
    ByRequest,
    Exchange,
    Seen,
    UpstreamServer,
    chat_body,
    chat_chunks,
    in_thread,
    json_reply,
    sse_bytes,
)

Clients = Callable[..., openai.OpenAI]
MODEL = "gpt-4o"
"""2.50 and 10 US dollars a million tokens of input and output, by the list."""
CENT = {"prompt_tokens": 0, "completion_tokens": 1000, "total_tokens": 1000}
"""What each whole answer used: a cent's worth."""
LONG = "A story of many words. " * 100
"""About a tenth of a cent to read."""
TENANTS = {
    "cents": "name: all, window: month, hard_usd: 0.10",
    "tenfold": "name: all, window: month, hard_usd: 0.10",
    "thousand": "name: all, window: month, hard_usd: 0.20",
    "cut": "name: all, window: month, hard_usd: 0.01",
    "shop": "name: shop, window: month, hard_usd: 0.02, labels: {project: shop}",
    "counted": "name: all, window: month, requests: 4",
    "closed": "name: all, window: month, hard_usd: 0.01, on_hard: refuse",
    "fixed": "name: all, window: month, hard_usd: 1",
}


def policies(folder: Path) -> Path:
    folder.mkdir()
    for tenant, budget in TENANTS.items():
        digest = hashlib.sha256(f"sk-{tenant}".encode()).hexdigest()
        labels = ", labels: {project: shop}" if tenant == "shop" else ""
        (folder / f"{tenant}.yaml").write_text(
            f"schema_version: 1\ntenant: {tenant}\n"
            f'access: {{keys: [{{name: main, hash: "sha256:{digest}"{labels}}}]}}\n'
            "default_domain: chat\ndomains: {chat: {mode: exact}}\n"
            f"costs: {{budgets: [{{{budget}}}]}}\n"
        )
    return folder


def answering(seen: Seen) -> object:
    """Answer with a cent's worth of tokens; streams never say what they used, and go on for long."""
    if not seen.body:
        return json_reply({"object": "list", "data": []})
    body = seen.json()
    if body.get("stream"):
        return endless
    return json_reply(chat_body(f"Answer to {body['messages'][-1]['content']}", usage=CENT))


async def endless(exchange: Exchange) -> None:
    await exchange.head(200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
    for chunk in chat_chunks(["word "] * 400, usage=False):
        await exchange.chunk(sse_bytes([chunk], done=False))
        await asyncio.sleep(0.02)
    await exchange.end()


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(answering)) as server:
        yield server


@pytest.fixture(autouse=True)
def counted(upstream: UpstreamServer) -> None:
    upstream.requests.clear()
    upstream.script = ByRequest(answering)


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("budgets")
    arguments = (
        "--upstream",
        upstream.url,
        "--policies",
        str(policies(folder / "policies")),
        "--workers",
        "2",
    )
    with running(folder / "data", *arguments) as started:
        yield started


@pytest.fixture
def client_of() -> Iterator[Clients]:
    """Makes clients of a proxy by tenant, and closes them."""
    made: list[openai.OpenAI] = []

    def client(proxy: Proxy, tenant: str, **options: Any) -> openai.OpenAI:
        made.append(proxy.client(f"sk-{tenant}", **options))
        return made[-1]

    yield client
    for each in made:
        each.close()


def ask(client: openai.OpenAI, question: str, **fields: Any) -> Any:
    messages: Any = [{"role": "user", "content": question}]
    return client.chat.completions.create(model=MODEL, messages=messages, **{"max_tokens": 900, **fields})


def counts(proxy: Proxy, tenant: str) -> BudgetState:
    """What is counted under a tenant's only budget."""

    async def read() -> BudgetState:
        store = RedisBudgets(embedded_url(proxy.data), LinkRules(deadline=5.0))
        rules = load_directory(proxy.data.parent / "policies").costs(TenantId(tenant)).budgets
        try:
            return (await store.states(TenantId(tenant), rules, time.time()))[0]
        finally:
            await store.aclose()

    return asyncio.run(read())


def settled(proxy: Proxy, tenant: str) -> BudgetState:
    """The same, once nothing is set aside any more."""
    proxy.wait_until(lambda: counts(proxy, tenant).held == 0)
    return counts(proxy, tenant)


def report(proxy: Proxy, tenant: str) -> dict[str, Any]:
    """What `semcache report budgets` says of it, from the store that the proxy counts in."""
    places = ["--data", str(proxy.data), "--policies", str(proxy.data.parent / "policies")]
    found = CliRunner().invoke(app, ["report", "budgets", "--json", "--tenant", tenant, *places])
    assert found.exit_code == 0, found.exception
    (budget,) = json.loads(found.stdout)["budgets"]
    return dict(budget)


def test_ten_cents_buy_ten_calls_and_hits_go_on(
    proxy: Proxy, upstream: UpstreamServer, client_of: Clients
) -> None:
    client = client_of(proxy, "cents")
    left = []
    for n in range(10):
        assert ask(client, f"Question {n}?").choices[0].message.content == f"Answer to Question {n}?"
        left.append(settled(proxy, "cents").left)
    assert left == [100_000 - 10_000 * n for n in range(1, 11)]
    with pytest.raises(openai.RateLimitError) as refused:
        ask(client, "Question 10?")
    error, headers = refused.value, refused.value.response.headers
    assert (error.status_code, error.code, error.type) == (429, "insufficient_quota", "insufficient_quota")
    assert "'all'" in error.message
    assert (headers["x-should-retry"], headers["semcache-budget"]) == ("false", "all")
    assert headers["semcache-budget-reset"] == report(proxy, "cents")["resets"]
    assert 0 < int(headers["retry-after"]) <= 31 * 86_400
    again = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "user", "content": "Question 3?"}], max_tokens=900
    )
    assert again.headers["semcache-outcome"] == "exact"
    assert upstream.calls == 10
    reasons = Counter(line["reason"] for line in proxy.records() if line["tenant"] == "cents")
    # Once: the client did not try again.
    assert (reasons["insufficient_quota"], reasons["hit"]) == (1, 1)
    assert proxy.metric("semcache_budget_refusals_total") >= 1


@pytest.mark.event(37)
@pytest.mark.parametrize(("tenant", "asked", "bought"), [("tenfold", 30, 10), ("thousand", 1000, 20)])
def test_all_at_once_over_two_workers_buy_what_is_left(
    proxy: Proxy, upstream: UpstreamServer, tenant: str, asked: int, bought: int
) -> None:
    async def all_at_once() -> list[int]:
        every = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers=bearer(f"sk-{tenant}"), connector=every) as session:

            async def one(n: int) -> int:
                body = {"model": MODEL, "messages": [{"role": "user", "content": f"Q{n}"}], "max_tokens": 980}
                async with session.post(f"{proxy.url}/v1/chat/completions", json=body) as reply:
                    await reply.read()
                    return reply.status

            return await asyncio.gather(*(one(n) for n in range(asked)))

    statuses = Counter(asyncio.run(all_at_once()))
    assert set(statuses) <= {200, 429, 503}
    assert statuses[503] == 0 or asked > 100, "who cannot be told in time what is left is refused too"
    assert upstream.calls == statuses[200] <= bought
    # Nothing is spent above the limit, and what the burst left can be spent.
    asyncio.run(all_at_once())
    assert upstream.calls == bought
    assert settled(proxy, tenant).spent == bought * 10_000


def test_streams_that_are_always_cut_reach_the_limit(proxy: Proxy, client_of: Clients) -> None:
    client, outcomes = client_of(proxy, "cut", max_retries=0), []
    for n in range(50):
        try:
            with ask(client, f"Story {n}? {LONG}", stream=True, max_tokens=300, temperature=1) as stream:
                for _, _event in zip(range(2), stream, strict=False):
                    pass
            outcomes.append("cut")
        except openai.RateLimitError:
            outcomes.append("refused")
            break
        settled(proxy, "cut") if n % 10 == 9 else None
    assert outcomes[-1] == "refused"
    lines = [line for line in proxy.records() if line["tenant"] == "cut" and line["status"] == 200]
    assert len(lines) == len(outcomes) - 1
    assert all(line["estimated"] and line["hold"] for line in lines)
    assert 0 < settled(proxy, "cut").spent <= 10_000


def test_a_label_of_the_key_is_not_shaken_off(proxy: Proxy, client_of: Clients) -> None:
    client = client_of(proxy, "shop").with_options(default_headers={"semcache-labels": "project=other"})
    ask(client, "One?")
    settled(proxy, "shop")
    ask(client, "Two?")
    settled(proxy, "shop")
    with pytest.raises(openai.RateLimitError):
        ask(client, "Three?")


def test_requests_are_counted_with_hits(proxy: Proxy, client_of: Clients) -> None:
    client = client_of(proxy, "counted")
    for _ in range(4):
        ask(client, "The same?")
    with pytest.raises(openai.RateLimitError) as refused:
        ask(client, "The same?")
    assert "no requests left" in refused.value.message
    assert settled(proxy, "counted").requests == 4


def test_where_all_is_refused_hits_are_too(proxy: Proxy, client_of: Clients) -> None:
    client = client_of(proxy, "closed")
    ask(client, "The same?")
    assert settled(proxy, "closed").left == 0
    with pytest.raises(openai.RateLimitError):
        ask(client, "The same?")


def test_forwarded_paths_count_too(proxy: Proxy, upstream: UpstreamServer, client_of: Clients) -> None:
    upstream.script = json_reply(chat_body(object="text_completion", usage=CENT))
    before = settled(proxy, "fixed").spent
    client = client_of(proxy, "fixed")
    client.completions.create(model=MODEL, prompt="x", max_tokens=10)
    assert settled(proxy, "fixed").spent == before + 10_000
    with pytest.raises(openai.PermissionDeniedError) as refused:
        client.completions.create(model="nobody-knows-this", prompt="x")
    assert refused.value.code == "price_unknown"


def test_without_the_store_a_limit_is_closed(
    upstream: UpstreamServer, tmp_path: Path, client_of: Clients
) -> None:
    arguments = ("--upstream", upstream.url, "--policies", str(policies(tmp_path / "policies")))
    with running(tmp_path / "data", *arguments) as own:
        client = client_of(own, "fixed", max_retries=0)
        ask(client, "Before?")
        own.child("valkey-server").suspend()
        try:
            with pytest.raises(openai.InternalServerError) as refused:
                ask(client, "Meanwhile?")
            assert (refused.value.status_code, refused.value.code) == (503, "budget_unavailable")
            assert upstream.calls == 1
        finally:
            own.child("valkey-server").resume()
        own.wait_until(lambda: _answers(client))


def _answers(client: openai.OpenAI) -> bool:
    try:
        ask(client, "After?")
    except openai.InternalServerError:
        return False
    return True
