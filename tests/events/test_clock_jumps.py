"""Event 35: the machine's time jumps ahead and back under a running proxy; lifetimes, ages, budgets and logs bear it."""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import answering
from tests.e2e.running import Proxy
from tests.events.store_world import until
from tests.events.valkey_node import valkey_node
from tests.fakes.upstream_server import ByRequest, in_thread

pytestmark = pytest.mark.slow

HOUR, DAY = 3600.0, 86_400.0
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile double *ahead;
static int (*real)(clockid_t, struct timespec *);
__attribute__((constructor)) static void begin(void) {
  real = dlsym(RTLD_NEXT, "clock_gettime");
  int file = open(getenv("TEST_CLOCK_AHEAD"), O_RDONLY);
  if (file >= 0) ahead = mmap(0, sizeof(double), PROT_READ, MAP_SHARED, file, 0);
}
int clock_gettime(clockid_t which, struct timespec *now) {
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(which, now);
  if (which == CLOCK_REALTIME && ahead && ahead != MAP_FAILED) now->tv_sec += (long)*ahead;
  return result;
}
int gettimeofday(struct timeval *now, void *zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""
BUDGETED = """
budgets:
  - {name: all, window: day, requests: 1000000}
"""


@pytest.fixture(scope="module")
def set_clock(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], None]:
    file = tmp_path_factory.mktemp("clock") / "ahead"
    file.write_bytes(struct.pack("d", 0.0))

    def jump(seconds: float) -> None:
        with file.open("r+b") as stream:
            stream.write(struct.pack("d", seconds))

    jump.file = file  # type: ignore[attr-defined] # where the shim looks
    return jump


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that moves the wall clock of a process, and no other clock."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler to move a clock with")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "clock.c").write_text(SHIM)
    library = folder / "clock.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(folder / "clock.c"), "-ldl"]
    subprocess.run(words, check=True)
    return library


@pytest.fixture(scope="module")
def moved(
    tmp_path_factory: pytest.TempPathFactory, shim: Path, set_clock: Callable[[float], None]
) -> Iterator[Proxy]:
    """A proxy whose wall clock the tests move; its Valkey, on another machine as it were, keeps the right time."""
    folder = tmp_path_factory.mktemp("moved")
    with in_thread(ByRequest(answering)) as upstream, valkey_node(folder / "node") as node:
        proxy = Proxy(
            folder / "proxy" / "data",
            ["--upstream", upstream.url],
            {
                "SEMCACHE_STORE__URL": node.url,
                "LD_PRELOAD": str(shim),
                "TEST_CLOCK_AHEAD": str(set_clock.file),  # type: ignore[attr-defined] # as above
            },
        )
        proxy.start()
        try:
            proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready", 60)
            yield proxy
        finally:
            proxy.stop()


@pytest.fixture(autouse=True)
def put_right(set_clock: Callable[[float], None]) -> Iterator[None]:
    yield
    set_clock(0.0)


def is_exact(proxy: Proxy, question: str) -> bool:
    return proxy.outcome(question, {"cache-control": "no-store"}) == "exact"


def stored(proxy: Proxy, question: str, **headers: str) -> None:
    until(lambda: proxy.outcome(question, headers) == "exact", 10)


@pytest.mark.event(35)
@pytest.mark.parametrize("jump", [-30 * DAY, -HOUR, -2.0, 1.0, HOUR], ids=str)
def test_no_age_is_negative_and_what_is_fresh_goes_on(
    moved: Proxy, set_clock: Callable[[float], None], jump: float
) -> None:
    question = f"When does the ferry leave, {jump}?"
    stored(moved, question)
    set_clock(jump)
    reply = moved.chat(question, {"cache-control": "no-store"})
    assert reply.headers["semcache-outcome"] == "exact"
    assert max(0.0, jump) <= int(reply.headers["age"]) <= max(0.0, jump) + 15
    fresh = f"{question} And back?"
    stored(moved, fresh)
    assert int(moved.chat(fresh).headers["age"]) <= 15
    assert moved.ready_detail()["status"] == "ready", "contact goes by a clock that never jumps"


@pytest.mark.event(35)
def test_a_clock_put_back_lengthens_no_life(moved: Proxy, set_clock: Callable[[float], None]) -> None:
    question = "Is the bridge open today?"
    stored(moved, question, **{"semcache-ttl": "2"})
    stored_at = time.monotonic()
    set_clock(-HOUR)
    time.sleep(max(0.0, stored_at + 3.5 - time.monotonic()))
    assert not is_exact(moved, question), "the server counts lives by its own clock"


@pytest.mark.event(35)
def test_a_clock_put_ahead_ends_lives_and_starts_no_others_early(
    moved: Proxy, set_clock: Callable[[float], None]
) -> None:
    question = "Is the tunnel open today?"
    stored(moved, question, **{"semcache-ttl": "600"})
    set_clock(HOUR)
    assert not is_exact(moved, question), "too old by its reader's clock"
    set_clock(400 * DAY)
    for number in range(5):
        assert moved.chat(f"Is tunnel {number} open?").status == 200
    set_clock(0.0)
    assert is_exact(moved, question)
    assert "Traceback" not in "".join(moved.stderr)


@pytest.mark.event(35)
def test_jumps_under_load_fail_no_request(moved: Proxy, set_clock: Callable[[float], None]) -> None:
    for turn in range(40):
        set_clock((-1) ** turn * turn * HOUR * 7)
        reply = moved.chat(f"How long is pier {turn % 7}?")
        assert reply.status == 200
        assert int(reply.headers.get("age", "0")) >= 0
    assert moved.request("GET", "/metrics").status == 200
