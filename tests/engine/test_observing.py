"""What the engine shows of itself, and warming by hand, over a real socket."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser

import httpx
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from semcache.engine import audit, metrics, pages
from semcache.engine.chat import ChatTemplate
from semcache.engine.generation import (
    Delta,
    Done,
    Failed,
    Finished,
    FinishReason,
    GenerationRequest,
    Reuse,
    Runner,
    RunnerStats,
    Sink,
    Timing,
    overloaded,
)
from semcache.engine.layers import PUBLIC
from semcache.engine.plain import Reporting, empty_report
from semcache.engine.report import EngineReport, TenantShare, TopPrefix, TreeNode
from semcache.engine.service import Engine
from semcache.errors import EngineError, RequestError
from tests.engine.conftest import Served, served
from tests.engine.light import LightRunner
from tests.engine.tiny import tiny_tokenizer

EVIL = '<script>alert("x")</script>\x1b[2J&'

REPORT = replace(
    empty_report(),
    capacity=1000,
    free=400,
    tree=500,
    running=100,
    pinned=200,
    nodes=3,
    high_water=900,
    bytes_per_token=2048,
    prompt=800,
    cached=600,
    generated=70,
    steps=50,
    decode_rows=65,
    queued=2,
    evictions=(("budget", 30), ("tenant", 4)),
    tenants=(TenantShare("1a2b3c4d", 300, 0, None), TenantShare("public", 200, 0, None)),
)
NODES = (
    TreeNode(0, 0, 120, "public", 9, 4.5, 1, 3.0, 7200.0, "aa" * 16),
    TreeNode(1, 120, 30, EVIL, 2, 1.0, 0, 65.0, 90000.0, EVIL),
)


class ToldRunner(LightRunner):
    """Tells what it was told to, and keeps what it is asked."""

    def __init__(self, done: Done | None = None) -> None:
        self.asked: list[GenerationRequest] = []
        self.fault: EngineError | RequestError | None = None
        self.report_fault: EngineError | None = None
        self._done = done or Done(40, 3)

    def submit(self, request: GenerationRequest, sink: Sink) -> ToldRunner:
        self.asked.append(request)
        if isinstance(self.fault, RequestError):
            raise self.fault
        if self.fault is not None:
            sink(Failed(self.fault))
            return self
        events = [] if request.max_tokens == 0 else [Delta(0, "light")]
        for event in (*events, Finished(0, FinishReason.STOP), self._done):
            sink(event)
        return self

    def report(self) -> EngineReport:
        if self.report_fault:
            raise self.report_fault
        return REPORT

    def tree_view(self, limit: int) -> tuple[TreeNode, ...]:
        return NODES[:limit]

    def top_prefixes(self, count: int) -> tuple[TopPrefix, ...]:
        return (TopPrefix("ab" * 16, 150, 4.5, "public"),)[:count]


DONE = Done(
    prompt_tokens=40,
    completion_tokens=3,
    cached_tokens=30,
    accepted_draft=2,
    rejected_draft=1,
    steps=2,
    reuse=Reuse(30, 20, 12.3456, "cd" * 16),
    timing=Timing(0.001, 0.0001, 0.02, 0.0005),
)


@pytest.fixture
def runner() -> ToldRunner:
    return ToldRunner(DONE)


@pytest.fixture
def server(runner: ToldRunner) -> Iterator[Served]:
    def load(stage: Callable[[str], None]) -> Engine:
        return Engine(ChatTemplate(tiny_tokenizer()), runner, 300, 300, "fp_told")

    with served(load) as found:
        found.wait_ready()
        yield found


ASK = {"model": "local", "messages": [{"role": "user", "content": "Hello, secret-word"}]}


def warm(server: Served, **fields: object) -> httpx.Response:
    return httpx.post(f"{server.url}/v1/prefix/warm", json={**ASK, **fields}, timeout=20.0)


def samples(server: Served) -> dict[tuple[str, str], float]:
    """Value by name and first label."""
    reply = server.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


def test_usage_and_the_reused_prefix_are_in_the_answer_and_in_the_last_chunk(server: Served) -> None:
    whole = server.post(orjson.dumps(ASK)).json()
    asked = {**ASK, "stream": True, "stream_options": {"include_usage": True}}
    lines = server.post(orjson.dumps(asked)).text.strip().split("\n\n")
    last = orjson.loads(lines[-2].removeprefix("data: "))
    for found in (whole, last):
        assert found["usage"]["prompt_tokens_details"] == {"cached_tokens": 30}
        assert found["usage"]["completion_tokens_details"] == {
            "accepted_prediction_tokens": 2,
            "rejected_prediction_tokens": 1,
        }
        assert found["prefix"] == {
            "cached_tokens": 30,
            "public_tokens": 20,
            "age_seconds": 12.346,
            "digest": "cd" * 16,
        }
    assert all("prefix" not in orjson.loads(line.removeprefix("data: ")) for line in lines[:-2])


def test_each_request_is_one_line_without_its_text(
    server: Served, runner: ToldRunner, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "semcache.engine.audit"):
        server.post(orjson.dumps(ASK))
        warm(server)
        runner.fault = EngineError("broken")
        server.post(orjson.dumps(ASK))
    first, second, third = (dict(part.split("=") for part in line.split()) for line in caplog.messages)
    assert first["id"].startswith("chatcmpl-")
    assert {key: first[key] for key in ("kind", "prompt", "cached", "public", "generated", "finish")} == {
        "kind": "answer",
        "prompt": "40",
        "cached": "30",
        "public": "20",
        "generated": "3",
        "finish": "stop",
    }
    assert (first["queue_ms"], first["match_ms"], first["prefill_ms"]) == ("1.0", "0.10", "20.0")
    assert first["prefix"] == "cd" * 16
    assert second["kind"] == "warm"
    assert third["finish"] == "failed"
    assert "secret-word" not in caplog.text


def test_metrics(server: Served, runner: ToldRunner) -> None:
    server.post(orjson.dumps(ASK))
    warm(server)
    runner.fault = EngineError("broken")
    server.post(orjson.dumps(ASK))
    found = samples(server)
    name = "semcache_engine_"
    assert found[name + "prompt_tokens_total", ""] == 800
    assert found[name + "cached_tokens_total", ""] == 600
    assert found[name + "free_tokens", ""] == 400
    assert found[name + "evicted_tokens_total", "budget"] == 30
    assert found[name + "tenant_tokens", "public"] == 200
    assert found[name + "tenant_tokens", "1a2b3c4d"] == 300
    assert [found[name + "requests_total", end] for end in ("done", "failed", "warmed", "left")] == [
        1,
        1,
        1,
        0,
    ]
    assert found[name + "prefill_seconds_sum", ""] == pytest.approx(0.02)
    assert found[name + "first_token_seconds_sum", ""] == pytest.approx(0.0216)
    assert found[name + "ready", ""] == 1


def test_metrics_of_an_engine_that_does_not_answer(server: Served, runner: ToldRunner) -> None:
    runner.report_fault = EngineError("the engine is too busy to tell about itself")
    for path in ("/metrics", "/v1/prefix", "/prefix", "/prefix.html"):
        refused = server.get(path)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "engine_unavailable"


def test_while_loading_metrics_say_so_and_pages_tell_when_to_come_back() -> None:
    def load(stage: Callable[[str], None]) -> Engine:
        raise EngineError("no model")

    with served(load) as server:
        assert samples(server)["semcache_engine_ready", ""] == 0
        assert server.get("/prefix").status_code == 503
        assert warm(server).status_code == 503


def test_series_of_tenants_are_bounded() -> None:
    shares = tuple(TenantShare(f"t{n}", n, 0, None) for n in range(500))
    named = metrics.by_tenant(shares)
    assert len(named) == metrics.MAX_TENANTS + 1
    assert named[0] == ("t499", 499)
    assert metrics.by_tenant((shares[3], shares[3])) == [("t3", 6)]
    assert sum(tokens for _, tokens in named) == sum(range(500))


def test_the_tree_as_json(server: Served) -> None:
    document = server.get("/v1/prefix").json()
    assert document["report"]["hit_rate"] == 0.75
    assert document["report"]["evictions"] == {"budget": 30, "tenant": 4}
    assert [node["tokens"] for node in document["tree"]] == [120, 30]
    assert document["report"]["tenants"] == {"1a2b3c4d": 300, "public": 200}
    assert len(server.get("/v1/prefix?limit=1").json()["tree"]) == 1


def test_the_tree_as_text(server: Served) -> None:
    text = server.get("/prefix").text
    assert "75.0% of 800 prompt tokens" in text
    assert "[########============++++                ]" in text
    lines = text.splitlines()
    assert lines[-2].split()[:5] == ["120", "0", "9", "4.5", "1"]
    assert lines[-1].split()[5:9] == ["1.1", "min", "1.0", "d"]
    assert "\x1b" not in text


class Reading(HTMLParser):
    """Collects the tags and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value for key, value in attrs if key in ("src", "href")]


