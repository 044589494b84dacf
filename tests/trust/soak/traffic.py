"""What is asked of the proxy, at a fixed rate whatever it answers; and an upstream that answers each question by its tag.

Much of it is new all the time (questions, users, models, keys, namespaces, tags), since what grows with traffic grows
with that.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.fakes.upstream_server import (
    Behaviour,
    ByRequest,
    Seen,
    chat_json,
    chat_sse,
    cut,
    error_reply,
    json_reply,
)

KEYS = ("sk-loud", "sk-quiet")
_FILLER = "That depends on what was set up before, and on how much of it is to stay as it is. " * 8
_KINDS = {
    "again": 40,
    "new": 22,
    "paraphrase": 10,
    "stream": 10,
    "hang-up": 4,
    "refused": 3,
    "broken": 2,
    "bypass": 3,
    "stranger": 2,
    "apart": 2,
    "odd": 1,
    "forwarded": 1,
}
_WORDS = [
    "anchor",
    "badger",
    "cello",
    "dune",
    "eclipse",
    "ferry",
    "glacier",
    "harvest",
    "igloo",
    "jasmine",
    "kettle",
    "lantern",
    "marble",
    "nebula",
]
_ACTIONS = [
    "export",
    "print",
    "share",
    "archive",
    "translate",
    "download",
    "restore",
    "publish",
    "encrypt",
    "upload",
    "compress",
    "copy",
]


def tag_of(question: str) -> str:
    """Give the word that the answer to this question begins with."""
    return hashlib.blake2s(question.encode(), digest_size=6).hexdigest()


def answering(seen: Seen) -> Behaviour:
    """Answer with the question's tag; questions say themselves how they are to be treated."""
    if not seen.body:
        return json_reply({"object": "list", "data": []})
    body = seen.json()
    if "messages" not in body:
        return json_reply({"object": "list", "data": [], "usage": {"prompt_tokens": 3, "total_tokens": 3}})
    question = body["messages"][-1]["content"]
    if question.startswith("Refuse"):
        return error_reply(429)
    text = f"{tag_of(question)} {_FILLER}"
    if not body.get("stream"):
        return chat_json(text)
    words = [text[at : at + 40] for at in range(0, len(text), 40)]
    if question.startswith("Break"):
        return cut(b"data: " + json.dumps({"choices": []}).encode() + b"\n\n")
    return chat_sse(words, pause=0.02 if question.startswith("Slowly") else 0.0)


