"""Answers that programs read: calls of tools, and objects of a demanded form."""

from __future__ import annotations

from typing import Any

from tests.clients.lanes import Lane
from tests.clients.running import Heard, Rig
from tests.clients.scenes.answers import right
from tests.clients.sheet import Sheet
from tests.clients.upstream.world import CAPITAL, CAPITAL_AGAIN, DONE, JAPAN, RETURNS, RETURNS_ELSEWHERE, fact

WAYS: tuple[dict[str, Any], ...] = ({"stream": False}, {"stream": True})


def called(heard: Heard, lane: Lane, subject: str, outcome: str) -> None:
    assert heard.error is None, heard.error
    assert heard.calls == [{"name": "look_up", "arguments": {"subject": subject, "limit": 3}}]
    assert heard.finish == lane.finish[1]
    assert heard.outcome == outcome
    assert (heard.plain, heard.revisions) == (int(outcome == "miss"), 0)


def tools(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """A tool is called by who asked for it: never because somebody asked something similar."""

    def ask(question: str, model: str, way: dict[str, Any]) -> Heard:
        return rig.ask(lane, f"tools {way}", question, model=model, tools=True, **way)

    with sheet.cell("miss"):
        for way in WAYS:
            called(ask(CAPITAL, "plain", way), lane, "France", "miss")
            called(ask(CAPITAL, "tooled", way), lane, "France", "miss")
    with sheet.cell("exact"):
        # What is said to a tool's result is an answer like any other.
        for outcome in ("miss", "exact"):
            heard = rig.ask(lane, "tools", CAPITAL, tools=True, told=True)
            right(heard, DONE, lane.finish[0], outcome, (int(outcome == "miss"), 0))
        for way in WAYS:
            # Repeated where the policy has them kept, and only there.
            called(ask(CAPITAL, "tooled", way), lane, "France", "exact")
            called(ask(CAPITAL, "plain", way), lane, "France", "miss")
    with sheet.cell("semantic"):
        for way in WAYS:
            called(ask(CAPITAL_AGAIN, "tooled", way), lane, "France", "miss")
    with sheet.cell("draft"):
        for way in WAYS:
            called(ask(RETURNS, "tooled", way), lane, "Norway", "miss")
            called(ask(RETURNS_ELSEWHERE, "tooled", way), lane, "Japan", "miss")


def structured(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """An object of the demanded form is parsed by the client, wherever it comes from."""

    def ask(question: str, way: dict[str, Any], wanted: dict[str, Any], outcome: str) -> None:
        namespace = f"structured {way}"
        heard = rig.ask(lane, namespace, question, model=lane.schema_model, schema=True, **way)
        assert heard.error is None, heard.error
        assert heard.parsed == wanted
        assert heard.outcome == outcome
        assert (heard.plain, heard.revisions) == (int(outcome == "miss"), int(outcome == "draft"))

    for state, question in (("miss", CAPITAL), ("exact", CAPITAL), ("semantic", CAPITAL_AGAIN)):
        with sheet.cell(state):
            for way in WAYS:
                ask(question, way, fact(CAPITAL), state)
    with sheet.cell("draft"):
        for way in WAYS:
            ask(RETURNS, way, fact(RETURNS), "miss")
            ask(RETURNS_ELSEWHERE, way, {"place": "Japan", "days": 14, "text": JAPAN}, "draft")
