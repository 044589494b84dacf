"""Two texts side by side: where they part, what stands there, and what both share."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost_port import Cause
from semcache.linting.compare import common_head, common_tail, masked
from semcache.linting.parting import part
from semcache.linting.variable import Kind, variable_at
from tests.linting.traffic.words import prose

RULES = " ".join(
    f"Rule {letter}: be polite and check the {letter}-list with care." for letter in "abcdefghijklm"
)
_texts = st.text("ab", max_size=400)


def plain_head(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@given(_texts, _texts, _texts, st.integers(0, 50))
def test_heads_and_tails(same: str, one: str, other: str, start: int) -> None:
    first, second = same + one, same + other
    assert common_head(first, second) == plain_head(first, second)
    assert common_tail(first[::-1], second[::-1]) == plain_head(first, second)
    start = min(start, len(same))
    assert common_head(first, second, start) == max(0, plain_head(first, second) - start)
    tail = common_tail(one + same, other + same, start)
    assert tail <= max(0, min(len(one + same), len(other + same)) - start)


@pytest.mark.parametrize(
    ("one", "other", "kind", "text"),
    [
        ("Clock: 12:00:01. Go", "Clock: 12:00:09. Go", Kind.TIME, "12:00:01"),
        (
            "at 2026-11-30T12:00:01.123Z we",
            "at 2026-11-30T12:00:01.456Z we",
            Kind.TIME,
            "2026-11-30T12:00:01.123Z",
        ),
        (
            "on Monday, November 30, 2026 we",
            "on Tuesday, December 1, 2026 we",
            Kind.TIME,
            "Monday, November 30, 2026",
        ),
        ("30 November 2026 was", "30 December 2026 was", Kind.TIME, "30 November 2026"),
        (
            "Mon, 30 Nov 2026 12:00:01 GMT x",
            "Mon, 30 Nov 2026 12:01:07 GMT x",
            Kind.TIME,
            "Mon, 30 Nov 2026 12:00:01 GMT",
        ),
        ("on 11/30/2026 10:00 PM we", "on 11/30/2026 10:01 PM we", Kind.TIME, "11/30/2026 10:00 PM"),
        (
            "现在是2026年11月30日12时30分，你",
            "现在是2026年11月30日12时31分，你",
            Kind.TIME,
            "2026年11月30日12时30分",
        ),
        (
            "今天是二〇二六年十一月三十日，你",
            "今天是二〇二六年十二月三十日，你",
            Kind.TIME,
            "二〇二六年十一月三十日",
        ),
        ("时间：下午3:05，你", "时间：下午3:06，你", Kind.TIME, "下午3:05"),
        ("ts=1764493123 go", "ts=1764493190 go", Kind.TIME, "1764493123"),
        ("ts=1764493123456 go", "ts=1764493190456 go", Kind.TIME, "1764493123456"),
        ("sent 5 minutes ago by", "sent 12 minutes ago by", Kind.TIME, "5 minutes ago"),
        ("It is Monday now", "It is Friday now", Kind.TIME, "Monday"),
        ("20261130T120001Z go", "20261130T120101Z go", Kind.TIME, "20261130T120001Z"),
        (
            "id 550e8400-e29b-41d4-a716-446655440000 x",
            "id 651e8400-e29b-41d4-a716-446655440000 x",
            Kind.UUID,
            "550e8400-e29b-41d4-a716-446655440000",
        ),
        ("in req_8f3kd92ls0 we", "in req_9a1ld82ls1 we", Kind.IDENTIFIER, "req_8f3kd92ls0"),
        (
            "k 01ARZ3NDEKTSV4RRFFQ69G5FAV x",
            "k 01BX5ZZKBKACTAV9WEVGEMMVRZ x",
            Kind.IDENTIFIER,
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
        ("n 123456789012 x", "n 923456789012 x", Kind.IDENTIFIER, "123456789012"),
        ("Turn 9 of 20 now", "Turn 10 of 20 now", Kind.NUMBER, "9"),
        ("left: 1,204.50 now", "left: 1,104.50 now", Kind.NUMBER, "1,204.50"),
        ("Hello Alice, welcome", "Hello Bob, welcome", None, ""),
        ("model gpt-4o-mini is", "model gpt-4o is", None, ""),
        ("may be late", "may we go", None, ""),
        ("at 12:00 we met Bob", "at 12:30 they left", None, ""),
    ],
)
def test_what_stands_where_two_texts_part(one: str, other: str, kind: Kind | None, text: str) -> None:
    spot = variable_at(one, other, common_head(one, other))
    assert (spot and spot.kind) == kind
    if spot is not None:
        assert one[spot.start : spot.end_one].strip(" .") == text


@pytest.mark.parametrize(
    ("one", "other", "cause"),
    [
        (f"Now 10:00. {RULES}", f"Now 10:01. {RULES}", Cause.TIME),
        (f"For Alice Smith. {RULES}", f"For Bob Jones. {RULES}", Cause.USER_TEXT),
        (f"Tables: users, orders, items\n{RULES}", f"Tables: items, users, orders\n{RULES}", Cause.REORDERED),
        (f"- red apples\n- green pears\n{RULES}", f"- green pears\n- red apples\n{RULES}", Cause.REORDERED),
        (
            f"1. red apples\n2. green pears\n{RULES}",
            f"1. green pears\n2. red apples\n{RULES}",
            Cause.REORDERED,
        ),
        (
            '{"a": 1, "b": {"c": 2, "d": 3}}' + RULES,
            '{"b": {"d": 3, "c": 2}, "a": 1}' + RULES,
            Cause.KEY_ORDER,
        ),
        (f"An agent.\n\n{RULES}", f"An agent.\n{RULES}", Cause.WHITESPACE),
        (f"An agent.\r\n{RULES}", f"An agent.\n{RULES}", Cause.WHITESPACE),
        (f"\ufeffAn agent.\n{RULES}", f"An agent.\n{RULES}", Cause.WHITESPACE),
        (f"Caf\u00e9. {RULES}", f"Cafe\u0301. {RULES}", Cause.WHITESPACE),
    ],
)
def test_why_two_texts_part(one: str, other: str, cause: Cause) -> None:
    parting = part(one, other)
    assert parting is not None
    assert parting.cause is cause
    assert parting.shared >= len(RULES) // 4 - 2
    back = part(other, one)
    assert back is not None
    assert back.cause is cause


def test_what_only_grows_parts_nowhere() -> None:
    assert part(RULES, RULES) is part(RULES, RULES + " More.") is part(RULES + " More.", RULES) is None


def test_a_window_over_a_growing_list() -> None:
    lines = [f"At the time {n} the thing number {n * 7919 % 97} happened here" for n in range(30)]
    parting = part("\n".join(lines[:20]), "\n".join(lines[4:24]))
    assert parting is not None
    assert parting.cause is Cause.HISTORY_WINDOW


def test_numbers_in_a_table_share_nothing() -> None:
    rng = random.Random(1)
    tables = ["\n".join(f"temperature outside: {rng.random():.6f}" for _ in range(40)) for _ in range(2)]
    parting = part(*tables)
    assert parting is not None
    assert parting.shared == 0


def test_counted_is_only_what_stands_before_the_next_difference() -> None:
    rng = random.Random(2)
    first, second = prose(rng, 20), prose(rng, 20)
    parting = part(f"Now 10:00. {first} For Alice. {second}", f"Now 10:01. {first} For Bobby. {second}")
    assert parting is not None
    assert len(first) // 4 - 3 < parting.shared < len(first) // 4 + 9


@given(st.text(max_size=200))
def test_samples_tell_nothing(text: str) -> None:
    assert not [one for one in masked(text) if one.isalnum() and one not in "x9nrt"]


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_compared(same: str, one: str, other: str) -> None:
    parting = part(same + one, same + other)
    if parting is None:
        assert (same + one).startswith(same + other) or (same + other).startswith(same + one)
        return
    assert 0 <= parting.start <= parting.at <= len(same + other)
    assert parting.shared >= 0
    assert parting.overlap >= 0
