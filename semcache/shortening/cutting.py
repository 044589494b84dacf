"""Where a long history is cut, so that the cut moves seldom and never between what belongs together. Pure.

A client sends its whole history with every request and nothing of it is remembered here, so the cut follows from the
history alone: it is walked through as it grew. Once it is longer than `above`, the oldest turns go until about `keep` is left,
and then none until it is longer than `above` again. Between two cuts every request begins with the same messages, which
prompt caches live from; a window that drops a turn each time changes its beginning each time.

Knows messages of chat requests, not who answers them, and no tokenizer: sizes are guessed tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import orjson

from semcache.cost_rules import HistoryPolicy
from semcache.tokens import tokens_of

Messages = Sequence[Mapping[str, Any]]

_SYSTEM = ("system", "developer")
_ASKS = ("user", "tool", "function")
"""Roles of messages that a request may end with."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left away: the messages from `start` up to `end`, but for system messages among them.

    `steps` are the ends of all cuts so far, rising, the last being `end`; `dropped` counts messages, `tokens` theirs.
    """

    start: int
    steps: tuple[int, ...]
    dropped: int
    tokens: int

    @property
    def end(self) -> int:
        """First message after the cut."""
        return self.steps[-1]


def find_cut(messages: Messages, policy: HistoryPolicy, extra: int = 0) -> Cut | None:
    """Find what is to be left away; None while the history is short enough or cannot be cut.

    Args:
        messages: of the request, all objects with a role.
        policy: sizes, and how many messages of the beginning stay.
        extra: tokens that take the place of what is left away.
    """
    places = _places(messages, policy.head)
    if len(places) < 2:
        return None
    sizes = [_size(message) for message in messages]
    start, steps = places[0], _steps(messages, sizes, places, policy, extra)
    if not steps:
        return None
    gone = [at for at in range(start, steps[-1]) if messages[at].get("role") not in _SYSTEM]
    return Cut(start, tuple(steps), len(gone), sum(sizes[at] for at in gone)) if gone else None


def without(messages: Messages, cut: Cut) -> list[Mapping[str, Any]]:
    """Give the history without what is cut away; what stays is the very same messages."""
    system = [message for message in messages[cut.start : cut.end] if message.get("role") in _SYSTEM]
    return [*messages[: cut.start], *system, *messages[cut.end :]]


def _steps(
    messages: Messages, sizes: Sequence[int], places: Sequence[int], policy: HistoryPolicy, extra: int
) -> list[int]:
    """Walk through the history as it grew; gives the ends of the cuts that were made on the way."""
    loose = [
        size if message.get("role") not in _SYSTEM else 0
        for size, message in zip(sizes, messages, strict=True)
    ]
    whole, cut = [0, *accumulate(sizes)], [0, *accumulate(loose)]
    start, end, steps = places[0], places[0], list[int]()
    for last in range(start, len(messages)):
        if messages[last].get("role") not in _ASKS:
            continue

        def left(at: int, last: int = last) -> int:
            return whole[last + 1] - (cut[at] - cut[start]) + (extra if at > start else 0)

        if left(end) <= policy.above:
            continue
        later = [place for place in places if end < place <= last]
        if later:
            end = next((place for place in later if left(place) <= policy.keep), later[-1])
            steps.append(end)
    return steps


def _places(messages: Messages, head: int) -> list[int]:
    """Where the history may be cut: at its beginning after what always stays, and before turns of the user.

    Never between a tool's call and its result.
    """
    lead = next(
        (at for at, message in enumerate(messages) if message.get("role") not in _SYSTEM), len(messages)
    )
    torn = _torn(messages)
    turns = [at for at, message in enumerate(messages) if at > lead and _is_turn(message) and not torn[at]]
    first = lead if head == 0 else next((at for at in turns if at >= lead + head), len(messages))
    return [first, *(at for at in turns if at > first)]


def _is_turn(message: Mapping[str, Any]) -> bool:
    """True when a user speaks; a tool's result in a user's message is none."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    return message.get("role") == "user" and not any(_answered(block) for block in blocks)


def _torn(messages: Messages) -> list[bool]:
    """Say for each message whether a cut before it would part a call from its result."""
    called: dict[str, int] = {}
    torn = [False] * (len(messages) + 1)
    for at, message in enumerate(messages):
        for name in _results(message):
            begun = called.get(name)
            if begun is not None:
                for between in range(begun + 1, at + 1):
                    torn[between] = True
                called[name] = at
        called.update(dict.fromkeys(_calls(message), at))
    return torn


def _calls(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    content = message.get("content")
    names = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(content, list):
        names += [b.get("id") for b in content if isinstance(b, dict) and b.get("type") == "tool_use"]
    return [name for name in names if isinstance(name, str)]


def _results(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    names = [message.get("tool_call_id")] if message.get("role") == "tool" else []
    if isinstance(content, list):
        names += [_answered(block) for block in content]
    return [name for name in names if isinstance(name, str)]


def _answered(block: object) -> str | None:
    """Name the call whose result a block of content is."""
    if isinstance(block, dict) and block.get("type") == "tool_result":
        name = block.get("tool_use_id")
        return name if isinstance(name, str) else ""
    return None


def _size(message: Mapping[str, Any]) -> int:
    try:
        return tokens_of(orjson.dumps(message).decode())
    except (TypeError, ValueError):
        return tokens_of(repr(message))
