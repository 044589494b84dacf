"""What a proxy holds does not grow, however long it runs; and growth would be seen."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tests.trust.soak.meters import BOUNDS, Samples, judged, quantile, slope
from tests.trust.soak.soaking import soak

ENTRIES = 40


def looked(minutes: float, a_minute: float, noise: float = 5.0) -> Samples:
    """Figures of a process that holds 500 of everything, and so much more each minute."""
    chance, samples = random.Random(1), Samples()
    for at in range(0, int(60 * minutes), 3):
        value = 500 + a_minute * at / 60
        samples.add(float(at), {name: value + chance.uniform(-noise, noise) for name in BOUNDS})
    return samples


def test_growth_is_seen_through_noise() -> None:
    assert all(one.is_flat for one in judged(looked(30, 0.0), 600))
    grown = judged(looked(30, 5.0), 600)
    assert not any(one.is_flat for one in grown)
    assert all(one.grew == pytest.approx(100, rel=0.1) for one in grown), "twenty minutes, five a minute"


def test_growth_that_is_over_before_it_is_judged_does_not_count() -> None:
    samples = looked(30, 0.0)
    for number, at in enumerate(samples.at):
        samples.rows["proxy MiB"][number] -= max(0.0, 300 - at)
    assert all(one.is_flat for one in judged(samples, 600))


def test_a_few_odd_looks_do_not_move_a_slope() -> None:
    pairs = [(float(n), 2.0 * n) for n in range(100)]
    assert slope([*pairs, (100.0, 1e9), (101.0, -1e9)]) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="too few"):
        looked(0.1, 0).growth("proxy MiB", 0)
    assert math.isclose(quantile([3.0, 1.0, 2.0], 0.5), 2.0)
    assert quantile([], 0.5) == 0.0


@pytest.mark.slow
def test_a_proxy_under_mixed_load_answers_rightly_and_keeps_its_quota(tmp_path: Path) -> None:
    found = soak(tmp_path, seconds=5.0, rate=30.0, entries=ENTRIES)
    assert not found.heard.wrong
    assert not found.said
    assert found.upstream_errors == 0
    assert found.heard.asked > 120
    assert {"exact", "miss", "bypass"} <= found.heard.outcomes.keys()
    assert found.stored > ENTRIES, "the quota was reached"
    # What goes in goes out at once: the index hears of it a moment later.
    assert found.samples.rows["vectors"][-1] <= ENTRIES + 10
    assert all(one.is_flat for one in found.growths if one.name in ("threads", "held MiB"))


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_thirty_minutes_of_load_leave_memory_flat(tmp_path: Path) -> None:
    found = soak(tmp_path, seconds=1800.0, rate=100.0, entries=2000)
    assert not found.faults
