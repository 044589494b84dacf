"""The book of heads: second sights, decay, bounds that hold whatever comes, fairness, and its written form."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from semcache.answer.heads import Head, Reach, heads_of
from semcache.answer.warmbook import BookRules, Remembered, WarmBook, best_first, dumps, loads, merged
from semcache.core import TenantId

ACME, OTHER = TenantId("acme"), TenantId("other")
RULES = BookRules(half_life=100.0)


def head(text: str = "a", size: int = 200, tenant: TenantId = ACME) -> Head:
    messages = [{"role": "system", "content": text * size}, {"role": "user", "content": "?"}]
    return next(heads_of(tenant, {"model": "m", "messages": messages}, Reach(9)))


def known(key: str, frequency: float, at: float = 0.0, size: int = 400) -> Remembered:
    body = {"model": "m", "messages": [{"role": "system", "content": "x" * size}]}
    return Remembered(key * 32, frequency, at, json.dumps(body).encode(), "f" * 64 if key == "f" else "")


def test_what_is_asked_once_leaves_no_text_behind() -> None:
    book = WarmBook(RULES)
    book.note(head(), 0.0)
    assert book.fresh(ACME, 0.0) == []
    assert book.size == (0, 0)
    book.note(head(), 1.0)
    (fresh,) = book.fresh(ACME, 1.0)
    assert fresh.frequency == 2.0
    assert json.loads(fresh.body)["messages"][0]["content"] == "a" * 200


def test_what_was_written_is_not_written_twice_and_a_failed_writing_loses_nothing() -> None:
    book = WarmBook(RULES)
    for _ in range(3):
        book.note(head(), 0.0)
    first = book.fresh(ACME, 0.0)
    assert [h.frequency for h in first] == [3.0]
    book.note(head(), 0.0)  # while the writing was under way
    book.written(ACME, first)
    assert [h.frequency for h in book.fresh(ACME, 0.0)] == [1.0]
    book.written(ACME, book.fresh(ACME, 0.0))
    assert book.fresh(ACME, 0.0) == []
    book.note(head(), 0.0)
    assert [h.frequency for h in book.fresh(ACME, 0.0)] == [1.0]


def test_a_dropped_tenant_is_gone_and_the_others_stay() -> None:
    book = WarmBook(RULES)
    for tenant in (ACME, OTHER):
        for _ in range(2):
            book.note(head(tenant=tenant), 0.0)
    book.begun_under(ACME, 4)
    book.drop(ACME)
    assert book.tenants == (OTHER,)
    assert (book.epoch(ACME), book.fresh(ACME, 0.0)) == (None, [])
    book.note(head(), 0.0)
    assert book.fresh(ACME, 0.0) == []  # a first sight again
    book.clear()
    assert book.tenants == ()


def test_the_least_valuable_gives_way() -> None:
    book = WarmBook(replace(RULES, heads=2))
    for text, size, times in (("a", 1000, 5), ("b", 200, 3), ("c", 2000, 5)):
        for _ in range(times):
            book.note(head(text, size), 0.0)
    texts = {json.loads(h.body)["messages"][0]["content"][0] for h in book.fresh(ACME, 0.0)}
    assert texts == {"a", "c"}


def test_frequency_halves_with_time_and_never_grows_when_clocks_jump() -> None:
    assert known("a", 8.0).decayed(200.0, 100.0).frequency == pytest.approx(2.0)
    assert known("a", 8.0, at=500.0).decayed(200.0, 100.0).frequency == 8.0


def test_merging_adds_forgets_and_keeps_the_most_valuable() -> None:
    old = [known("a", 8.0), known("b", 1.0), known("c", 4.0)]
    new = [known("c", 3.0, at=200.0), known("d", 2.0, at=200.0, size=4000)]
    kept = merged(old, new, 200.0, RULES)
    assert [(h.key[0], round(h.frequency, 3)) for h in kept] == [("d", 2.0), ("c", 4.0), ("a", 2.0)]
    assert [h.key[0] for h in merged(old, new, 200.0, replace(RULES, heads=1))] == ["d"]
    # What does not fit leaves room for what does.
    assert [h.key[0] for h in merged(old, new, 200.0, replace(RULES, bytes=1000))] == ["c", "a"]


lists = st.lists(
    st.builds(
        known,
        st.sampled_from("abcdef"),
        st.floats(0.01, 50),
        st.floats(0, 1000),
        st.integers(1, 3000),
    ),
    max_size=8,
)


@given(lists, lists, st.floats(1000, 2000))
def test_merging_keeps_its_bounds(old: list[Remembered], new: list[Remembered], now: float) -> None:
    rules = BookRules(heads=3, bytes=4000, half_life=100.0)
    kept = merged(old, new, now, rules)
    assert len(kept) <= 3
    assert sum(len(h.body) for h in kept) <= 4000
    assert len({h.key for h in kept}) == len(kept)
    assert all(h.frequency >= rules.least and h.at >= now for h in kept)
    assert [h.value for h in kept] == sorted((h.value for h in kept), reverse=True)
    total = sum(h.decayed(now, 100.0).frequency for h in (*old, *new))
    assert sum(h.frequency for h in kept) <= total + 1e-6


def test_every_tenants_best_comes_before_anybodys_second() -> None:
    shelf = {
        ACME: [known("a", 90.0), known("b", 80.0), known("c", 70.0)],
        OTHER: [known("d", 2.0), known("e", 1.0)],
    }
    order = [h.key[0] for _, h in best_first(shelf, 0.0, RULES)]
    assert order == ["a", "d", "b", "e", "c"]


@given(lists)
def test_the_written_form(heads: list[Remembered]) -> None:
    back = loads(dumps(heads))
    assert [(h.key, h.at, json.loads(h.body)) for h in back] == [
        (h.key, h.at, json.loads(h.body)) for h in heads
    ]
    assert all(math.isclose(a.frequency, b.frequency, abs_tol=1e-4) for a, b in zip(heads, back, strict=True))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"version":1}',
        b'{"version":1,"heads":[{}]}',
        b'{"version":1,"heads":[{"key":"k","owner":"","frequency":"x","at":0,"body":{"messages":[]}}]}',
        b'{"version":1,"heads":[{"key":"k","owner":"","frequency":1,"at":0,"body":{"messages":["x"]}}]}',
        b'{"version":1,"heads":[{"key":"k","owner":"","frequency":1,"at":0,"body":[]}]}',
        b'{"version":1,"heads":[{"key":"k","owner":7,"frequency":1,"at":0,"body":{"messages":[]}}]}',
        b'{"version":1,"heads":3}',
    ],
)
def test_a_damaged_form_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what is damaged, is damaged
        loads(data)


def test_another_version_holds_nothing() -> None:
    assert loads(b'{"version":2,"heads":"whatever"}') == []


class Bounded(RuleBasedStateMachine):
    """Whatever is noted, in whatever order: the book keeps its bounds and its sums."""

    def __init__(self) -> None:
        super().__init__()
        self.rules = BookRules(tenants=3, sightings=4, heads=3, bytes=3000, half_life=10.0)
        self.book = WarmBook(self.rules)
        self.now = 0.0

    @rule(
        tenant=st.sampled_from("stuvw"),
        text=st.sampled_from("abcdefgh"),
        size=st.sampled_from([200, 900, 4000]),
        later=st.floats(-5, 30),
    )
    def note(self, tenant: str, text: str, size: int, later: float) -> None:
        self.now += later
        self.book.note(head(text, size, TenantId(tenant)), self.now)

    @rule(tenant=st.sampled_from("stuvw"))
    def drop(self, tenant: str) -> None:
        self.book.drop(TenantId(tenant))

    @rule(tenant=st.sampled_from("stuvw"), part=st.booleans())
    def write(self, tenant: str, part: bool) -> None:
        fresh = self.book.fresh(TenantId(tenant), self.now)
        self.book.written(TenantId(tenant), fresh[:1] if part else fresh)

    @invariant()
    def within_bounds(self) -> None:
        pages: dict[Any, Any] = self.book._pages
        assert len(pages) <= 3
        for page in pages.values():
            assert len(page.seen) <= 4
            assert len(page.heads) <= 3
            assert page.bytes == sum(len(h.body) for h in page.heads.values()) <= 3000
            assert page.fresh.keys() <= page.heads.keys()
            assert not page.seen.keys() & page.heads.keys()
            assert all(count > 0 for count in page.fresh.values())


TestBounded = Bounded.TestCase
