"""Counts on their way to the evidence while several want them written: a complaint does not wait for the clock."""

from __future__ import annotations

import asyncio
import time

from semcache.auditing.books import Books
from semcache.core import TenantId
from tests.fakes.evidence import FakeEvidence, FakeServedHits

ACME = TenantId("acme")
NOW = time.time()


class Slow(FakeEvidence):
    """Takes its time to write a tally."""

    async def tally(self, *args: object) -> None:
        await asyncio.sleep(0.01)
        await super().tally(*args)  # type: ignore[arg-type]  # handed through


async def test_several_may_write_at_once_and_nothing_is_written_twice_or_lost() -> None:
    evidence = Slow()
    books = Books(evidence, FakeServedHits())
    for number in range(5):
        books.count(ACME, f"domain-{number}", "hits", 3)
    assert await asyncio.gather(*(books.flush(NOW) for _ in range(4))) == [True] * 4
    counted = {place: sum(words.values()) for place, words in evidence.words.items() if sum(words.values())}
    assert counted == {(ACME, f"domain-{number}"): 3 for number in range(5)}


async def test_whoever_asks_for_it_finds_everything_written_behind_others_too() -> None:
    evidence = Slow()
    books = Books(evidence, FakeServedHits())
    books.count(ACME, "chat", "hits")
    first = asyncio.ensure_future(books.flush(NOW))
    await asyncio.sleep(0)
    # It is taken out and on its way: who comes now must not be told that nothing waits.
    await books.flush(NOW)
    assert sum(evidence.words[ACME, "chat"].values()) == 1
    assert await first
