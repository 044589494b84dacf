"""Plain answers: whole, streamed, and what they are said to have cost."""

from __future__ import annotations

from typing import Any

from tests.clients.lanes import Lane
from tests.clients.running import KEY, MANAGED, Heard, Rig
from tests.clients.sheet import Sheet
from tests.clients.upstream.said import INPUT, Said
from tests.clients.upstream.world import (
    CAPITAL,
    CAPITAL_AGAIN,
    JAPAN,
    NORWAY,
    PARIS,
    RETURNS,
    RETURNS_ELSEWHERE,
)


def right(heard: Heard, text: str, finish: str, outcome: str, calls: tuple[int, int]) -> None:
    """One answer is as it should be; `calls` of the upstream, for answers and for revisions."""
    assert heard.error is None, heard.error
    assert heard.text == text
    assert heard.finish == finish
    assert heard.outcome == outcome
    assert (heard.plain, heard.revisions) == calls
    if heard.headers:
        assert heard.headers["semcache-outcome"] == outcome


def chat(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    end = lane.finish[0]
    with sheet.cell("miss"):
        heard = rig.ask(lane, "chat", CAPITAL)
        right(heard, PARIS, end, "miss", (1, 0))
        assert bool(heard.headers) == lane.headers, heard.headers
        # The upstream is shown the proxy's key, and never the client's.
        shown = b" ".join(value for _, value in rig.server.requests[-1].headers)
        assert MANAGED.encode() in shown
        assert KEY.encode() not in shown
    with sheet.cell("exact"):
        right(rig.ask(lane, "chat", CAPITAL), PARIS, end, "exact", (0, 0))
    with sheet.cell("semantic"):
        right(rig.ask(lane, "chat", CAPITAL_AGAIN), PARIS, end, "semantic", (0, 0))
    with sheet.cell("draft"):
        right(rig.ask(lane, "chat", RETURNS), NORWAY, end, "miss", (1, 0))
        right(rig.ask(lane, "chat", RETURNS_ELSEWHERE), JAPAN, end, "draft", (0, 1))
        right(rig.ask(lane, "chat", RETURNS_ELSEWHERE), JAPAN, end, "exact", (0, 0))


def stream(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    end = lane.finish[0]

    def ask(question: str) -> Heard:
        return rig.ask(lane, "stream", question, stream=True)

    with sheet.cell("miss"):
        heard = ask(CAPITAL)
        right(heard, PARIS, end, "miss", (1, 0))
        assert heard.pieces > 10, "it did not come as it was made"
    with sheet.cell("exact"):
        right(ask(CAPITAL), PARIS, end, "exact", (0, 0))
        # One entry serves both ways of writing it.
        right(rig.ask(lane, "stream", CAPITAL), PARIS, end, "exact", (0, 0))
        right(rig.ask(lane, "whole first", CAPITAL), PARIS, end, "miss", (1, 0))
        right(rig.ask(lane, "whole first", CAPITAL, stream=True), PARIS, end, "exact", (0, 0))
    with sheet.cell("semantic"):
        right(ask(CAPITAL_AGAIN), PARIS, end, "semantic", (0, 0))
    with sheet.cell("draft"):
        right(ask(RETURNS), NORWAY, end, "miss", (1, 0))
        heard = ask(RETURNS_ELSEWHERE)
        right(heard, JAPAN, end, "draft", (0, 1))
        assert heard.pieces > 1


def counted(heard: Heard, given: int, made: int) -> None:
    assert heard.error is None, heard.error
    assert heard.usage is not None, "no usage"
    assert (heard.usage["input"], heard.usage["output"]) == (given, made)


def usage(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """On a hit tokens are zero, or what the first answer took, as the policy says."""
    made = Said(PARIS).output

    def ask(model: str, question: str) -> list[Heard]:
        ways: list[dict[str, Any]] = [{"stream": False}, {"stream": True}]
        return [rig.ask(lane, f"usage {way}", question, model=model, **way) for way in ways]

    with sheet.cell("miss"):
        for model in ("plain", "dear"):
            for heard in ask(model, CAPITAL):
                counted(heard, INPUT, made)
    for state, question in (("exact", CAPITAL), ("semantic", CAPITAL_AGAIN)):
        with sheet.cell(state):
            for heard in ask("plain", question):
                assert heard.outcome == state
                counted(heard, 0, 0)
                assert heard.usage["saved"] == lane.saved
            for heard in ask("dear", question):
                assert heard.outcome == state
                counted(heard, INPUT, made)
    with sheet.cell("draft"):
        for heard in ask("plain", RETURNS):
            counted(heard, INPUT, Said(NORWAY).output)
        for heard in ask("plain", RETURNS_ELSEWHERE):
            assert heard.outcome == "draft"
            assert heard.usage["input"] == INPUT
            assert 0 < heard.usage["output"] < Said(JAPAN).output / 4, "of the revision, which is short"
