"""What goes wrong: errors, upstreams that say nothing, clients that leave, and calls that are made again."""

from __future__ import annotations

import time
from typing import Any

from tests.clients.lanes import Lane
from tests.clients.running import Heard, Rig
from tests.clients.scenes.answers import right
from tests.clients.sheet import Sheet
from tests.clients.upstream.world import (
    CAPITAL,
    CAPITAL_AGAIN,
    JAPAN,
    JAPAN_PLAIN,
    NORWAY,
    PARIS,
    RETURNS,
    RETURNS_ELSEWHERE,
)

SPENT = {"semcache-labels": "project=spent"}
"""Belongs to a budget of a single request."""
STATUSES = (400, 401, 429, 500)
FIRST_BYTE = 3.0
"""Seconds after which the proxy gives an upstream up."""


def refused(heard: Heard, lane: Lane, status: int) -> dict[str, Any]:
    """The client raised what it raises at this status."""
    error = heard.error
    assert error is not None, f"no error, but {heard.text!r}"
    assert error["class"] == (lane.errors.get(status) or lane.errors.get(0) or lane.errors[500]), error
    assert error["status"] == status, error
    return dict(error)


def shown(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """Some clients quote the body, which is written with other blanks when it was read and written again."""
    return error and {**error, "message": error["message"].replace(" ", "")}


def error(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """An error reaches the client as if the proxy were not there; what is stored is served all the same."""
    with sheet.cell("miss"):
        for status in STATUSES:
            for streamed in (False, True):
                question = f"Please fail. (status {status})"
                heard = rig.ask(lane, "error", question, stream=streamed)
                bare = rig.client(lane).do(rig.job(lane, "error", question, stream=streamed, direct=True))
                said = bare["error"]
                if lane.is_native:
                    assert shown(heard.error) == shown(said)
                else:
                    assert {**heard.error, "message": "", "causes": []} == {
                        **said,
                        "message": "",
                        "causes": [],
                    }
                    assert "The upstream says no." in heard.error["message"]
                assert heard.plain == 1
                if not streamed:
                    refused(heard, lane, status)
        own(rig, lane)
    with sheet.cell("exact"):
        right(rig.ask(lane, "error", CAPITAL), PARIS, lane.finish[0], "miss", (1, 0))
        rig.world.failing = 500
        right(rig.ask(lane, "error", CAPITAL), PARIS, lane.finish[0], "exact", (0, 0))
    with sheet.cell("semantic"):
        right(rig.ask(lane, "error", CAPITAL_AGAIN), PARIS, lane.finish[0], "semantic", (0, 0))
    rig.world.calm()
    with sheet.cell("draft"):
        right(rig.ask(lane, "error", RETURNS, model="shaky"), NORWAY, lane.finish[0], "miss", (1, 0))
        rig.world.failing = 500
        heard = rig.ask(lane, "error", RETURNS_ELSEWHERE, model="shaky")
        refused(heard, lane, 500)
        assert heard.revisions == 1
        rig.world.calm()
        # Nothing of it was kept.
        heard = rig.ask(lane, "error", RETURNS_ELSEWHERE, model="shaky")
        right(heard, JAPAN, lane.finish[0], "draft", (0, 1))


def own(rig: Rig, lane: Lane) -> None:
    """What the proxy itself refuses looks like an error of the API that the client knows."""
    wishes: tuple[tuple[int, str, dict[str, Any]], ...] = (
        (401, "API key", {"key": "sk-nobody"}),
        (400, "domain", {"headers": {"semcache-domain": "nowhere"}}),
        (404, "model", {"model": "forbidden"}),
        (429, "budget", {"headers": SPENT}),
        (504, "cache", {"headers": {"cache-control": "only-if-cached"}}),
    )
    rig.ask(lane, "own errors", RETURNS, headers=SPENT)
    for status, word, wish in wishes:
        heard = rig.ask(lane, "own errors", CAPITAL, **wish)
        found = refused(heard, lane, status)
        assert word in found["message"], found
        assert heard.plain == 0
        if lane.codes:
            assert found["type"], found
            assert found["code"], found


def timeout(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """An upstream that says nothing holds nobody up: the client gives up when it wants to, the proxy when it must."""
    end = lane.finish[0]
    with sheet.cell("miss"):
        rig.world.stalling = True
        for streamed in (False, True):
            heard = rig.ask(lane, "timeout", CAPITAL, stream=streamed, timeout=1.0)
            assert heard.error is not None
            assert {heard.error["class"], heard.error.get("name")} & set(lane.late), heard.error
            assert heard.seconds < 2.5
        rig.wait_until(lambda: rig.server.requests[-1].closed_early)
        heard = rig.ask(lane, "timeout", CAPITAL, timeout=20.0)
        refused(heard, lane, 504)
        assert FIRST_BYTE - 0.5 < heard.seconds < FIRST_BYTE + 3
        rig.world.calm()
        right(rig.ask(lane, "timeout", CAPITAL), PARIS, end, "miss", (1, 0))
    rig.world.stalling = True
    with sheet.cell("exact"):
        right(rig.ask(lane, "timeout", CAPITAL, timeout=5.0), PARIS, end, "exact", (0, 0))
    with sheet.cell("semantic"):
        right(rig.ask(lane, "timeout", CAPITAL_AGAIN, timeout=5.0), PARIS, end, "semantic", (0, 0))
    rig.world.calm()
    with sheet.cell("draft"):
        right(rig.ask(lane, "timeout", RETURNS, model="shaky"), NORWAY, end, "miss", (1, 0))
        rig.world.stalling_revisions = True
        # Who revises too slowly is not waited for: the question is asked plainly.
        heard = rig.ask(lane, "timeout", RETURNS_ELSEWHERE, model="shaky")
        right(heard, JAPAN_PLAIN, end, "miss", (1, 1))
        assert heard.seconds < 8
    rig.world.calm()


def abort(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """Who leaves in the middle stops what is made for him alone, and leaves nothing half behind."""
    end = lane.finish[0]

    def leave(question: str) -> Heard:
        heard = rig.ask(lane, "abort", question, stream=True, leave_after=2)
        assert heard.error is None, heard.error
        assert heard.left
        return heard

    def whole(question: str, text: str, outcome: str, calls: tuple[int, int]) -> None:
        right(rig.ask(lane, "abort", question, stream=True), text, end, outcome, calls)

    with sheet.cell("miss"):
        rig.world.pause = 0.05
        begun = time.monotonic()
        leave(RETURNS)
        rig.wait_until(lambda: rig.server.requests[-1].closed_early, 3.0)
        assert time.monotonic() - begun < 5, "the upstream's whole stream takes far longer"
        rig.world.calm()
        whole(RETURNS, NORWAY, "miss", (1, 0))
    with sheet.cell("exact"):
        assert leave(RETURNS).outcomes
        whole(RETURNS, NORWAY, "exact", (0, 0))
    with sheet.cell("semantic"):
        whole(RETURNS.replace("may", "can"), NORWAY, "semantic", (0, 0))
        leave(RETURNS.replace("may", "can"))
        whole(RETURNS.replace("may", "can"), NORWAY, "semantic", (0, 0))
    with sheet.cell("draft"):
        heard = leave(RETURNS_ELSEWHERE)
        assert heard.revisions == 1
        whole(RETURNS_ELSEWHERE, JAPAN, "exact", (0, 0))


def cut(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """A stream that breaks off is an error: nobody takes half an answer for a whole one, and it is not kept."""
    with sheet.cell("miss"):
        rig.world.cut = 7
        heard = rig.ask(lane, "cut", CAPITAL, stream=True)
        assert heard.error is not None, f"half an answer passed for a whole one: {heard.text!r}"
        assert heard.text != PARIS
        rig.world.calm()
        right(rig.ask(lane, "cut", CAPITAL, stream=True), PARIS, lane.finish[0], "miss", (1, 0))


def retry(rig: Rig, lane: Lane, sheet: Sheet) -> None:
    """A client that repeats failed calls gets its answer; one that is told not to repeat does not."""
    if not lane.retries:
        return
    with sheet.cell("miss"):
        rig.world.failures = [500, 429]
        heard = rig.ask(lane, "retry", CAPITAL, retries=2, requests=3)
        assert heard.error is None, heard.error
        assert (heard.text, heard.plain) == (PARIS, 3)
        rig.world.calm()
        rig.ask(lane, "retry", RETURNS, headers=SPENT)
        if lane.obeys:
            spent = rig.ask(lane, "retry", CAPITAL, retries=2, headers=SPENT)
            refused(spent, lane, 429)
            assert len(spent.outcomes) == 1
            rig.world.failing, rig.world.heads = 500, (("x-should-retry", "false"),)
            heard = rig.ask(lane, "retry", RETURNS, retries=2)
            assert heard.error is not None
            assert heard.plain == 1
            rig.world.calm()
