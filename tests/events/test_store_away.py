"""Events 21 and 22: the store is away, slow, silent or cut; clients hardly notice, and nobody storms it when it is back."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from tests.events.asking import quantile
from tests.events.faultproxy import Faults
from tests.events.store_world import DEADLINE, World, seconds_of, until, world

SLACK = 0.25
"""Seconds that a busy test machine may add to any one request."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("away"), began_without_store=True) as made:
        yield made


@pytest.fixture
def at(built: World) -> Iterator[World]:
    yield built
    built.mend()


@pytest.mark.event(21)
def test_a_proxy_that_starts_without_its_store_serves_and_joins_it_later(at: World) -> None:
    assert {(one.status, one.outcome) for one in at.at_start} == {(200, "miss")}
    assert max(seconds_of(at.at_start)) < DEADLINE + SLACK
    assert "store" in at.degraded_at_start
    (question,) = at.fresh()
    at.ask([question])
    assert at.remembers(question)


@pytest.mark.event(21)
def test_down_while_it_runs_and_back_again(at: World) -> None:
    kept = at.fresh(3)
    at.ask(kept)
    until(lambda: all(map(at.remembers, kept)), 5)
    at.between.refuse()
    at.between.cut_all()
    during = at.ask(at.fresh(200), clients=8)
    assert {(one.status, one.outcome) for one in during} == {(200, "miss")}
    until(lambda: "store" in at.degraded, 3)
    assert at.proxy.metric("semcache_cache_faults_total") >= 1
    at.between.accept()
    until(lambda: all(map(at.remembers, kept)), 15)
    at.proxy.wait_until(lambda: not at.degraded, 15)
    (question,) = at.fresh()
    at.ask([question])
    assert at.remembers(question)


@pytest.mark.slow
@pytest.mark.event(21)
def test_killed_and_restarted_on_the_same_file(at: World) -> None:
    kept = at.fresh(3)
    at.ask(kept)
    until(lambda: all(map(at.remembers, kept)), 5)
    time.sleep(0.1)
    at.node.kill()
    assert {one.status for one in at.ask(at.fresh(20), clients=4)} == {200}
    at.node.start()
    until(lambda: all(map(at.remembers, kept)), 15)


@pytest.mark.slow
@pytest.mark.event(21)
def test_nobody_storms_a_store_that_fails(at: World) -> None:
    at.between.faults = Faults(cut_up=0, end="reset")
    at.between.cut_all()
    before, began = at.between.connections, time.monotonic()
    asked = 0
    while time.monotonic() - began < 1.0:
        found = at.ask(at.fresh(80), clients=8)
        assert {one.status for one in found} == {200}
        asked += len(found)
    tried = at.between.connections - before
    # Some ten parts of a proxy talk to the store, each with a breaker of its own: five faults, then probes.
    assert tried < 120, (tried, asked)
    assert asked > tried
    at.between.faults = Faults()
    before = at.between.connections
    at.mend()
    assert at.between.connections - before < 40, "as many as are needed, not one a request"


@pytest.mark.event(21)
def test_half_open_connections_are_given_up(at: World) -> None:
    (kept,) = at.fresh()
    at.ask([kept])
    at.between.faults = Faults(hang_up=True, hang_down=True)
    during = at.ask(at.fresh(40), clients=4)
    assert {one.status for one in during} == {200}
    assert max(seconds_of(during)) < DEADLINE + SLACK
    at.between.faults = Faults()
    until(lambda: at.remembers(kept), 15)


@pytest.mark.event(22)
def test_a_store_that_takes_five_seconds_costs_a_request_its_deadline_at_most(at: World) -> None:
    at.between.faults = Faults(delay=5.0)
    during = at.ask(at.fresh(120))
    took = seconds_of(during)
    assert {(one.status, one.outcome) for one in during} == {(200, "miss")}
    assert max(took) < DEADLINE + SLACK
    late = [one for one in during if "store-late" in one.reason]
    assert 1 <= len(late) <= 12, "five faults open the breaker; then few are let through, to see"
    assert statistics.median(took) < 0.05


@pytest.mark.slow
@pytest.mark.event(22)
def test_added_time_is_within_the_stated_bound(
    at: World, record_property: Callable[[str, object], None]
) -> None:
    """With the breaker open a request loses 5 ms at p99 at most, but for those that are let through to see."""
    # Each question is new on both sides, so the way through the proxy is the same but for the store.
    without = seconds_of(at.ask(at.fresh(600)))
    at.between.faults = Faults(delay=5.0)
    began = at.ask(at.fresh(20))
    during = at.ask(at.fresh(1200))
    open_ = [one.seconds for one in during if "store-open" in one.reason]
    probes = [one.seconds for one in during if "store-late" in one.reason]
    for share in (0.5, 0.99):
        assert quantile(open_, share) - quantile(without, share) < 0.005
        record_property(
            f"without, with an open breaker, seconds at {share}",
            (quantile(without, share), quantile(open_, share)),
        )
    assert max((*seconds_of(began), *probes)) < DEADLINE + SLACK
