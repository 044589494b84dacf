"""The corpus, replayed; and a few thousand mutations of it, each run with the same ones."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.mutating import corpus, mutated
from tests.fuzz.targets import TARGETS

MUTATIONS = 400
KEPT = [(target, name, data) for target in TARGETS for name, data in corpus(target)]


@pytest.mark.parametrize(("target", "name", "data"), KEPT, ids=[f"{one}-{name}" for one, name, _ in KEPT])
def test_what_is_kept_holds(target: str, name: str, data: bytes) -> None:
    del name
    TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_mutations_hold(target: str) -> None:
    chance = random.Random(f"{target}-1")
    seeds = [data for _, data in corpus(target)]
    assert len(seeds) >= 5
    for _ in range(MUTATIONS):
        data = mutated(seeds, chance)
        # A failure shows the bytes; once mended they belong into the corpus.
        TARGETS[target](data)
