"""Events 34 and 32: policy files that break or tighten under traffic, and an upstream whose model changes under its name."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.running import Proxy, calm_policies
from tests.events.asking import Client
from tests.events.store_world import until
from tests.fakes.upstream_server import UpstreamServer, chat_body, in_thread, json_reply

pytestmark = pytest.mark.slow

WITHIN = 3.0
"""Seconds within which changed files are in force: they are looked at each second, and must stand still for a moment."""
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{i}: &b{i} [{', '.join(['*a'] * 9)}]\n" for i in range(9))


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, UpstreamServer, Path]]:
    folder = tmp_path_factory.mktemp("ruled")
    policies = calm_policies(folder / "policies")
    with in_thread(json_reply(chat_body("By ferry."))) as upstream:
        proxy = Proxy(folder / "data", ["--upstream", upstream.url, "--policies", str(policies)])
        proxy.start()
        try:
            until(lambda: proxy.ready_detail()["status"] == "ready", 60)
            yield proxy, upstream, policies / "default.yaml"
        finally:
            proxy.stop()


def rewritten(file: Path, text: str) -> None:
    draft = file.with_name(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


@pytest.mark.event(34)
def test_files_that_break_leave_the_last_good_policy_in_force_and_are_told_of(
    ruled: tuple[Proxy, UpstreamServer, Path],
) -> None:
    proxy, _, file = ruled
    good = file.read_text(encoding="utf-8")
    question = "How do I get to the island?"
    until(lambda: proxy.outcome(question) == "exact", 10)
    generation = proxy.ready_detail()["policy_generation"]
    for broken in (good[: len(good) // 2], BOMB, "x" * 1_000_000, "mode: everything\n", ""):
        rewritten(file, broken)
        until(lambda: proxy.ready_detail()["policy_error"] != "", WITHIN * 3)
        assert "policies" in proxy.ready_detail()["degraded"]
        assert proxy.metric("semcache_degraded_policies") == 1
        assert proxy.outcome(question) == "exact"
        rewritten(file, good)
        until(lambda: proxy.ready_detail()["policy_error"] == "", WITHIN * 3)
        assert proxy.ready_detail()["policy_generation"] == generation
    file.unlink()
    until(lambda: proxy.ready_detail()["policy_error"] != "", WITHIN * 3)
    assert proxy.outcome(question) == "exact"
    elsewhere = file.with_name("elsewhere.txt")
    elsewhere.write_text(good, encoding="utf-8")
    file.symlink_to(elsewhere)
    until(lambda: proxy.ready_detail()["policy_error"] == "", WITHIN * 3)
    file.unlink()
    rewritten(file, good)


@pytest.mark.event(34)
def test_tightened_while_hits_are_in_flight_none_is_served_under_the_old_rules(
    ruled: tuple[Proxy, UpstreamServer, Path],
) -> None:
    proxy, _, file = ruled
    good = file.read_text(encoding="utf-8")
    question = "How do I get to the lighthouse?"
    until(lambda: proxy.outcome(question) == "exact", 10)
    asked: list[tuple[float, str, int]] = []
    stop = threading.Event()

    def keep_asking() -> None:
        client = Client(proxy.url)
        while not stop.is_set():
            began = time.monotonic()
            reply = client.ask(question)
            asked.append((began, reply.outcome, reply.status))
        client.close()

    threads = [threading.Thread(target=keep_asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    generation = proxy.ready_detail()["policy_generation"]
    assert good.count("\n  mode: semantic") == 1
    rewritten(file, good.replace("\n  mode: semantic", "\n  mode: off"))
    until(lambda: proxy.ready_detail()["policy_generation"] != generation, WITHIN * 3)
    in_force = time.monotonic()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    rewritten(file, good)
    assert {status for _, _, status in asked} == {200}
    after = {outcome for began, outcome, _ in asked if began > in_force}
    assert after == {"bypass"}
    assert "exact" in {outcome for _, outcome, _ in asked}
    until(lambda: proxy.ready_detail()["policy_generation"] == generation, WITHIN * 3)


@pytest.mark.event(32)
def test_an_answer_says_which_model_gave_it_and_goes_with_that_model(
    ruled: tuple[Proxy, UpstreamServer, Path],
) -> None:
    proxy, upstream, _ = ruled
    question = "How do I get to the castle?"
    until(lambda: proxy.outcome(question) == "exact", 10)
    upstream.script = json_reply(chat_body("On foot.", model="m-2027", system_fingerprint="fp_2"))
    stored = proxy.chat(question).json()
    assert (stored["model"], stored["system_fingerprint"]) == ("m-2026", "fp_1"), "as it was answered"
    assert proxy.chat(question, model="m-2027").headers["semcache-outcome"] == "miss", (
        "another name shares nothing"
    )
    ended = CliRunner().invoke(app, ["entries", "delete", "--model", "m", "--data", str(proxy.data)])
    assert ended.exit_code == 0, ended.exception
    time.sleep(1.0)
    now = proxy.chat(question)
    assert now.headers["semcache-outcome"] == "miss"
    assert (now.json()["model"], now.json()["system_fingerprint"]) == ("m-2027", "fp_2")