def test_the_page_escapes_and_needs_nothing_else(server: Served) -> None:
    reply = server.get("/prefix.html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    reading = Reading()
    reading.feed(reply.text)
    assert "script" not in reading.tags
    assert not reading.addresses
    assert "&lt;script&gt;" in reply.text
    assert "prefers-color-scheme:dark" in reply.text
    for figure in ("75.0%", "500", "budget", "1.0 d"):
        assert figure in reply.text


def test_an_empty_engine_has_pages_too() -> None:
    empty = empty_report()
    assert "0.0%" in pages.as_text(empty, ())
    assert "nothing yet" in pages.as_page(empty, (), "<model>")
    assert "<model>" not in pages.as_page(empty, (), "<model>")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (90, "1.5 min"), (7200, "2.0 h"), (86400, "1.0 d")],
)
def test_time_spans(seconds: float, words: str) -> None:
    assert pages.ago(seconds) == words


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=99999", "limit=-1", "limit="])
def test_counts_are_checked(server: Served, query: str) -> None:
    refused = server.get(f"/v1/prefix?{query}")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "limit")


def test_the_most_valuable_prefixes(server: Served) -> None:
    found = server.get("/v1/prefix/top?n=3").json()["data"]
    assert found == [{"digest": "ab" * 16, "tokens": 150, "frequency": 4.5, "owner": "public"}]
    assert server.get("/v1/prefix/top?n=0").status_code == 400


