"""Measure what a conversation costs before the decision: its place, and three candidates held against it.

    .venv/bin/python scripts/bench/chat_times.py [FILE.jsonl ...] [--json FILE]

Files as `contexts.py` takes them. Every `turns_b` is a request, and the three nearest stored chats (`turns_a`) of its kind
are its candidates. All caches of reading and comparing are emptied before each request, and no text is embedded yet but
the one that the search was made with: the worst case, where in service much is known already. CPU time is of
all threads of the process; the clock on the wall is told beside it, with the load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from contexts import wording
from rig.report import circumstances, console, headline, quantile, save
from rig.serving import ROOT

from semcache.core import (
    CachePolicy,
    ChatRequest,
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    ExactKey,
    Namespace,
    TenantId,
)
from semcache.decide.context import Judge
from semcache.decide.decision import Candidate
from semcache.decide.rereading import Remembered
from semcache.embed.open import open_encoder
from semcache.embed.router import RoutedEncoder
from semcache.errors import EncoderError
from semcache.meeting import Meeting, agreeing, meet
from semcache.parts import encoder_options
from semcache.policy.loader import load_default
from semcache.settings import Settings

_FILES = ("fow_conversations_en", "written_chats")
_DEADLINE = 10.0
_CANDIDATES = 3
_TABLES = 2
"""Caches of no more than this hold tables made once, not what was read."""
_PLACES = {kind: Namespace(TenantId("t"), kind) for kind in ("standalone", "bound", "opaque")}


@dataclass
class Fresh:
    """The encoder port with a memo that lasts for one request; counts passes."""

    inner: RoutedEncoder
    known: dict[str, Embedding] = field(default_factory=dict)
    passes: int = 0

    async def encode(self, text: str) -> Embedding:
        """Embed a text, once a request."""
        if text not in self.known:
            self.passes += 1
            self.known[text] = await self.inner.encode(text)
        return self.known[text]

    def to_reference(self, encoder: EncoderId, cosine: float) -> float | None:
        """As the encoder does."""
        return self.inner.to_reference(encoder, cosine)

    def name_of(self, encoder: EncoderId) -> str:
        """As the encoder does."""
        return self.inner.name_of(encoder)

    def generations(self) -> frozenset[EncoderId]:
        """As the encoder does."""
        return self.inner.generations()


@dataclass
class Spent:
    """Seconds of each request, and passes of the encoder."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)

    def told(self) -> dict[str, float]:
        """Give the figures, times in milliseconds."""
        return {
            f"{name}_{mark}": round(scale * quantile(values, share), 2)
            for name, scale, values in (
                ("cpu_ms", 1e3, self.cpu),
                ("wall_ms", 1e3, self.wall),
                ("passes", 1.0, self.passes),
            )
            for mark, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        }


@dataclass(frozen=True)
class Chat:
    """One chat, read."""

    request: ChatRequest
    meeting: Meeting
    embedding: Embedding


def request_of(chat: list[dict[str, str]]) -> ChatRequest:
    """Give the request of a chat."""
    system = "\n".join(turn["content"] for turn in chat if turn["role"] in ("system", "developer"))
    return ChatRequest(
        dialect="openai.chat",
        path="/v1/chat/completions",
        body={"model": "m", "messages": chat},
        model="m",
        stream=False,
        include_usage=False,
        prompt=chat[-1]["content"],
        system=system,
        user_turns=sum(turn["role"] == "user" for turn in chat),
        message_count=len(chat),
        temperature=0.0,
        end_user="",
    )


def entry_of(chat: Chat) -> Entry:
    """Give what would be stored for a chat."""
    return Entry(
        id=EntryId("e"),
        tenant=TenantId("t"),
        namespace="",
        key=ExactKey(""),
        domain="chat",
        model="m",
        prompt=chat.request.prompt or "",
        completion=Completion(b"{}", None),
        created_at=0.0,
        expires_at=1.0,
        context=chat.meeting.reading.context,
    )


def forget() -> None:
    """Empty all caches of what was read and compared."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("semcache.decide"):
            continue
        for thing in list(vars(module).values()):
            info = getattr(thing, "cache_info", None)
            if isinstance(thing, Remembered):
                thing.forget()
            elif info is not None and (info().maxsize or 0) > _TABLES:
                thing.cache_clear()


async def bound(encoder: RoutedEncoder, chats: list[list[dict[str, str]]], spent: Spent) -> list[Chat]:
    """Read chats, and give those that lean on what was said; notes what reading and placing takes."""
    found: list[Chat] = []
    for chat in chats:
        request, fresh = request_of(chat), Fresh(encoder)
        forget()
        cpu, wall = time.process_time(), time.perf_counter()
        meeting = await meet(request, _PLACES, fresh)
        spent.cpu.append(time.process_time() - cpu)
        spent.wall.append(time.perf_counter() - wall)
        spent.passes.append(fresh.passes)
        if meeting.is_bound:
            try:
                found.append(Chat(request, meeting, await encoder.encode(meeting.reading.text)))
            except EncoderError:
                continue
    return found


def nearest(asked: Chat, stored: list[Chat]) -> list[Candidate]:
    """Give the nearest stored chats that the same encoder has read."""
    near = sorted(
        ((float(asked.embedding.vector @ chat.embedding.vector), i) for i, chat in enumerate(stored) if chat.embedding.encoder == asked.embedding.encoder),
        reverse=True,
    )[:_CANDIDATES]  # fmt: skip
    return [Candidate(entry_of(stored[i]), cosine) for cosine, i in near]


async def compare(
    encoder: RoutedEncoder, asked: Chat, found: list[Candidate], policy: CachePolicy, kin: Judge, spent: Spent
) -> None:
    """Hold the candidates against one request."""
    fresh = Fresh(encoder, {asked.meeting.reading.text: asked.embedding})
    forget()
    cpu, wall = time.process_time(), time.perf_counter()
    await agreeing(asked.meeting, asked.request, policy, fresh, asked.embedding, found, kin)
    spent.cpu.append(time.process_time() - cpu)
    spent.wall.append(time.perf_counter() - wall)
    spent.passes.append(fresh.passes)


async def measure(paths: list[Path], data: Path) -> dict[str, object]:
    """Take all requests of all files; candidates come from the same file."""
    policy = load_default().by_tenant[TenantId("default")].domains["chat"]
    kin, placing, comparing, requests = wording(), Spent(), Spent(), 0
    encoder = await open_encoder(encoder_options(Settings(data=data), _DEADLINE))
    try:
        await encoder.warm()
        for path in paths:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            stored = await bound(encoder, [row["turns_a"] for row in rows], placing)
            asked = await bound(encoder, [row["turns_b"] for row in rows], placing)
            for chat in asked:
                found = nearest(chat, stored)
                if len(found) == _CANDIDATES:
                    requests += 1
                    await compare(encoder, chat, found, policy, kin, comparing)
        return {"requests": requests, "place": placing.told(), "compare": comparing.told()}
    finally:
        await encoder.aclose()


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description="What a conversation costs before the decision.")
    shared = ROOT.parent / "shared" / "data"
    parser.add_argument("files", type=Path, nargs="*", default=[shared / f"{name}.jsonl" for name in _FILES])
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    found = asyncio.run(measure([path for path in chosen.files if path.is_file()], chosen.data))
    found["load"] = [round(value, 1) for value in os.getloadavg()]
    screen.print_json(json.dumps(found))
    save(chosen.json, {"circumstances": facts, **found})


if __name__ == "__main__":
    main()
