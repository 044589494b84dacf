"""The breaker's states, with time and chance as arguments."""

from __future__ import annotations

from semcache.store.breaker import Breaker, BreakerRules


def opened(faults: int = 3) -> Breaker:
    breaker = Breaker(BreakerRules(faults=faults, first_pause=1.0, longest_pause=4.0))
    for _ in range(faults):
        assert breaker.allows(0.0)
        breaker.failed(0.0, 0.5)
    return breaker


def test_opens_after_faults_in_a_row_only() -> None:
    breaker = Breaker(BreakerRules(faults=2))
    breaker.failed(0.0, 0.0)
    breaker.succeeded()
    breaker.failed(0.0, 0.0)
    assert not breaker.is_open
    breaker.failed(0.0, 0.0)
    assert breaker.is_open
    assert breaker.opened == 1


def test_lets_one_probe_through_after_its_pause() -> None:
    breaker = opened()
    assert not breaker.allows(0.74)
    assert breaker.allows(0.75)
    assert not breaker.allows(0.75), "one at a time"
    breaker.succeeded()
    assert not breaker.is_open
    assert breaker.allows(0.76)


def test_waits_longer_after_each_failed_probe_up_to_a_bound() -> None:
    breaker, now, pauses = opened(), 0.0, []
    for _ in range(4):
        began = now
        while not breaker.allows(now):
            now += 0.25
        pauses.append(now - began)
        breaker.failed(now, 1.0)
    assert pauses == [0.75, 2.0, 4.0, 4.0]


def test_jitter_is_between_half_and_all() -> None:
    for chance, least in ((0.0, 0.5), (0.999, 0.9995)):
        breaker = Breaker(BreakerRules(faults=1, first_pause=1.0))
        breaker.failed(0.0, chance)
        assert not breaker.allows(least - 0.01)
        assert breaker.allows(least + 0.01)


def test_an_abandoned_probe_makes_room_for_another() -> None:
    breaker = opened()
    assert breaker.allows(1.0)
    breaker.abandoned()
    assert breaker.allows(1.0)


def test_calls_from_before_do_not_lengthen_the_pause() -> None:
    breaker = opened()
    for _ in range(20):
        breaker.failed(0.5, 0.5)
    assert breaker.allows(0.75)
    assert breaker.opened == 1
