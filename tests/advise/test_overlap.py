"""Shared beginnings: the same figures as comparing every prompt with all that came before."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.advise.chains import BLOCK, DOCUMENTS, HISTORY, QUESTION, SYSTEM, TOOLS, chain_of
from semcache.advise.overlap import PrefixOverlap
from semcache.advise.remembered import Remembered
from semcache.advise.rows import LogRow
from semcache.tokens import tokens_of


def row(*messages: tuple[str, Any], tools: Any = None, at: float | None = 0.0, **more: Any) -> LogRow:
    body: dict[str, Any] = {"messages": [{"role": role, "content": text} for role, text in messages]}
    if tools:
        body["tools"] = tools
    return LogRow(body, "f", 1, at=at, model=more.pop("model", "m"), **more)


def overlap(*rows: LogRow, most: int = 1 << 20) -> PrefixOverlap:
    found = PrefixOverlap(most)
    for each in rows:
        found.add(each, chain_of(each))
    return found


def blocks(each: LogRow) -> list[tuple[str, str, str, str]]:
    """The prompt's blocks as texts, the slow and plain way."""
    out: list[tuple[str, str, str, str]] = []
    for message in each.body["messages"]:
        text = message["content"]
        out += [
            (each.tenant, each.model, message["role"], text[at : at + BLOCK])
            for at in range(0, len(text), BLOCK)
        ]
    return out


def brute(rows: list[LogRow]) -> float:
    """Tokens at the front that some earlier prompt began with, comparing all pairs."""
    total = 0.0
    for number, each in enumerate(rows):
        mine, best = blocks(each), 0
        for other in rows[:number]:
            same = 0
            for one, two in zip(mine, blocks(other), strict=False):
                if one != two:
                    break
                same += 1
            best = max(best, same)
        total += sum(chain_of(each).tokens[:best])
    return total


pool = st.sampled_from(["a" * 700, "a" * 512 + "b" * 100, "a" * 300, "c" * 256, "x", "y" * 257])
messages = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), pool), min_size=1, max_size=4)


@given(st.lists(st.tuples(messages, st.sampled_from(["m", "n"]), st.sampled_from(["", "t"])), max_size=8))
def test_reuse_is_that_of_comparing_all_pairs(prompts: list[Any]) -> None:
    rows = [
        row(("system", "s" * 600), *turns, model=model, tenant=tenant) for turns, model, tenant in prompts
    ]
    found = overlap(*rows).findings()
    assert found.all.reused == pytest.approx(brute(rows), abs=1)
    assert found.all.tokens == pytest.approx(sum(chain_of(each).total for each in rows), abs=1)
    assert found.all.requests == len(rows)


def test_tokens_of_a_chain_are_those_of_its_texts() -> None:
    each = row(("system", "You are kind. " * 99), ("user", "什么是缓存？" * 60), ("user", "Why?"))
    wanted = sum(tokens_of(message["content"]) for message in each.body["messages"])
    assert chain_of(each).total == pytest.approx(wanted)


def test_a_conversation_is_reused_turn_after_turn() -> None:
    turns = [("system", "s" * 1024), ("user", "q" * 256), ("assistant", "a" * 256), ("user", "r" * 256)]
    found = overlap(row(*turns[:2]), row(*turns)).findings()
    assert found.all.tokens == 320 + 448
    assert found.all.reused == 320
    assert {group.name: (group.tokens, group.reused) for group in found.by_part} == {
        "tools": (0, 0),
        "system": (512, 256),
        "history": (128, 64),
        "documents": (0, 0),
        "question": (128, 0),
    }


