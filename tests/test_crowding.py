"""How many answers of one author may lie near each other, through the pipeline with fakes at every port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semcache.core import Entry, ReviewStatus
from semcache.errors import StoreError, VectorIndexError
from semcache.policy.loader import load_directory
from tests.test_confirming import Shop
from tests.test_pipeline import ACME

POLICY = """
schema_version: 1
tenant: acme
access: {keys: [], anonymous: loopback}
default_domain: chat
defaults: {ttl: 1h, ttl_jitter: 0, mode: semantic, threshold: 0.9999}
domains:
  chat: {}
  own: {scope: user}
classifier: {enabled: false}
quotas: {max_near_per_author: 3}
"""
VICTIM = "How do I reset my password"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    (tmp_path / "acme.yaml").write_text(POLICY)
    made = Shop(load_directory(tmp_path))
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


def around(shop: Shop, number: int, angle: float = 0.1) -> str:
    """Give a question whose vector lies near the victim's, each in a direction of its own."""
    centre, aside = np.zeros(64, np.float32), np.zeros(64, np.float32)
    centre[0], aside[number + 1] = 1.0, 1.0
    question = f"{VICTIM} variant {number}"
    shop.encoder.vectors[question] = np.cos(angle) * centre + np.sin(angle) * aside
    return question


async def with_vectors(shop: Shop) -> list[Entry]:
    return [entry for entry in await shop.held() if entry.embedding is not None]


async def test_nobody_surrounds_a_question(shop: Shop) -> None:
    heard = shop.hear()
    for number in range(10):
        await shop.asks("mallory", around(shop, number))
    assert len(await with_vectors(shop)) == 3
    assert heard.crowds == 7
    # Nothing is lost but being found by meaning: equal questions are answered.
    assert len(await shop.held()) == 10
    assert await shop.asks("mallory", around(shop, 9)) == "exact:hit"
    assert shop.index.sizes()[0] == 3


async def test_each_author_has_their_own_share(shop: Shop) -> None:
    for number in range(8):
        await shop.asks("ann" if number % 2 else "bob", around(shop, number))
    found = await with_vectors(shop)
    assert [sum(one.author == author for one in found) for author in {one.author for one in found}] == [3, 3]


async def test_what_is_not_near_does_not_count(shop: Shop) -> None:
    heard = shop.hear()
    for number in range(8):
        await shop.asks("ann", around(shop, number, angle=0.6))  # 0.68 from each other
    assert heard.crowds == 0
    assert len(await with_vectors(shop)) == 8


async def test_the_same_question_again_takes_its_own_place(shop: Shop) -> None:
    shop.alive = False
    for number in range(3):
        await shop.asks("ann", around(shop, number))
    await shop.asks("ann", around(shop, 1), no_read=True)
    assert len(await with_vectors(shop)) == 3


async def test_what_a_human_vouches_for_does_not_count(shop: Shop) -> None:
    for number in range(3):
        await shop.asks("ann", around(shop, number))
    for entry in await shop.held():
        assert await shop.store.put(replace(entry, status=ReviewStatus.APPROVED, version=2))
    await shop.asks("ann", around(shop, 3))
    assert len(await with_vectors(shop)) == 4


async def test_many_at_the_same_moment_count_each_other(shop: Shop) -> None:
    """A burst does not get through while none of it is stored yet."""
    heard = shop.hear()
    questions = [around(shop, number) for number in range(12)]
    real = shop.store.put

    async def slowly(entry: Entry) -> bool:
        await asyncio.sleep(0.01)
        return await real(entry)

    shop.store.put = slowly  # type: ignore[method-assign] # all of them are under way at once
    await asyncio.gather(*(shop.ask(question, user="mallory") for question in questions))
    await shop.settle()
    assert len(await with_vectors(shop)) <= 3
    assert heard.crowds >= 9
    assert not shop.pipeline.memory.underway.vectors


async def test_where_each_user_has_their_own_nobody_is_crowded(shop: Shop) -> None:
    for number in range(5):
        await shop.asks("ann", around(shop, number), domain="own")
    assert len(await with_vectors(shop)) == 5


@pytest.mark.parametrize(
    "fault", [StoreError("down", kind="down"), VectorIndexError("broken", kind="failed")]
)
async def test_a_fault_while_counting_is_noted_and_loses_nothing(
    shop: Shop, fault: StoreError | VectorIndexError
) -> None:
    for number in range(3):
        await shop.asks("ann", around(shop, number))

    async def failing(*_: object) -> object:
        raise fault

    part = shop.store if isinstance(fault, StoreError) else shop.index
    name = "get_many" if isinstance(fault, StoreError) else "search"
    question = around(shop, 3)
    real = getattr(part, name)
    setattr(part, name, failing)
    answer = await shop.ask(question, user="ann")
    await shop.settle()
    setattr(part, name, real)
    assert answer.trace.faults
    assert any(entry.prompt == question for entry in await shop.held())
    assert answer.trace.policy.tenant == ACME
