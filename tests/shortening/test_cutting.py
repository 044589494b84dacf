"""Where histories are cut: seldom, never between a call and its result, and always at the same place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.shortening.cutting import find_cut, without

Message = dict[str, Any]


def say(role: str, tokens: int = 100, **more: Any) -> Message:
    return {"role": role, "content": "word" * tokens, **more}


def turns(count: int, tokens: int = 100) -> list[Message]:
    return [say(role, tokens) | {"turn": turn} for turn in range(count) for role in ("user", "assistant")]


def policy(above: int = 2000, keep: int = 1000, head: int = 0) -> HistoryPolicy:
    return HistoryPolicy(Trimming.WINDOW, above, keep, head)


def trimmed(messages: list[Message], rules: HistoryPolicy) -> list[Any]:
    cut = find_cut(messages, rules)
    return messages if cut is None else without(messages, cut)


def test_a_short_history_stays_whole() -> None:
    assert find_cut([say("system"), *turns(3), say("user")], policy()) is None


def test_system_prompt_and_last_turn_stay() -> None:
    messages = [say("system"), *turns(30), say("user", 10)]
    kept = trimmed(messages, policy())
    assert kept[0] is messages[0]
    assert kept[-1] is messages[-1]
    assert len(kept) < len(messages)
    assert kept[1]["role"] == "user"


def test_a_last_turn_longer_than_the_window_stays_whole() -> None:
    messages = [say("system"), *turns(3), say("user", 5000), say("assistant", 5000), say("tool", 5000)]
    assert trimmed(messages, policy()) == [messages[0], *messages[-3:]]


def test_the_head_that_the_policy_names_stays() -> None:
    messages = [say("system"), *turns(30), say("user")]
    kept = trimmed(messages, policy(head=4))
    assert kept[:5] == messages[:5]
    assert kept[5]["turn"] > 2


def test_system_messages_in_the_middle_stay_in_their_order() -> None:
    messages = [say("system"), *turns(10), say("developer", 5), *turns(10), say("user")]
    kept = trimmed(messages, policy())
    assert [m["role"] for m in kept].count("developer") == 1
    assert kept[1]["role"] == "developer"


def agent(turn: int, calls: int, tokens: int = 50) -> list[Message]:
    """One user turn in which an agent calls tools one after the other."""
    found = [say("user", tokens)]
    for call in range(calls):
        name = f"call-{turn}-{call}"
        found += [
            {"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function"}]},
            say("tool", tokens, tool_call_id=name),
        ]
    return [*found, say("assistant", tokens)]


def torn(messages: list[Any]) -> bool:
    called = {call["id"] for m in messages for call in m.get("tool_calls") or ()}
    answered = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    return called != answered


@pytest.mark.parametrize("above", range(400, 2600, 150))
def test_a_call_is_never_parted_from_its_result(above: int) -> None:
    messages = [say("system", 20), *(m for turn in range(12) for m in agent(turn, turn % 4)), say("user", 5)]
    assert not torn(trimmed(messages, policy(above, above // 2)))


def test_a_result_that_comes_turns_later_keeps_its_call() -> None:
    late = {"role": "assistant", "content": "", "tool_calls": [{"id": "late"}]}
    messages = [*turns(8), late, *turns(8), say("tool", 10, tool_call_id="late"), *turns(3), say("user")]
    for above in range(300, 3000, 100):
        assert not torn(trimmed(messages, policy(above, above // 2)))


def test_results_in_a_users_message_are_no_turn() -> None:
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
    result = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "word" * 500}],
    }
    messages = [*turns(10), say("user"), use, result]
    for above in range(300, 3000, 100):
        kept = trimmed(messages, policy(above, above // 2))
        assert kept[-3:] == messages[-3:]


def test_the_beginning_stays_the_same_for_many_turns() -> None:
    """Of 100 requests of a growing history few begin otherwise than the one before."""
    history, moved, before = [say("system")], 0, [""]
    for _ in range(100):
        history = [*history, say("user"), say("assistant")]
        kept = [*map(id, trimmed(history[:-1], policy(above=4000, keep=1000)))]
        moved += before[: len(before) - 1] != kept[: len(before) - 1]
        before = kept
    assert moved <= 100 * 200 / 3000 + 2


roles = st.sampled_from(["user", "assistant", "tool", "system", "developer"])
histories = st.lists(st.builds(say, roles, st.integers(1, 300)), min_size=1, max_size=60)


@given(histories, st.integers(50, 3000), st.integers(0, 5))
def test_what_stays_is_what_was_there(messages: list[Message], above: int, head: int) -> None:
    rules = policy(above, above // 2, head)
    kept = trimmed(messages, rules)
    rest = iter(messages)
    assert all(any(message is one for one in rest) for message in kept)  # a subsequence, untouched
    assert [m for m in kept if m["role"] in ("system", "developer")] == [
        m for m in messages if m["role"] in ("system", "developer")
    ]
    users = [at for at, m in enumerate(messages) if m["role"] == "user"]
    if users:
        last = messages[users[-1] :]
        assert kept[-len(last) :] == last


@given(histories, st.integers(100, 3000))
def test_cuts_only_move_on(messages: list[Message], above: int) -> None:
    """What a longer history was cut to before is what the shorter one was cut to."""
    rules, steps = policy(above, above // 2), ()
    for length in range(1, len(messages) + 1):
        cut = find_cut(messages[:length], rules)
        now = cut.steps if cut else ()
        if messages[length - 1]["role"] in ("user", "tool"):
            assert now[: len(steps)] == steps
            steps = now


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "user"},
        {"role": "user", "content": 7},
        {"role": "assistant", "tool_calls": "none"},
        {"role": "assistant", "tool_calls": [None, {"id": 3}]},
        {"role": "tool"},
        {"role": "user", "content": [None, {"type": "tool_result"}, "text"]},
    ],
)
def test_odd_messages_do_no_harm(odd: Message) -> None:
    messages = [*turns(10), odd, *turns(10), say("user")]
    kept = trimmed(messages, policy())
    assert kept[-1] is messages[-1]
