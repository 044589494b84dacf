"""Drafts with the local engine, a real model: the answer is the one it would have given anyway, in fewer steps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.running import Proxy, Reply

NEAR = [
    ("What is the capital of France?", "What is the capital of Spain?"),
    ("Name two rivers in Germany.", "Name two rivers in Italy."),
    ("How many legs does a spider have?", "How many legs does a horse have?"),
    ("Who wrote Hamlet in 1601?", "Who wrote Hamlet in 1603?"),
]


def text(reply: Reply) -> str:
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return reply.text
    events = [json.loads(e[6:]) for e in reply.body.decode().split("\n\n") if e.startswith("data: {")]
    return "".join(c["delta"].get("content") or "" for e in events for c in e["choices"])


def ask(proxy: Proxy, question: str, *, plainly: bool = False, **fields: Any) -> Reply:
    headers = {"cache-control": "no-cache"} if plainly else {}
    reply = proxy.chat(question, headers, model="local", stop=["."], **fields)
    assert reply.status == 200, reply.body
    return reply


@pytest.mark.slow
def test_a_drafted_answer_is_the_plain_answer(proxy: Proxy) -> None:
    """Asked once near a stored answer, and once by a client that wants nothing stored."""
    drafted, accepted = 0, 0
    for number, (stored, asked) in enumerate(NEAR):
        proxy.namespace = f"near-{number}"
        ask(proxy, stored)
        reply = ask(proxy, asked, stream=bool(number % 2))
        record = proxy.records()[-1]
        plain = ask(proxy, asked, plainly=True)
        assert plain.headers["semcache-outcome"] == "miss"
        assert text(reply) == text(plain)
        if reply.headers["semcache-outcome"] == "draft":
            drafted += 1
            draft = record["draft"]
            assert (draft["way"], draft["result"]) == ("lossless", "verified")
            assert draft["output"] == plain.json()["usage"]["completion_tokens"]
            accepted += draft["accepted"]
    assert drafted >= 2
    assert accepted > 0


def test_its_answer_is_stored_as_the_models_own(proxy: Proxy) -> None:
    proxy.namespace = "own"
    stored, asked = NEAR[0]
    ask(proxy, stored)
    first = ask(proxy, asked)
    assert first.headers["semcache-outcome"] == "draft"
    again = ask(proxy, asked)
    assert (again.headers["semcache-outcome"], text(again)) == ("exact", text(first))
    page = proxy.request("GET", "/semcache/engine/metrics").body.decode()
    counted = [
        line for line in page.splitlines() if line.startswith("semcache_engine_draft_accepted_tokens_total")
    ]
    assert float(counted[0].rpartition(" ")[2]) > 0
