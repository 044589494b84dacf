"""The upstream of the run: stamps every answer with the ask it was made for, and sees that it was asked what the client asked."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.fakes.upstream_server import Behaviour, Seen, chat_json, chat_sse
from tests.fakes.upstream_wire import Exchange
from tests.trust.isolation.model import Book
from tests.trust.isolation.wire import NAME, messages_of, text_of
from tests.trust.isolation.world import Ask, admitted

MANAGED = "sk-managed"
"""The upstream's key of tenants that have keys of their own."""


@dataclass
class Stamping:
    """Chooses a behaviour for each request; see `tests.fakes.upstream_server.ByRequest`.

    `wrong` collects calls that were not what their client asked, or came under a key that is not theirs.
    """

    book: Book
    asks: dict[int, Ask]
    clock: Callable[[], float] = time.monotonic
    wrong: list[str] = field(default_factory=list)
    calls: int = 0
    _turn: itertools.count[int] = field(default_factory=itertools.count)
    _by: Random = field(default_factory=lambda: Random(7))

    def __call__(self, seen: Seen) -> Behaviour:
        """Note the answer in the book before a byte of it is written."""
        self.calls += 1
        ask = self.asks[int(seen.header(NAME) or -1)]
        body = seen.json()
        self._compare(ask, seen, body)
        stamp = f"s{ask.number}.{next(self._turn)}"
        self.book.answered(stamp, ask, self.clock())
        return _after(self._by.choice((0.0, 0.0, 0.002, 0.01, 0.03)), stamp, bool(body.get("stream")))

    def _compare(self, ask: Ask, seen: Seen, body: dict[str, object]) -> None:
        key = seen.header("authorization")
        rules = self.book.rules(ask, self.book.sent[ask.number], self.clock())
        who = [found[0] for one in rules if (found := admitted(ask, one)) is not None]
        if key not in {f"Bearer {one.key if one.owner.passes else MANAGED}" for one in who}:
            self.wrong.append(f"ask {ask.number} of {ask.tenant} came under the key {key!r}")
        for name, said in (
            ("model", ask.model),
            ("messages", messages_of(ask)),
            ("temperature", ask.temperature),
            ("x_side", ask.extra or None),
        ):
            if body.get(name) != said:
                self.wrong.append(f"ask {ask.number}: {name} is {body.get(name)!r}, was {said!r}")
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        if limit != ask.max_tokens:
            self.wrong.append(f"ask {ask.number}: the limit is {limit!r}, was {ask.max_tokens!r}")


def _after(pause: float, stamp: str, stream: bool) -> Behaviour:
    words = text_of(stamp).split(" ")
    behave = (
        chat_sse([*(f"{word} " for word in words[:-1]), words[-1]]) if stream else chat_json(text_of(stamp))
    )

    async def answer(exchange: Exchange) -> None:
        if pause:
            await asyncio.sleep(pause)
        await behave(exchange)
        # Requests are not kept: there are a hundred thousand.
        exchange.server.requests.clear()

    return answer
