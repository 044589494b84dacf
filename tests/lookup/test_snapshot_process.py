"""A whole proxy and its index's snapshot: written at its end, read at its start, of no importance when damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import ByRequest, Seen, UpstreamServer, chat_json, in_thread

QUESTIONS = {
    "How do I reset my password?": "How can I reset my password?",
    "Where is the nearest train station?": "Where's the nearest train station?",
    "What is the capital of France?": "What's the capital of France?",
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    def answer(seen: Seen) -> object:
        return chat_json(f"Answer to: {seen.json()['messages'][-1]['content']}" if seen.body else "")

    with in_thread(ByRequest(answer)) as server:
        yield server


@contextlib.contextmanager
def proxy(data: Path, upstream: UpstreamServer, **more: str) -> Iterator[Proxy]:
    with running(data, "--upstream", upstream.url, **more) as it:
        it.wait_until(lambda: it.ready_detail()["status"] == "ready")
        yield it


def hits(it: Proxy) -> list[str]:
    return [it.outcome(asked, {"cache-control": "no-store"}) for asked in QUESTIONS.values()]


@pytest.mark.slow
@pytest.mark.event(26)
@pytest.mark.event(27)
@pytest.mark.event(28)
def test_starts_hit_alike_with_a_snapshot_without_one_and_with_a_damaged_one(
    upstream: UpstreamServer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with proxy(data, upstream) as it:
        for question in QUESTIONS:
            it.chat(question)
        it.wait_until(lambda: it.ready_detail()["vectors"] == 3)
        before = hits(it)
        assert "semantic" in before
    (vectors,) = (data / "index").glob("*.vectors")
    with proxy(data, upstream) as it:
        it.wait_until(lambda: it.ready_detail()["vectors"] == 3)
        assert it.metric("semcache_index_snapshot_vectors") == 3
        assert it.metric("semcache_index_comparisons") == 0, "nothing was read but the snapshot"
        assert hits(it) == before
        it.chat("How tall is the Eiffel tower?")
        it.wait_until(lambda: it.ready_detail()["vectors"] == 4)
        it.kill()
    # What was put since the snapshot comes from the change stream.
    with proxy(data, upstream) as it:
        it.wait_until(lambda: it.ready_detail()["vectors"] == 4)
        assert it.metric("semcache_index_snapshot_vectors") == 3
        assert hits(it) == before
    (vectors,) = (data / "index").glob("*.vectors")
    raw = bytearray(vectors.read_bytes())
    raw[len(raw) // 2] ^= 1
    vectors.write_bytes(raw)
    with proxy(data, upstream) as it:
        it.wait_until(lambda: it.ready_detail()["vectors"] == 4)
        assert it.metric("semcache_index_snapshots_refused") == 1
        assert hits(it) == before
        assert any("snapshot" in line for line in [*it.stderr, *it.stdout])
    assert (data / "index" / "vectors.bad").exists()
