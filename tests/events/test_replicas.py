"""Events 33 and 40: two nodes on one Redis, one of them behind a line that breaks; what one was told holds for both."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.store.redis_store import RedisStore, StoreRules
from tests.e2e.running import Proxy, running
from tests.e2e.test_review import Admin, admin_of
from tests.events.asking import ask_all, quantile
from tests.events.faultproxy import FaultProxy, Faults, fault_proxy
from tests.events.store_world import until
from tests.events.valkey_node import ValkeyNode, valkey_node
from tests.fakes.upstream_server import ByRequest, Seen, chat_json, in_thread
from tests.store.servers import WallClock, entry

BOUND = 1.0
"""Seconds after which no node serves what was rejected on another, whatever its line to the store is like."""
_ANSWERS = itertools.count(1)
LOOKING = {"cache-control": "no-store"}


@dataclass
class Pair:
    """Two nodes: `one` with a sound line and the reviewers' listener, `two` behind `line`."""

    one: Proxy
    two: Proxy
    admin: Admin
    node: ValkeyNode
    line: FaultProxy
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def fresh(self) -> str:
        return f"Which way leads to station {next(self.numbers)}?"

    def known(self, count: int = 1) -> list[tuple[str, str]]:
        """Store answers and let both nodes hold them in memory; gives questions and entries."""
        found = []
        for question in [self.fresh() for _ in range(count)]:
            until(lambda question=question: serves(self.one, question, stores=True), 10)
            for proxy in (self.one, self.two):
                until(lambda proxy=proxy, question=question: serves(proxy, question), 5)
            found.append((question, self.one.chat(question).headers["semcache-entry"]))
        return found

    def bulk(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Post to the admin API's bulk route; gives its lines."""
        head = {"authorization": f"Bearer {self.admin.token}", "content-type": "application/json"}
        place = f"{self.admin.url}/v1/tenants/default/bulk"
        request = urllib.request.Request(place, json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return [json.loads(line) for line in reply.read().splitlines()]

    def mend(self) -> None:
        self.line.faults = Faults()
        for proxy in (self.one, self.two):
            proxy.wait_until(lambda proxy=proxy: proxy.ready_detail()["status"] == "ready", 30)
            proxy.wait_until(lambda proxy=proxy: serves(proxy, "Is it well again?", stores=True), 30)


def serves(proxy: Proxy, question: str, *, stores: bool = False) -> bool:
    return proxy.outcome(question, {} if stores else LOOKING) == "exact"


def answering(seen: Seen) -> object:
    """Never give the same answer twice."""
    return chat_json(f"answer {next(_ANSWERS)}")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("replicas")
    with (
        in_thread(ByRequest(answering)) as upstream,
        valkey_node(folder / "node") as node,
        fault_proxy(node.address) as line,
        running(
            folder / "one" / "data",
            "--upstream",
            upstream.url,
            "--admin-port",
            "0",
            SEMCACHE_STORE__URL=node.url,
        ) as one,
        running(
            folder / "two" / "data",
            "--upstream",
            upstream.url,
            SEMCACHE_STORE__URL=f"redis://127.0.0.1:{line.address[1]}",
        ) as two,
    ):
        yield Pair(one, two, admin_of(one), node, line)


@pytest.fixture
def at(pair: Pair) -> Iterator[Pair]:
    yield pair
    pair.mend()


def never_after(acknowledged: float, proxy: Proxy, question: str, seconds: float) -> float:
    """Watch that nothing is served from the bound on; gives when it was served last, after the word was given."""
    last = 0.0
    while (now := time.monotonic() - acknowledged) < BOUND + seconds:
        if serves(proxy, question):
            assert now < BOUND, f"served {now:.2f} s after it was rejected"
            last = now
        time.sleep(0.02)
    return last


async def changed(node: ValkeyNode, count: int) -> None:
    """Let another tenant store as much."""
    store = RedisStore(node.url, WallClock(), StoreRules())
    for turn in range(count):
        assert await store.put(entry(f"e{turn}", prompt=str(turn)))
    await store.aclose()


@pytest.mark.event(33)
def test_nodes_converge_within_a_second(at: Pair, record_property: Callable[[str, object], None]) -> None:
    stored, withdrawn = [], []
    for turn in range(6):
        question = (
            f"How do I find the {('north', 'south', 'east', 'west', 'upper', 'lower')[turn]} entrance hall?"
        )
        at.one.chat(question, {"semcache-namespace": f"n{turn}"})
        looking = {**LOOKING, "semcache-namespace": f"n{turn}"}
        near = question.replace("How do I", "How can I")
        stored.append(
            until(lambda near=near, looking=looking: at.two.outcome(near, looking) == "semantic", 10 * BOUND)
        )
    # What is not there yet is a miss, on a busy machine too: only what is withdrawn must never be late.
    assert quantile(stored, 0.5) <= BOUND
    for question, rejected in at.known(6):
        at.admin.settle(rejected, verdict="reject")
        withdrawn.append(until(lambda question=question: not serves(at.two, question), BOUND))
    for name, times in (("stored", stored), ("rejected", withdrawn)):
        record_property(
            f"{name}: seconds until the other node knew, p50 and most", (quantile(times, 0.5), max(times))
        )


@pytest.mark.event(33)
def test_a_node_that_is_cut_off_serves_no_rejected_answer(at: Pair) -> None:
    (question, rejected), (other, _) = at.known(2)
    at.line.faults = Faults(hang_up=True, hang_down=True)
    at.admin.settle(rejected, verdict="reject")
    never_after(time.monotonic(), at.two, question, 1.0)
    assert not serves(at.two, question.replace("Which", "What")), "nor by meaning"
    assert at.two.chat(at.fresh()).status == 200
    assert at.two.chat(other, LOOKING).status == 200
    at.line.faults = Faults()
    at.line.cut_all()
    healed = time.monotonic()
    until(lambda: serves(at.two, other), 15)
    while time.monotonic() - healed < 2.0:
        assert not serves(at.two, question)


@pytest.mark.slow
@pytest.mark.event(33)
def test_a_slow_line_does_not_stretch_the_bound(at: Pair) -> None:
    (question, rejected), *_ = at.known(1)
    at.line.faults = Faults(delay=0.3)
    time.sleep(1.0)
    at.admin.settle(rejected, verdict="reject")
    never_after(time.monotonic(), at.two, question, 0.7)


@pytest.mark.event(33)
def test_a_node_that_missed_much_hears_all_before_it_trusts_its_memory(at: Pair) -> None:
    (question, rejected), (kept, _) = at.known(2)
    at.line.faults = Faults(hang_up=True, hang_down=True)
    asyncio.run(changed(at.node, 700))
    at.admin.settle(rejected, verdict="reject")
    time.sleep(BOUND)
    at.line.faults = Faults()
    at.line.cut_all()
    until(lambda: serves(at.two, question) or serves(at.two, kept), 15)
    for _ in range(100):
        assert not serves(at.two, question)


@pytest.mark.slow
@pytest.mark.event(33)
def test_both_learn_the_same_question_at_once_and_agree(at: Pair) -> None:
    for _ in range(5):
        question = at.fresh()
        both = threading.Barrier(2)

        def learn(proxy: Proxy, question: str = question, both: threading.Barrier = both) -> None:
            both.wait()
            proxy.chat(question)

        threads = [threading.Thread(target=learn, args=(proxy,)) for proxy in (at.one, at.two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(0.6)
        replies = [proxy.chat(question, LOOKING) for proxy in (at.one, at.two)]
        assert {reply.headers["semcache-outcome"] for reply in replies} == {"exact"}
        assert len({reply.text for reply in replies}) == 1
        assert len({reply.headers["semcache-entry"] for reply in replies}) == 1
    sizes = [proxy.ready_detail()["vectors"] for proxy in (at.one, at.two)]
    until(lambda: len({proxy.ready_detail()["vectors"] for proxy in (at.one, at.two)}) == 1, 3)
    assert all(sizes)


@pytest.mark.event(21)
@pytest.mark.event(33)
def test_both_survive_a_killed_and_restarted_store(at: Pair) -> None:
    (question, rejected), (kept, _) = at.known(2)
    at.admin.settle(rejected, verdict="reject")
    at.node.kill()
    for proxy in (at.one, at.two):
        assert {one.status for one in ask_all(proxy.url, [at.fresh() for _ in range(10)])} == {200}
    at.node.start()
    for proxy in (at.one, at.two):
        until(lambda proxy=proxy: serves(proxy, kept), 15)
        assert not serves(proxy, question)
    at.mend()
    question = at.fresh()
    at.one.chat(question)
    until(lambda: serves(at.two, question), BOUND)


@pytest.mark.event(40)
def test_two_reviewers_decide_at_once_and_one_edits_what_is_gone(at: Pair) -> None:
    (_, disputed), (question, purged) = at.known(2)
    place = f"/v1/tenants/default/entries/{disputed}"
    etag = at.admin.ask("GET", place)[1]["etag"]
    bodies = [{"verdict": "approve"}, {"verdict": "reject"}, {"verdict": "edit", "text": "By the bridge."}]
    told: list[tuple[int, object]] = []

    def decide(body: dict[str, str]) -> None:
        status, _, said = at.admin.ask("POST", f"{place}/verdicts", body, etag)
        told.append((status, said))

    threads = [threading.Thread(target=decide, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in told) == [200, 412, 412]
    assert all("look at it again" in str(said) for status, said in told if status == 412)
    gone = f"/v1/tenants/default/entries/{purged}"
    etag = at.admin.ask("GET", gone)[1]["etag"]
    at.admin.settle(purged, verdict="purge")
    status, _, said = at.admin.ask("POST", f"{gone}/verdicts", {"verdict": "edit", "text": "Left."}, etag)
    assert (status, said["detail"]) == (404, "There is no such entry.")
    for proxy in (at.one, at.two):
        until(lambda proxy=proxy: not serves(proxy, question), BOUND)


@pytest.mark.event(45)
def test_poisoned_answers_are_put_out_of_service_by_one_call(at: Pair) -> None:
    tagged = {"semcache-tags": "kb-poisoned"}
    questions = [at.fresh() for _ in range(3)]
    for question in questions:
        until(lambda question=question: at.one.outcome(question, tagged) == "exact", 10)
        until(lambda question=question: serves(at.two, question), 10)
    served = {
        proxy.chat(question, LOOKING).headers["x-request-id"]
        for proxy in (at.one, at.two)
        for question in questions
    }
    found = at.bulk({"filter": {"tag": "kb-poisoned"}, "verdict": {"verdict": "bar", "asked": "*"}})
    assert found[0]["count"] == len(questions)
    told = at.bulk(
        {
            "filter": {"tag": "kb-poisoned", "before": found[0]["before"]},
            "verdict": {"verdict": "bar", "asked": "*"},
            "dry_run": False,
            "digest": found[0]["digest"],
        }
    )
    entries = [line["entry"] for line in told if "entry" in line]
    assert [line["result"] for line in told if "entry" in line] == ["done"] * len(questions)
    time.sleep(BOUND)
    for proxy in (at.one, at.two):
        for question in questions:
            assert proxy.outcome(question, tagged) == "miss"
            assert proxy.outcome(question, tagged) == "miss", "nothing learned since takes its place"
            assert not serves(proxy, question.replace("Which", "What"))
    rows = [row for proxy in (at.one, at.two) for row in rows_of(proxy, entries)]
    assert served <= {row["id"] for row in rows}
    assert {row["entry"] for row in rows} == set(entries)


def rows_of(proxy: Proxy, entries: list[str]) -> list[dict[str, str]]:
    asked = [word for name in entries for word in ("--entry", name)]
    ended = CliRunner().invoke(app, ["ledger", "rows", *asked, "--data", str(proxy.data)])
    assert ended.exit_code == 0, ended.exception
    return [json.loads(line) for line in ended.stdout.splitlines()]
