"""Whole batches over real sockets: order, failures, interruption."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from semcache.answer.upstream import HttpUpstream
from semcache.batching.batch import Order, Score, Watcher, run_batch
from semcache.batching.sending import Patience, Sender, StoppedError
from semcache.dialects.table import dialect_at
from semcache.errors import SemcacheError
from tests.fakes.upstream_server import Exchange, UpstreamServer
from tests.fakes.upstream_server import reply as scripted

FAST = Patience(tries=3, pause=0.01, longest=0.02, deadline=5.0)
Behaviour = Callable[[Exchange], Awaitable[None]]


def batch_file(folder: Path, count: int, groups: int = 3) -> Path:
    rows = [
        {
            "custom_id": f"r{n}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "m",
                "messages": [
                    {"role": "system", "content": f"Document {n % groups}. " * 100},
                    {"role": "user", "content": f"question {n}"},
                ],
            },
        }
        for n in range(count)
    ]
    random.Random(5).shuffle(rows)
    file = folder / "batch.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def answer_to(body: dict[str, Any]) -> bytes:
    text = "to " + body["messages"][-1]["content"]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()


async def reply(exchange: Exchange, status: int, body: bytes, *head: tuple[str, str]) -> None:
    await scripted(body, status=status, headers=[("content-type", "application/json"), *head])(exchange)


async def echo(exchange: Exchange) -> None:
    await exchange.read_body()
    await asyncio.sleep(0.002)
    await reply(exchange, 200, answer_to(exchange.request.json()), ("semcache-outcome", "miss"))


async def run(
    file: Path, behaviour: Behaviour, watcher: Watcher | None = None, **more: Any
) -> tuple[Score, list[Any]]:
    out = file.with_suffix(".out")
    async with UpstreamServer(behaviour) as server:
        upstream = HttpUpstream("server", server.url.removesuffix("/v1"))
        try:
            order = Order(file, out, **more)
            score = await run_batch(order, Sender(upstream, "k", patience=FAST), watcher or Watcher())
        finally:
            await upstream.aclose()
            run.seen = server.requests  # type: ignore[attr-defined]
    return score, [json.loads(line) for line in out.read_text().splitlines()]


def names(file: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in file.read_text().splitlines()]


async def test_answers_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = batch_file(tmp_path, 60)
    score, lines = await run(file, echo)
    assert [line["custom_id"] for line in lines] == names(file)
    for line in lines:
        said = line["response"]["body"]["choices"][0]["message"]["content"]
        assert said == f"to question {line['custom_id'][1:]}"
        assert line["response"]["status_code"] == 200
        assert line["error"] is None
    assert (score.good, score.failed, score.input, score.cached, score.outcomes) == (
        60,
        0,
        600,
        300,
        {"miss": 60},
    )
    assert not file.with_name("batch.out.part").exists()


async def test_groups_go_out_together(tmp_path: Path) -> None:
    await run(batch_file(tmp_path, 60), echo, at_once=1)
    documents = [one.json()["messages"][0]["content"][:12] for one in run.seen]  # type: ignore[attr-defined]
    assert sum(a != b for a, b in pairwise(documents)) == 2


async def test_what_fails_for_a_moment_is_tried_again(tmp_path: Path) -> None:
    failed: set[str] = set()

    async def flaky(exchange: Exchange) -> None:
        await exchange.read_body()
        name = exchange.request.json()["messages"][-1]["content"]
        if name in failed:
            await echo(exchange)
        else:
            failed.add(name)
            await reply(
                exchange, random.Random(name).choice([429, 500, 503]), b'{"error": {"message": "busy"}}'
            )

    score, lines = await run(batch_file(tmp_path, 20), flaky)
    assert score.good == 20
    assert all(line["error"] is None for line in lines)


async def test_a_request_that_is_refused_is_final_and_the_rest_is_answered(tmp_path: Path) -> None:
    async def picky(exchange: Exchange) -> None:
        await exchange.read_body()
        if exchange.request.json()["messages"][-1]["content"] == "question 3":
            await reply(exchange, 400, b'{"error": {"message": "no", "type": "invalid_request_error"}}')
        else:
            await echo(exchange)

    file = batch_file(tmp_path, 10)
    score, lines = await run(file, picky)
    assert (score.good, score.refused) == (9, 1)
    assert next(line for line in lines if line["custom_id"] == "r3")["response"]["status_code"] == 400
    assert len(run.seen) == 10  # type: ignore[attr-defined]


async def test_wrong_lines_have_their_place_in_the_output(tmp_path: Path) -> None:
    file = batch_file(tmp_path, 3)
    with file.open("a") as stream:
        stream.write('{"half": \n')
    score, lines = await run(file, echo)
    assert len(lines) == 4
    assert lines[3]["error"]["code"] == "invalid_line"
    assert lines[3]["error"]["line"] == 4
    assert len(score.mistakes) == 1


class Interrupt(Watcher):
    def __init__(self, after: int) -> None:
        self.after = after

    def answered(self, score: Score) -> None:
        if score.good >= self.after:
            raise KeyboardInterrupt


async def test_after_an_interruption_only_the_rest_is_sent(tmp_path: Path) -> None:
    file = batch_file(tmp_path, 40)
    with pytest.raises(KeyboardInterrupt):
        await run(file, echo, Interrupt(15))
    assert not file.with_suffix(".out").exists()
    score, lines = await run(file, echo)
    assert score.resumed >= 15
    assert score.resumed + score.good == 40
    assert len(run.seen) == 40 - score.resumed  # type: ignore[attr-defined]
    assert [line["custom_id"] for line in lines] == names(file)
    assert all(line["response"]["status_code"] == 200 for line in lines)


async def test_what_has_no_answer_is_tried_by_the_next_run(tmp_path: Path) -> None:
    async def broken(exchange: Exchange) -> None:
        await exchange.read_body()
        if exchange.request.json()["messages"][-1]["content"] == "question 3":
            await reply(exchange, 500, b'{"error": {}}')
        else:
            await echo(exchange)

    file = batch_file(tmp_path, 10)
    score, lines = await run(file, broken)
    assert (score.good, score.failed) == (9, 1)
    assert sum(line["error"] is not None or line["response"]["status_code"] != 200 for line in lines) == 1
    score, lines = await run(file, echo)
    assert (score.resumed, score.good, score.failed) == (9, 1, 0)
    assert all(line["response"]["status_code"] == 200 for line in lines)


@pytest.mark.parametrize(
    ("status", "error", "word"),
    [
        (401, {"message": "wrong key"}, "--key"),
        (429, {"message": "over", "code": "insufficient_quota"}, "budget"),
    ],
)
async def test_what_every_request_would_be_told_stops_the_batch(
    tmp_path: Path, status: int, error: dict[str, str], word: str
) -> None:
    async def refuse(exchange: Exchange) -> None:
        await reply(exchange, status, json.dumps({"error": error}).encode())

    with pytest.raises(StoppedError, match=word):
        await run(batch_file(tmp_path, 50), refuse, at_once=2)
    assert len(run.seen) <= 4  # type: ignore[attr-defined]


async def test_a_server_that_is_not_there_stops_it_too(tmp_path: Path) -> None:
    upstream = HttpUpstream("server", "http://127.0.0.1:9")
    order = Order(batch_file(tmp_path, 500), tmp_path / "out", at_once=4)
    with pytest.raises(StoppedError, match="--url"):
        await run_batch(order, Sender(upstream, patience=FAST), Watcher())
    await upstream.aclose()


async def test_a_file_without_requests_says_so(tmp_path: Path) -> None:
    file = tmp_path / "batch.jsonl"
    file.write_text("\n\nnot json\n")
    with pytest.raises(SemcacheError, match="line 3"):
        await run(file, echo)


KEYS = {
    "anthropic": "x-api-key",
    "gemini": "x-goog-api-key",
    "openai": "authorization",
    "ollama": "authorization",
}
USED: dict[str, dict[str, Any]] = {
    "/v1/messages": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 5, "output_tokens": 2}},
    "/v1/responses": {
        "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 5}}
    },
    "/v1beta/models/m:generateContent": {
        "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 5, "candidatesTokenCount": 2}
    },
    "/api/chat": {"prompt_eval_count": 10, "eval_count": 2},
    "/v1/embeddings": {"usage": {"prompt_tokens": 10, "total_tokens": 10}},
}
TURN = {"role": "user", "content": "hello", "parts": [{"text": "hello"}]}
BODY = {"model": "m", "messages": [TURN], "input": "hello", "contents": [TURN]}


@pytest.mark.parametrize("path", USED)
async def test_every_dialect_is_asked_under_its_url_with_its_key(path: str, tmp_path: Path) -> None:
    async def answered(exchange: Exchange) -> None:
        await exchange.read_body()
        await reply(exchange, 200, json.dumps(USED[path]).encode())

    file = tmp_path / "batch.jsonl"
    file.write_text(json.dumps({"custom_id": "a", "url": path, "body": BODY}))
    score, lines = await run(file, answered)
    (sent,) = run.seen  # type: ignore[attr-defined]
    dialect = dialect_at(path)
    assert dialect is not None
    key = sent.header(KEYS[dialect.family]) or ""
    assert (sent.target, key.removeprefix("Bearer ")) == (path, "k")
    assert (sent.header("anthropic-version") is not None) == (dialect.family == "anthropic")
    assert lines[0]["response"]["body"] == USED[path]
    output = 0 if path == "/v1/embeddings" else 2
    cached = 5 if "cache" in json.dumps(USED[path]) else 0
    assert (score.good, score.input, score.cached, score.output) == (1, 10, cached, output)


async def test_a_budget_that_is_used_up_stops_a_batch_of_any_dialect(tmp_path: Path) -> None:
    async def refused(exchange: Exchange) -> None:
        await exchange.read_body()
        told = {"type": "error", "error": {"type": "rate_limit_error", "message": "The budget 'b' is empty."}}
        marks = (("x-should-retry", "false"), ("semcache-budget-reset", "2026-01-01T00:00:00Z"))
        await reply(exchange, 429, json.dumps(told).encode(), *marks)

    file = tmp_path / "batch.jsonl"
    file.write_text(json.dumps({"custom_id": "a", "params": {"model": "m", "messages": [TURN]}}))
    with pytest.raises(StoppedError, match="The budget 'b' is empty"):
        await run(file, refused)