def test_what_a_prompt_is_made_of() -> None:
    each = row(
        ("system", "s"),
        ("user", "d" * 5000),
        ("assistant", "a"),
        ("tool", "t"),
        ("user", "q"),
        tools=[{"type": "function", "function": {"name": "f"}}],
    )
    parts = chain_of(each).parts
    assert parts[0] == TOOLS
    assert [part for number, part in enumerate(parts) if part != parts[number - 1]] == [
        TOOLS,
        SYSTEM,
        DOCUMENTS,
        HISTORY,
        DOCUMENTS,
        QUESTION,
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "t"},
        {"model": "n"},
        {"tools": [{"b": 1, "a": 1}]},
        {"messages": [{"role": "developer", "content": "s" * 300}]},
    ],
    ids=["tenant", "model", "tools", "role"],
)
def test_what_begins_otherwise_shares_nothing(other: dict[str, Any]) -> None:
    first = row(("system", "s" * 300), tools=[{"a": 1, "b": 1}])
    body = {**first.body, **{name: other[name] for name in ("tools", "messages") if name in other}}
    second = replace(first, body=body, **{name: other[name] for name in ("tenant", "model") if name in other})
    reused = overlap(first, second).findings().all.reused
    assert reused == (3 if "messages" in other else 0), "only equal tools stand in front of other messages"
    assert overlap(first, first).findings().all.share == pytest.approx(0.5, abs=0.01)


def test_depths_tell_tokens_apart() -> None:
    each = row(("system", "s" * 4 * 6000))
    found = overlap(each, each).findings()
    assert [(group.name, group.tokens, group.reused) for group in found.by_depth] == [
        ("0-256", 512, 256),
        ("256-1024", 1536, 768),
        ("1024-4096", 6144, 3072),
        ("4096-16384", 3808, 1904),
        ("16384-", 0, 0),
    ]


def test_a_provider_takes_long_beginnings_used_a_moment_ago() -> None:
    def prompt(tokens: int, at: float | None) -> LogRow:
        return row(("system", "s" * 4 * tokens), ("user", f"q{at}"), at=at)

    short = overlap(prompt(1000, 0), prompt(1000, 1)).findings().provider
    assert short is not None
    assert short.reused == 0
    steps = overlap(prompt(1300, 0), prompt(1300, 1)).findings().provider
    assert steps is not None
    assert steps.reused == 1024 + 2 * 128
    # Each use keeps it warm for five minutes more.
    warm = overlap(*(prompt(1024, at) for at in (0, 290, 580, 900))).findings().provider
    assert warm is not None
    assert warm.reused == 2 * 1024
    assert overlap(prompt(2000, None), prompt(2000, None)).findings().provider is None


def test_shared_heads_are_named_by_digest_with_their_prompts() -> None:
    head = ("system", "secret words " * 40)
    rows = [row(head, ("user", f"question {number}")) for number in range(7)]
    found = overlap(*rows, row(("system", "other"), ("user", "x"))).findings()
    assert (found.heads[0].prompts, found.heads[0].part) == (7, "system")
    assert found.heads[0].tokens == tokens_of(head[1])
    assert "secret" not in repr(found)


def test_many_groups_and_heads_stay_bounded() -> None:
    found = PrefixOverlap()
    for number in range(3000):
        for turn in (1, 2):
            each = row(
                ("system", f"{number} " * 100), ("user", str(turn)), model=f"m{number}", tenant=f"t{number}"
            )
            found.add(each, chain_of(each))
    result = found.findings()
    assert len(result.by_model) == len(result.by_tenant) == 21
    assert sum(group.requests for group in result.by_model) == 6000
    assert result.by_model[-1].name == "~other"


def test_memory_is_bounded_and_says_what_it_forgot() -> None:
    rng = random.Random(1)
    rows = [row(("system", "s" * 600), ("user", rng.randbytes(600).hex())) for _ in range(200)]
    whole, little = overlap(*rows, *rows).findings(), overlap(*rows, *rows, most=400).findings()
    assert whole.forgotten == 0
    assert whole.nodes > 400 >= little.nodes
    assert little.forgotten > 0
    assert 0 < little.all.reused < whole.all.reused, "the head is kept: it is used again and again"


def test_what_is_used_is_remembered() -> None:
    known = Remembered(100)
    for number in range(1000):
        assert known.get(-1) is not None or number == 0
        known.put(-1, 1.0)
        known.put(number, 2.0)
        assert len(known) <= 100
    assert known.get(999) == 2.0
    assert known.get(0) is None
    assert known.forgotten > 800
