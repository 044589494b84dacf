"""The real engine behind the proxy: after its restart the first request finds its system prompt computed."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.running import Proxy, Reply

HOUSE = " ".join(
    f"Rule {n}: answer questions about product {n} briefly, politely and in whole sentences."
    for n in range(12)
)


def ask(proxy: Proxy, question: str, **headers: str) -> Reply:
    messages: list[Any] = [{"role": "system", "content": HOUSE}, {"role": "user", "content": question}]
    reply = proxy.chat(messages, headers, model="local", max_tokens=4)
    assert reply.status == 200
    return reply


def cached(reply: Reply) -> int:
    return int(reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"])


def prewarmed(proxy: Proxy) -> int:
    """Count the heads that were computed beforehand."""
    page = proxy.request("GET", "/metrics").body.decode()
    found = re.search(r'^semcache_prewarm_heads_total\{outcome="done"\} ([0-9.]+)$', page, re.MULTILINE)
    return int(float(found[1])) if found else 0


@pytest.mark.slow
@pytest.mark.timeout(400)  # a whole start of the engine lies in it
def test_the_first_request_after_a_restart_finds_its_system_prompt(proxy: Proxy) -> None:
    # Nothing but the words that open any conversation, which others had.
    assert cached(ask(proxy, "What is product 1?")) <= 4
    warm = cached(ask(proxy, "How does product 2 work?"))
    assert warm > 100
    time.sleep(2.0)  # what was counted is on the shelf

    before = prewarmed(proxy)
    proxy.child("semcache engine").kill()
    proxy.wait_until(lambda: prewarmed(proxy) > before, 200)
    first = ask(proxy, "Where can I buy product 3?")
    # All of it, but for the words that open the next message: no head knows who speaks next.
    assert warm - 4 <= cached(first) <= warm
    # Another key shares nothing with it, whatever was warmed.
    stranger = ask(proxy, "Where can I buy product 4?", authorization="Bearer sk-other")
    assert cached(stranger) == 0


def test_by_hand(proxy: Proxy) -> None:
    messages = [{"role": "system", "content": HOUSE.replace("product", "service")}]
    prompts = proxy.data.parent / "prompts.jsonl"
    prompts.write_text(json.dumps({"messages": messages}) + "\n")
    arguments = ["warm", "--data", str(proxy.data)]
    told = CliRunner().invoke(app, [*arguments, "--file", str(prompts), "--json"])
    assert told.exit_code == 0, told.output
    (row,) = json.loads(told.stdout)
    assert row["tokens"] >= row["computed"] > 100  # it begins as another one does
    for n in (1, 2):  # a head is what two requests began with
        question = {"role": "user", "content": f"What is service {n}?"}
        reply = proxy.chat([*messages, question], model="local", max_tokens=4)
        assert cached(reply) >= row["tokens"] - 4

    def listed() -> list[str]:
        told = CliRunner().invoke(app, [*arguments, "--top", "--json"])
        return [head["tenant"] for head in json.loads(told.stdout)]

    proxy.wait_until(lambda: listed() != [], 10)  # counted, and on the shelf
    assert listed() == ["default"]
    assert json.loads(CliRunner().invoke(app, [*arguments, "--now", "--json"]).stdout)[0]["computed"] <= 1


def test_the_engines_own_pages_are_not_for_clients(proxy: Proxy) -> None:
    for path in ("/v1/prefix", "/v1/prefix/top", "/prefix", "/prefix.html", "/v1/prefix/%77arm"):
        assert proxy.request("GET", path).status == 404
    assert proxy.request("POST", "/v1/prefix/warm", b"{}").json()["error"]["code"] == "unknown_url"


def test_the_engine_shows_itself_to_this_machine_and_to_nobody_else(proxy: Proxy) -> None:
    ask(proxy, "What is product 5?")
    ask(proxy, "What is product 6?")
    page = proxy.request("GET", "/semcache/engine/metrics")
    assert page.status == 200
    assert re.search(r"^semcache_engine_cached_tokens_total [1-9]", page.body.decode(), re.MULTILINE)
    tree = proxy.request("GET", "/semcache/engine/prefix.html")
    assert tree.headers["content-type"].startswith("text/html")
    assert "product" not in tree.body.decode()
    assert proxy.request("GET", "/semcache/engine/v1").status == 404
    refused = proxy.request("GET", "/semcache/engine/prefix", headers={"x-forwarded-for": "9.9.9.9"})
    assert refused.status == 401
