"""The scripted upstream of the clients: speaks every dialect, answers a few questions, fails and stalls when told to."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tests.clients.upstream import anthropic_messages, gemini, ollama, openai_chat, openai_responses
from tests.clients.upstream.said import Asked, Dialect, Said
from tests.e2e.drafting import answer_for, edit, place_in
from tests.fakes.upstream_server import JSON_TYPE, Behaviour, Exchange, Seen, json_reply, stall

DIALECTS: tuple[Dialect, ...] = cast(
    "tuple[Dialect, ...]", (openai_chat, openai_responses, anthropic_messages, ollama, gemini)
)
CAPITAL = "What is the capital of France?"
CAPITAL_AGAIN = "What's the capital of France?"
PARIS = "Paris is the capital of France, and has been for nearly all of its long history – since 987. 🗼"
RETURNS = "How long may customers in Norway return an order?"
RETURNS_ELSEWHERE = "How long may customers in Japan return an order?"
DONE = "The tool says that it is done."
NORWAY, JAPAN, JAPAN_PLAIN = answer_for("Norway"), answer_for("Japan", 14), answer_for("Japan")
_STATUS = re.compile(r"\(status (\d{3})\)")


@dataclass
class World:
    """Answers by the question's words; `failing`, `stalling` and `pause` hold for all that comes."""

    failing: int = 0
    """Status of all answers; 0: it works."""
    stalling: bool = False
    """Nothing is ever said."""
    stalling_revisions: bool = False
    failures: list[int] = field(default_factory=list)
    """Statuses of the next answers, each once."""
    pause: float = 0.0
    """Seconds between the events of a stream."""
    cut: int = 0
    """Streams break off after so many events; 0: they come to their end."""
    heads: Sequence[tuple[str, str]] = ()
    """Headers of errors."""
    plain: int = 0
    revisions: int = 0
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Behaviour:
        dialect = next((d for d in DIALECTS if d.reads(seen.target.partition("?")[0])), None)
        if dialect is None or seen.method != "POST":
            return json_reply(
                {"error": {"message": "no such path", "type": "x", "code": "unknown"}}, status=404
            )
        asked = dialect.read(seen)
        self.asked.append(asked)
        revising = "old answer>" in asked.question
        self.revisions += revising
        self.plain += not revising
        if self.stalling or (revising and self.stalling_revisions):
            return stall()
        failing = (
            (self.failures and self.failures.pop(0))
            or self.failing
            or int((_STATUS.search(asked.question) or [0, 0])[1])
        )
        if failing:
            document = dialect.error(failing, "The upstream says no.")
            return json_reply(document, status=failing, headers=[JSON_TYPE, *self.heads])
        said = _revised(asked) if revising else answer(asked)
        if not asked.stream:
            return json_reply(dialect.whole(said))
        return _streamed(dialect.events(said, asked), dialect.stream_type, self.pause, self.cut)

    def calm(self) -> None:
        """Work as an upstream should."""
        self.failures.clear()
        self.cut = 0
        self.failing, self.stalling, self.stalling_revisions, self.pause, self.heads = (
            0,
            False,
            False,
            0.0,
            (),
        )


def answer(asked: Asked) -> Said:
    """What is said to a question: a call of a tool that is offered, an object that is demanded, else a text."""
    if asked.told:
        return Said(DONE)
    if asked.forced:
        return Said(call=(asked.forced, fact(asked.question)))
    if asked.tools:
        return Said(call=("look_up", {"subject": subject(asked.question), "limit": 3}))
    if asked.schema:
        return Said(json.dumps(fact(asked.question), ensure_ascii=False))
    return Said(text(asked.question))


def subject(question: str) -> str:
    return "France" if "France" in question else place_in(question)


def text(question: str) -> str:
    return PARIS if "France" in question else answer_for(place_in(question))


def fact(question: str) -> dict[str, Any]:
    if "France" in question:
        return {"place": "Paris", "days": 987, "text": PARIS}
    place = place_in(question)
    return {"place": place, "days": 30, "text": answer_for(place)}


def _streamed(events: Sequence[bytes], kind: str, pause: float, cut: int) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, [("content-type", kind), ("transfer-encoding", "chunked")])
        for event in events[:cut] if cut else events:
            await exchange.chunk(event)
            if pause:
                await asyncio.sleep(pause)
        if cut:
            exchange.close()
        else:
            await exchange.end()

    return behave


def _revised(asked: Asked) -> Said:
    """Revise as a model would that does what it is told."""
    said = edit({"messages": [{"content": asked.question}]})
    place = place_in(asked.question.partition("old answer>")[2])
    quoted = f'"place": "{place}"'
    if quoted in asked.question:
        there = place_in(asked.question.partition(" question>")[2].partition("</")[0])
        changes = json.loads(said)["edit"]
        changes += [
            {"old": quoted, "new": f'"place": "{there}"'},
            {"old": '"days": 30', "new": '"days": 14'},
        ]
        said = json.dumps({"edit": changes})
    return Said(said)
