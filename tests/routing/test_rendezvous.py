"""Who a key belongs to: the same for everybody, in proportion to weights, and hardly moved by a change."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.routing.rendezvous import ranked

KEYS = [number.to_bytes(16, "big") for number in range(4000)]
NAMES = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=8, unique=True)


def homes(weights: dict[str, float]) -> list[str]:
    return [ranked(key, weights)[0] for key in KEYS]


@given(st.binary(min_size=1, max_size=80), NAMES, st.randoms(use_true_random=False))
def test_the_order_of_the_configuration_does_not_matter(key: bytes, names: list[str], random: object) -> None:
    weights = dict.fromkeys(names, 1.0)
    shuffled = dict.fromkeys(sorted(names, key=lambda _: random.random()), 1.0)  # type: ignore[attr-defined]
    assert ranked(key, weights) == ranked(key, shuffled)


@given(st.binary(min_size=1, max_size=32), NAMES, st.data())
@settings(max_examples=60)
def test_losing_a_node_moves_its_own_keys_and_no_others(
    key: bytes, names: list[str], data: st.DataObject
) -> None:
    weights = {name: data.draw(st.floats(0.1, 10)) for name in names}
    lost = data.draw(st.sampled_from(names))
    left = {name: weight for name, weight in weights.items() if name != lost}
    assert ranked(key, left) == [name for name in ranked(key, weights) if name != lost]


@pytest.mark.parametrize("nodes", [3, 4, 8])
def test_a_node_that_comes_takes_its_share_and_only_for_itself(nodes: int) -> None:
    before = homes(dict.fromkeys([f"n{number}" for number in range(nodes)], 1.0))
    after = homes(dict.fromkeys([f"n{number}" for number in range(nodes + 1)], 1.0))
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {f"n{nodes}"}
    # Four standard deviations of the binomial.
    share = 1 / (nodes + 1)
    assert abs(len(moved) / len(KEYS) - share) < 4 * (share * (1 - share) / len(KEYS)) ** 0.5


def test_shares_follow_weights() -> None:
    shares = Counter(homes({"a": 3, "b": 1, "c": 0}))
    assert abs(shares["a"] / len(KEYS) - 0.75) < 0.03
    assert shares["c"] == 0


def test_a_node_that_weighs_more_takes_keys_from_all_and_gives_none() -> None:
    before, after = homes({"a": 1, "b": 1, "c": 1}), homes({"a": 2, "b": 1, "c": 1})
    assert {new for old, new in zip(before, after, strict=True) if old != new} == {"a"}


def test_the_drained_stand_last() -> None:
    assert all(ranked(key, {"a": 0, "b": 1, "c": 2})[-1] == "a" for key in KEYS[:200])