@dataclass
class Heard:
    """What came back: counts by outcome and status, what was wrong, and times of late (seconds)."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    times: deque[float] = field(default_factory=lambda: deque(maxlen=2000))
    asked: int = 0

    def note_wrong(self, what: str) -> None:
        """Keep the first few."""
        if len(self.wrong) < 20:
            self.wrong.append(what)
        self.outcomes["wrong"] += 1


class Traffic:
    """One load; open loop.

    Args:
        url: of the proxy.
        rate: requests a second.
        seed: of the mix.
    """

    def __init__(self, url: str, rate: float, seed: int = 0) -> None:
        self._url = url
        self._rate = rate
        self._chance = random.Random(seed)
        self._asked: deque[str] = deque(maxlen=3000)
        self._number = 0
        self.heard = Heard()

    async def run(self, seconds: float) -> None:
        """Ask for so long, and wait for the last answers."""
        begun = time.monotonic()
        waiting: set[asyncio.Task[None]] = set()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
            sent = 0
            while (passed := time.monotonic() - begun) < seconds:
                for _ in range(int(passed * self._rate) - sent):
                    sent += 1
                    task = asyncio.create_task(self._one(session))
                    waiting.add(task)
                    task.add_done_callback(waiting.discard)
                await asyncio.sleep(0.01)
            await asyncio.gather(*waiting)

    async def _one(self, session: aiohttp.ClientSession) -> None:
        kind = self._chance.choices(list(_KINDS), list(_KINDS.values()))[0]
        self.heard.asked += 1
        try:
            await self._ask(session, kind)
        except (aiohttp.ClientError, TimeoutError) as error:
            self.heard.note_wrong(f"{kind}: {type(error).__name__}")

    async def _ask(self, session: aiohttp.ClientSession, kind: str) -> None:
        question = self._question(kind)
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": question}]}
        headers = {"authorization": f"Bearer {self._chance.choice(KEYS)}"}
        word = f"{self._number:x}"
        if kind in ("stream", "hang-up", "broken"):
            body["stream"] = True
        match kind:
            case "bypass":
                body["temperature"] = 1.0
            case "stranger":
                headers["authorization"] = f"Bearer sk-unknown-{word}"
            case "apart":
                headers |= {"semcache-namespace": f"n{word}", "semcache-tags": f"t{word}"}
                body |= {"user": f"u{word}", "model": f"m-{word}"}
            case "odd":
                await self._refused(session, headers)
                return
            case "forwarded":
                await self._forwarded(session, headers, word)
                return
            case _:
                pass
        begun = time.perf_counter()
        path = f"{self._url}/v1/chat/completions"
        async with session.post(path, json=body, headers=headers) as reply:
            if kind == "hang-up":
                with contextlib.suppress(aiohttp.ClientError):
                    await reply.content.readany()
                reply.close()
                self.heard.outcomes["hung up"] += 1
                return
            data = await reply.read()
        self._judge(kind, question, reply, data, time.perf_counter() - begun)

    def _judge(
        self, kind: str, question: str, reply: aiohttp.ClientResponse, data: bytes, seconds: float
    ) -> None:
        outcome = reply.headers.get("semcache-outcome", "")
        expected = {"stranger": 401, "refused": 429}.get(kind, 200)
        if reply.status != expected:
            self.heard.note_wrong(f"{kind}: status {reply.status} {data[:120]!r}")
            return
        self.heard.outcomes[outcome or str(reply.status)] += 1
        if outcome == "exact":
            self.heard.times.append(seconds)
        if (
            expected == 200
            and kind != "broken"
            and outcome != "semantic"
            and tag_of(question).encode() not in data
        ):
            self.heard.note_wrong(f"{kind}: another question's answer")

    async def _refused(self, session: aiohttp.ClientSession, headers: dict[str, str]) -> None:
        body = self._chance.choice([b"{", b"[]", b'{"model": 5}', b"\xff" * 50, b'{"messages": []}'])
        async with session.post(f"{self._url}/v1/chat/completions", data=body, headers=headers) as reply:
            await reply.read()
        if reply.status not in (200, 400, 422):
            self.heard.note_wrong(f"odd: status {reply.status}")
        self.heard.outcomes["odd"] += 1

    async def _forwarded(self, session: aiohttp.ClientSession, headers: dict[str, str], word: str) -> None:
        body = {"model": f"e-{word}", "input": f"text {word}"}
        async with session.post(f"{self._url}/v1/embeddings", json=body, headers=headers) as reply:
            await reply.read()
        if reply.status != 200:
            self.heard.note_wrong(f"forwarded: status {reply.status}")
        self.heard.outcomes["forwarded"] += 1

    def _question(self, kind: str) -> str:
        """Give a question: asked before, near one of these, or new; new ones go on for ever."""
        if kind == "again" and self._asked:
            # The newest are asked most: about Zipf's law over what is stored.
            return self._asked[-1 - int(len(self._asked) ** self._chance.random()) % len(self._asked)]
        if kind == "paraphrase" and self._asked:
            return (
                f"Please, {self._chance.choice(self._asked)[0].lower()}{self._chance.choice(self._asked)[1:]}"
            )
        self._number += 1
        made = " ".join(self._chance.choice(_WORDS) for _ in range(3))
        action = self._chance.choice(_ACTIONS)
        beginning = {"refused": "Refuse: how", "broken": "Break: how", "hang-up": "Slowly: how"}.get(
            kind, "How"
        )
        question = f"{beginning} do I {action} the {made} number {self._number}?"
        if kind in ("new", "stream"):
            self._asked.append(question)
        return question


SCRIPT = ByRequest(answering)