def test_warming_goes_the_way_of_a_request_and_tells_what_it_took(server: Served, runner: ToldRunner) -> None:
    who = {"prefix_cache": {"tenant": "t", "public_messages": 1}}
    head = {"messages": [{"role": "system", "content": "Be kind."}]}
    document = warm(server, **head, **who).json()
    server.post(orjson.dumps({**ASK, **who, "messages": [*head["messages"], *ASK["messages"]]}))
    warmed, asked = runner.asked
    assert (warmed.max_tokens, warmed.background) == (0, True)
    assert asked.prompt[: len(warmed.prompt)] == warmed.prompt
    assert warmed.layers[0].owner == asked.layers[0].owner == PUBLIC
    assert asked.layers[0].end == len(warmed.prompt)
    assert document.pop("seconds") >= 0
    assert document == {
        "object": "prefix.warm",
        "tokens": 40,
        "computed": 10,
        "cached": 30,
        "digest": "cd" * 16,
    }


def test_a_warming_that_failed_is_told_as_failed(server: Served, runner: ToldRunner) -> None:
    runner.fault = EngineError("out of memory")
    assert warm(server).status_code == 503
    assert warm(server).json()["error"]["message"] == "out of memory"
    runner.fault = overloaded("9 requests are waiting already", retry_after=2)
    refused = warm(server)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"] == "2"
    assert warm(server, model="other").status_code == 404
    assert warm(server, messages=[]).status_code == 400
    assert warm(server, messages=[{"role": "user", "content": "x" * 400}]).json()["error"]["code"] == (
        "context_length_exceeded"
    )


def test_a_runner_without_prefixes_reports_what_it_has() -> None:
    class Busy(LightRunner):
        def stats(self) -> RunnerStats:
            return RunnerStats(3, 2, 70)

    wrapped = Reporting(Busy())
    assert isinstance(wrapped, Runner)
    report = wrapped.report()
    assert (report.active, report.queued, report.generated, report.capacity) == (3, 2, 70, 0)
    assert wrapped.tree_view(5) == wrapped.top_prefixes(5) == ()


async def test_a_client_that_leaves_is_told_once() -> None:
    ends: list[str] = []

    class Count:
        def done(self, done: Done, seconds: float) -> None:
            ends.append("done")

        def ended(self, how: str) -> None:
            ends.append(how)

    class Silent:
        async def next(self, patience: float) -> None:
            return None

    answering = audit.Answering("id", audit.ANSWER, Silent(), LightRunner(), Count())
    assert await answering.next(0) is None
    answering.cancel()
    answering.cancel()
    assert ends == ["left"]
