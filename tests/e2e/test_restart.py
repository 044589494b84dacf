"""What outlives a process and what must not: restarts, deletions, replicas on one store, workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import Exchange, UpstreamServer, chat_json


@pytest.fixture(scope="module")
def pair(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    """Two proxies on one store: the first runs it, the second is told its address."""
    folder = tmp_path_factory.mktemp("pair")
    with (
        running(folder / "one" / "data", "--upstream", upstream.url, HOME=str(folder / "home")) as one,
        running(
            folder / "two" / "data",
            "--upstream",
            upstream.url,
            SEMCACHE_STORE__URL=f"unix://{one.data / 'valkey' / 's'}",
        ) as two,
    ):
        yield one, two


@pytest.fixture
def one(pair: tuple[Proxy, Proxy], request: pytest.FixtureRequest) -> Proxy:
    pair[0].namespace = pair[1].namespace = request.node.name
    return pair[0]


@pytest.fixture
def two(pair: tuple[Proxy, Proxy], one: Proxy) -> Proxy:
    return pair[1]


def entries(proxy: Proxy, *arguments: str) -> str:
    """Run `semcache entries` beside a running proxy (in this process: it starts faster)."""
    ended = CliRunner().invoke(app, ["entries", *arguments, "--data", str(proxy.data)])
    assert ended.exit_code == 0, ended.exception
    return ended.stdout


def listed(proxy: Proxy, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(entries(proxy, "list", "--json", *arguments))["entries"]
    return found


def looked(proxy: Proxy, question: str, **fields: Any) -> str:
    """Look without leaving an answer behind."""
    return proxy.outcome(question, {"cache-control": "no-store"}, **fields)


def test_no_library_keeps_or_reports_anything_of_its_own(one: Proxy) -> None:
    one.chat("Is anything written down elsewhere?")
    home = Path(one.environment["HOME"])
    assert [str(path) for path in home.rglob("*") if path.is_file()] == []


# -- commands beside a running proxy --------------------------------------------------------


def test_entries_are_listed_and_shown(one: Proxy) -> None:
    one.chat("What is listed here?", {"semcache-tags": "kb-1"}, model="listed-model")
    hit = one.chat("What is listed here?", {"semcache-tags": "kb-1"}, model="listed-model")
    entry_id = hit.headers["semcache-entry"]
    assert [row["id"] for row in listed(one, "--tag", "kb-1")] == [entry_id]
    assert [row["id"] for row in listed(one, "--model", "listed-model")] == [entry_id]
    shown = json.loads(entries(one, "show", entry_id))
    assert shown["prompt"] == "What is listed here?"
    assert shown["answer"]["choices"][0]["message"]["content"] == hit.text
    assert [row["id"] for row in listed(one, "--namespace", shown["namespace"])] == [entry_id]
    assert listed(one, "--tenant", "other") == []
    assert entry_id in entries(one, "list", "--model", "listed-model")
    assert entry_id.isalnum(), "one word to a mouse, and never taken for a flag"


def test_explain_takes_a_whole_request(one: Proxy, tmp_path: Path) -> None:
    one.namespace = ""
    one.chat("How do I explain a request?", stop=["."], model="explained")
    asked = {"role": "user", "content": "How can I explain a request?"}
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"model": "explained", "stop": ["."], "messages": [asked]}))

    def explain(*arguments: str) -> dict[str, Any]:
        ended = CliRunner().invoke(app, ["explain", *arguments, "--url", f"{one.url}/v1", "--json"])
        assert ended.exit_code == 0, ended.exception
        told: dict[str, Any] = json.loads(ended.stdout)
        return told

    assert explain("--request", str(file))["decision"] == "hit"
    assert explain(asked["content"], "--model", "explained")["decision"] == "miss", "stop counts"


@pytest.mark.event(33)
@pytest.mark.parametrize("selector", ["id", "tag", "namespace", "model"])
def test_what_is_deleted_is_gone_in_every_process_within_a_second(
    one: Proxy, two: Proxy, selector: str
) -> None:
    gone, kept = f"Shall I be deleted by {selector}?", f"Shall I be kept beside it, {selector}?"
    tagged = {"semcache-tags": f"t-{selector}"}
    for proxy in (one, two):  # both now hold it in their own memory
        proxy.chat(gone, tagged, model=f"model-{selector}")
        proxy.chat(kept, model="another")
    hit = two.chat(gone, model=f"model-{selector}")
    assert hit.headers["semcache-outcome"] == "exact"
    entry_id = hit.headers["semcache-entry"]
    selected = {
        "id": lambda: [entry_id],
        "tag": lambda: ["--tag", f"t-{selector}"],
        "namespace": lambda: ["--namespace", json.loads(entries(one, "show", entry_id))["namespace"]],
        "model": lambda: ["--model", f"model-{selector}"],
    }[selector]()
    assert "1 " in entries(one, "delete", *selected)
    time.sleep(1.0)
    for proxy in (one, two):
        assert looked(proxy, gone, model=f"model-{selector}") == "miss"
        assert looked(proxy, gone.replace("Shall", "Should"), model=f"model-{selector}") == "miss"
        assert looked(proxy, kept, model="another") == "exact"


# -- replicas -------------------------------------------------------------------------------


@pytest.mark.event(33)
def test_a_replica_serves_what_another_stored_within_a_second(
    one: Proxy, two: Proxy, upstream: UpstreamServer
) -> None:
    stored = one.chat("How do I change my address?")
    assert two.outcome("How do I change my address?") == "exact"
    began = time.monotonic()
    two.wait_until(lambda: looked(two, "How can I change my address?") == "semantic", 5)
    assert time.monotonic() - began < 1.0
    assert two.chat("How can I change my address?").text == stored.text
    upstream.script = chat_json("a newer one")
    one.chat("How do I change my address?", {"cache-control": "no-cache"})
    time.sleep(1.0)
    assert two.chat("How do I change my address?").text == "a newer one"


@pytest.mark.parametrize("selector", ["tag", "model", "everything", "id"])
def test_an_answer_begun_before_a_deletion_does_not_come_back(
    one: Proxy, two: Proxy, upstream: UpstreamServer, selector: str
) -> None:
    question = f"Am I being made while I am deleted by {selector}?"
    fields = {"model": f"flying-{selector}"}
    tagged = {"semcache-tags": f"flying-{selector}"}
    one.chat(question, tagged, **fields)
    entry_id = one.chat(question, **fields).headers["semcache-entry"]
    deleted = threading.Event()

    async def begun_before(exchange: Exchange) -> None:
        await asyncio.to_thread(deleted.wait, 30)
        await chat_json("begun before")(exchange)

    upstream.script = begun_before
    refreshed: list[str] = []

    def refresh() -> None:
        reply = one.chat(question, {**tagged, "cache-control": "no-cache"}, **fields)
        refreshed.append(reply.headers["cache-status"])

    thread = threading.Thread(target=refresh)
    upstream.requests.clear()
    thread.start()
    one.wait_until(lambda: upstream.calls == 1)
    chosen = {
        "tag": ["--tag", f"flying-{selector}"],
        "model": ["--model", f"flying-{selector}"],
        "id": [entry_id],
    }
    entries(one, "delete", *chosen.get(selector, ["--all"]))
    deleted.set()
    thread.join()
    assert "stored" not in refreshed[0]
    upstream.script = chat_json("made after")
    for proxy in (one, two):
        assert looked(proxy, question, **fields) == "miss"
    assert one.outcome(question, tagged, **fields) == "miss"
    assert one.chat(question, **fields).text == "made after"


def test_two_processes_cannot_own_one_data_directory(one: Proxy, upstream: UpstreamServer) -> None:
    command = [sys.executable, "-m", "semcache", "serve", "--data", str(one.data), "--port", "0"]
    ended = subprocess.run(
        [*command, "--upstream", upstream.url], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert "in use by another semcache process" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert one.chat("Do I still run?").status == 200


# -- restarts -------------------------------------------------------------------------------


def again(proxy: Proxy, **environment: str) -> None:
    """Stop and start a proxy on the same data."""
    assert proxy.stop() == 0
    proxy.stderr.clear()
    proxy.environment.update(environment)
    proxy.start()
    proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready", 30)


def test_a_restart_keeps_entries_but_nothing_deleted(upstream: UpstreamServer, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url, every_script=True) as proxy:
        proxy.chat("How do I book a room?")
        proxy.chat("怎么预订会议室?")
        for name in ("tag", "model"):
            proxy.chat(f"Deleted by {name}?", {"semcache-tags": f"t-{name}"}, model=f"m-{name}")
        entries(proxy, "delete", "--tag", "t-tag")
        entries(proxy, "delete", "--model", "m-model")
        upstream.requests.clear()
        again(proxy)
        assert proxy.ready_detail()["vectors"] == 2
        assert looked(proxy, "How do I book a room?") == "exact"
        assert looked(proxy, "How can I book a room?") == "semantic"
        assert looked(proxy, "如何预订会议室?") == "semantic"
        assert upstream.calls == 0
        assert looked(proxy, "Deleted by tag?", model="m-tag") == "miss"
        assert looked(proxy, "Deleted by model?", model="m-model") == "miss"


def test_another_encoder_keeps_hits_and_compares_no_old_vectors(
    upstream: UpstreamServer, tmp_path: Path
) -> None:
    e5 = {"SEMCACHE_ENCODER__LATIN": "multilingual-e5-small"}
    with running(tmp_path / "data", "--upstream", upstream.url, every_script=True, **e5) as proxy:
        proxy.chat("How do I book a room?")
        proxy.chat("怎么预订会议室?")
        assert looked(proxy, "How can I book a room?") == "semantic"
        again(proxy, SEMCACHE_ENCODER__LATIN="all-MiniLM-L6-v2")
        assert looked(proxy, "How do I book a room?") == "exact"
        # Its vector is of another encoder: until it has a new one it is found by equal requests only.
        assert looked(proxy, "How can I book a room?") in ("miss", "semantic")
        assert looked(proxy, "如何预订会议室?") == "semantic", "that encoder is still the same"
        proxy.wait_until(lambda: looked(proxy, "How can I book a room?") == "semantic")
        proxy.chat("How do I park a car?")
        assert looked(proxy, "How can I park a car?") == "semantic"


@pytest.mark.slow
def test_vectors_made_beforehand_are_there_at_the_start(upstream: UpstreamServer, tmp_path: Path) -> None:
    e5 = {"SEMCACHE_ENCODER__LATIN": "multilingual-e5-small"}
    with running(tmp_path / "data", "--upstream", upstream.url, every_script=True, **e5) as proxy:
        proxy.chat("How do I book a room?")
        assert "1 vectors made, 0 were there" in vectors(proxy, "build", "--latin", "all-MiniLM-L6-v2")
        assert looked(proxy, "How can I book a room?") == "semantic", "the service goes on as it was"
        assert "0 vectors made, 1 were there" in vectors(proxy, "build", "--latin", "all-MiniLM-L6-v2")
        again(proxy, SEMCACHE_ENCODER__LATIN="all-MiniLM-L6-v2")
        proxy.wait_until(lambda: looked(proxy, "How can I book a room?") == "semantic")
        held = json.loads(vectors(proxy, "status", "--json"))["held"]
        now = {one["generation"].partition("@")[0]: (one["entries"], one["beside"]) for one in held}
        assert now == {"all-MiniLM-L6-v2": (1, 0), "multilingual-e5-small": (0, 1)}
        old = next(one["generation"] for one in held if one["beside"])
        assert "1 vectors removed" in vectors(proxy, "drop", old)


def vectors(proxy: Proxy, *words: str) -> str:
    found = CliRunner().invoke(app, ["vectors", *words, "--data", str(proxy.data)])
    assert found.exit_code == 0, found.output
    return found.output


# -- workers --------------------------------------------------------------------------------


def workers(proxy: Proxy) -> list[psutil.Process]:
    assert proxy.process is not None
    found = []
    for child in psutil.Process(proxy.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "worker" in child.cmdline():
                found.append(child)
    return found


def _said(proxy: Proxy) -> dict[int, str]:
    """Ask whichever worker answers how it is."""
    state = proxy.ready_detail()
    return {state["worker"]: state["status"]}


@pytest.mark.event(43)
def test_workers_share_answers_deletions_and_metrics(upstream: UpstreamServer, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url, "--workers", "2") as proxy:
        assert len(workers(proxy)) == 2
        proxy.wait_until(lambda: all(proxy.ready_detail()["status"] == "ready" for _ in range(10)), 30)
        asked = [proxy.outcome(f"Which worker was it, {number % 10}?") for number in range(60)]
        assert asked == ["miss"] * 10 + ["exact"] * 50
        assert upstream.calls == 10
        time.sleep(1.0)
        assert {looked(proxy, "Which worker would it be, 3?") for _ in range(20)} <= {"semantic", "miss"}
        chats = 80
        proxy.wait_until(lambda: proxy.metric("semcache_requests_total") >= chats, 5)
        assert {proxy.metric("semcache_requests_total") for _ in range(10)} == {float(chats)}
        assert proxy.metric("semcache_entries_stored_total") == 10

        entries(proxy, "delete", "--all")
        time.sleep(1.0)
        assert {looked(proxy, "Which worker was it, 3?") for _ in range(20)} == {"miss"}

        killed, other = workers(proxy)
        proxy.chat("Before the kill?")
        killed.kill()
        assert [proxy.outcome("Before the kill?") for _ in range(10)] == ["exact"] * 10
        proxy.wait_until(lambda: len(workers(proxy)) == 2, 15)
        started = {worker.pid for worker in workers(proxy)}
        assert other.pid in started
        # One that is still starting would end of this.
        assert proxy.process is not None
        proxy.process.send_signal(signal.SIGHUP)
        assert [proxy.outcome("Before the kill?") for _ in range(10)] == ["exact"] * 10
        before = proxy.metric("semcache_requests_total")
        assert before >= chats
        said: dict[int, str] = {}
        proxy.wait_until(lambda: said.update(_said(proxy)) or said == dict.fromkeys(started, "ready"), 30)
        mine = workers(proxy)
        assert {worker.pid for worker in mine} == started
        assert proxy.stop() == 0
        assert not any(worker.is_running() for worker in mine)
        assert "Traceback" not in "".join(proxy.stderr)


@pytest.mark.slow
def test_workers_do_not_outlive_a_parent_that_was_killed(upstream: UpstreamServer, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url, "--workers", "2") as proxy:
        mine = workers(proxy)
        assert proxy.process is not None
        proxy.process.kill()
        proxy.process.wait()
        proxy.wait_until(lambda: not any(worker.is_running() for worker in mine), 10)
        proxy.stderr.clear()
        proxy.start()
        assert proxy.chat("Is the port free again?").status == 200
