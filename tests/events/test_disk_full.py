"""Event 28: a disk that is full, a folder that is read-only, an output that nobody takes; the proxy goes on from memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import answering
from tests.e2e.running import Proxy
from tests.events.asking import ask_all
from tests.events.store_world import until
from tests.fakes.upstream_server import ByRequest, in_thread

pytestmark = pytest.mark.slow

MEGABYTES = 24


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of its own, of a few megabytes."""
    place = tmp_path_factory.mktemp("disk") / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "semcache-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture(scope="module")
def squeezed(small_disk: Path) -> Iterator[Proxy]:
    """A proxy whose data directory is on that disk, and whose log goes where every write fails for want of room."""
    with in_thread(ByRequest(answering)) as upstream, Path("/dev/full").open("wb", buffering=0) as full:
        made = Proxy(
            small_disk / "data",
            ["--upstream", upstream.url],
            {"SEMCACHE_LEDGER__ROTATE_BYTES": "65536"},
            output=full.fileno(),
        )
        made.start()
        made.wait_until(lambda: made.ready_detail()["status"] == "ready", 30)
        try:
            yield made
        finally:
            made.stop()


def fill(place: Path) -> Path:
    """Leave no byte free."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
    return ballast


def questions(word: str, count: int) -> list[str]:
    return [f"Who wrote the {word} {number}?" for number in range(count)]


def is_known(proxy: Proxy, question: str) -> bool:
    return proxy.outcome(question, {"cache-control": "no-store"}) == "exact"


@pytest.mark.event(28)
def test_a_log_that_nobody_takes_stops_nothing(squeezed: Proxy) -> None:
    asked = questions("letter", 20)
    assert {one.status for one in ask_all(squeezed.url, asked)} == {200}
    until(lambda: all(is_known(squeezed, question) for question in asked), 5)


@pytest.mark.event(28)
def test_a_full_disk_stops_nothing_and_all_is_written_again_when_there_is_room(
    squeezed: Proxy, small_disk: Path
) -> None:
    kept = questions("book", 5)
    ask_all(squeezed.url, kept)
    until(lambda: all(is_known(squeezed, question) for question in kept), 5)
    ballast = fill(small_disk)
    try:
        until(lambda: refuses(squeezed), 15)
        during = ask_all(squeezed.url, questions("poem", 60), clients=4)
        assert {one.status for one in during} == {200}
        assert all(is_known(squeezed, question) for question in kept), "served from memory"
        assert squeezed.metric("semcache_cache_faults_total") > 0, "and counted"
        assert "store:disk" in squeezed.request("GET", "/metrics").body.decode()
    finally:
        ballast.unlink()
    until(lambda: squeezed.outcome(questions("song", 1)[0]) == "exact", 15)
    rows = squeezed.metric("semcache_ledger_rows_total")
    ask_all(squeezed.url, questions("play", 5))
    until(lambda: squeezed.metric("semcache_ledger_rows_total") > rows, 15)


def refuses(squeezed: Proxy) -> bool:
    """Write until the store's own file does not take it any more."""
    asked = f"What is {'long ' * 3000} {time.monotonic():.4f}?"
    squeezed.chat(asked)
    return "store:disk" in squeezed.request("GET", "/metrics").body.decode()


@pytest.mark.slow
@pytest.mark.event(28)
def test_killed_after_all_that_it_starts_whole_and_a_read_only_ledger_stops_nothing(squeezed: Proxy) -> None:
    kept = questions("essay", 5)
    ask_all(squeezed.url, kept)
    until(lambda: all(is_known(squeezed, question) for question in kept), 5)
    time.sleep(2.0)
    squeezed.kill()
    squeezed.stderr.clear()
    ledger = squeezed.data / "ledger"
    for options in (["--bind", str(ledger), str(ledger)], ["-o", "remount,ro,bind", str(ledger)]):
        subprocess.run(["mount", *options], check=True)
    try:
        squeezed.start()
        until(lambda: squeezed.ready_detail()["status"] == "ready", 30)
        assert all(is_known(squeezed, question) for question in kept)
        assert not any("DAMAGED" in line for line in squeezed.stderr)
        assert {one.status for one in ask_all(squeezed.url, questions("novel", 200), clients=4)} == {200}
        until(lambda: squeezed.metric("semcache_ledger_segments_total") > 0, 15)
        assert any("cannot be written" in line for line in squeezed.stderr)
    finally:
        subprocess.run(["umount", "-l", str(ledger)], check=True)
    rows = squeezed.metric("semcache_ledger_rows_total")
    until(lambda: wrote(squeezed, rows), 20)


def wrote(squeezed: Proxy, before: float) -> bool:
    squeezed.chat("Who wrote that down?")
    return squeezed.metric("semcache_ledger_rows_total") > before
