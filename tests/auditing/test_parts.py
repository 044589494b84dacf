"""The parts of an auditor: asking, books, how alike answers are, and two workers on one real store."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from semcache.asking.calls import Failed, ask, text_of, unstreamed
from semcache.asking.likeness import similar_by
from semcache.asking.pace import Pace
from semcache.auditing.auditor import Auditing
from semcache.auditing.books import Books
from semcache.auditing.hits import would_be
from semcache.auditing.judge import verdict_of
from semcache.auditing_parts import auditing_of
from semcache.core import Bypass, Completion, Draft, Embedding, EntryId, Hit, Miss, TenantId
from semcache.errors import EncoderError, UpstreamError
from semcache.evidence_port import ServedHit, Spending
from semcache.journey import Backend
from semcache.ports import UpstreamCall
from semcache.process import SystemClock
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from tests.auditing.scene import ACME, Heard, Scene, answered
from tests.fakes.encoder import FakeEncoder
from tests.fakes.evidence import FakeEvidence, FakeServedHits
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.store.servers import valkey

__all__ = ["valkey"]

CALL = UpstreamCall("POST", "/v1/chat/completions", (), b"{}")


def body_of(message: dict[str, Any]) -> Completion:
    return Completion(json.dumps({"choices": [{"message": message}]}).encode(), None)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "hello"}, "hello"),
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]}, "a\nb"),
        ({"tool_calls": [{"function": {"name": "f", "arguments": '{"x": 1}'}}]}, '{"f": {"x": 1}}'),
        ({"tool_calls": [{"function": {"name": "f", "arguments": ""}}, 5]}, '{"f": {}}'),
        ({}, ""),
    ],
)
def test_what_an_answer_says(message: dict[str, Any], text: str) -> None:
    assert text_of(body_of(message)) == text


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"choices": null}', b'{"choices": [5, {"message": []}]}'])
def test_what_is_no_answer_says_nothing(body: bytes) -> None:
    assert text_of(Completion(body, None)) == ""


async def test_coded_answers_are_read() -> None:
    packed = gzip.compress(answered("hello").body)
    headers = ((b"content-encoding", b"gzip"), (b"content-type", b"application/json"))
    upstream = FakeGenerator(lambda _: FakeReply(headers=headers, parts=[packed]))
    found = await ask(Backend(upstream, "up"), CALL, 1.0)
    assert isinstance(found, Completion)
    assert text_of(found) == "hello"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (UpstreamError("x", code="upstream_unreachable"), "upstream_unreachable"),
        (FakeReply(status=429), "status-429"),
        (FakeReply(parts=[30.0]), "late"),
        (FakeReply(parts=[b"x" * (5 << 20)]), "too_large"),
        (FakeReply(parts=[b"{}"]), "shape"),
    ],
)
async def test_why_there_is_no_answer(reply: Any, reason: str) -> None:
    found = await ask(Backend(FakeGenerator(lambda _: reply), "up"), CALL, 0.1)
    assert found == Failed(reason)


async def test_the_request_itself_is_left_as_it_is() -> None:
    asked = Scene().step(stream=True, seed=3).asked
    other = unstreamed(asked, 0.7)
    assert other.request.body["temperature"] == 0.7
    assert asked.request.body["stream"] is True
    assert other.request.keys is not asked.request.keys


@pytest.mark.parametrize(
    "text", ["", "{", "{}", '{"same": 1}', "```json\n{}\n```", '{"same": [], "confidence": 1}']
)
def test_no_verdict(text: str) -> None:
    assert verdict_of(text) == (None, 0.0)


def test_a_verdict_in_a_fence() -> None:
    assert verdict_of('```json\n{"same": false, "confidence": 0.75, "difference": "year"}\n```') == (
        False,
        0.75,
    )


async def test_how_alike_answers_are() -> None:
    encoder = FakeEncoder()
    similar = similar_by(encoder, Pace(), SystemClock())
    assert await similar("the same words", "the same words") == pytest.approx(1.0, abs=1e-5)
    rarely = similar_by(encoder, Pace(rate=0.0, burst=1.0), SystemClock())
    assert await rarely("one", "one") is not None
    assert await rarely("one", "one") is None
    encoder.fault = EncoderError("no", kind="busy")
    assert await similar("a", "b") is None


async def test_of_long_answers_the_beginnings_are_compared() -> None:
    class Short(FakeEncoder):
        async def encode(self, text: str) -> Embedding:
            if len(text) > 500:
                raise EncoderError("long", kind="too_long")
            return await super().encode(text)

    similar = similar_by(Short(), Pace(), SystemClock())
    assert await similar("word " * 300, "word " * 200) == pytest.approx(1.0, abs=1e-5)


async def test_books_are_bounded_and_keep_what_could_not_be_written() -> None:
    evidence, hits = FakeEvidence(), FakeServedHits()
    books = Books(evidence, hits)
    for n in range(700):
        books.serve(ACME, ServedHit(f"r{n}", EntryId("e"), "chat", "", exact=True, bin=None, at=n))
    books.count(ACME, "chat", "exact", 3)
    books.count(ACME, "chat", "money", 0)
    books.see(ACME, "chat", 5, 1)
    evidence.away = True
    assert not await books.flush(1.0)
    books.count(ACME, "chat", "exact")
    evidence.away = False
    assert await books.flush(time.time())
    assert await evidence.tallies(ACME, "chat", 0) == {"exact": 4}
    assert [cell.n for cell in await evidence.counts(ACME, "chat")] == [1.0]
    assert len(hits.hits[ACME]) == 500
    assert await hits.by_request(ACME, "r699") is not None
    assert books.places() == ()
    for n in range(11_000):
        books.count(TenantId(f"t{n}"), "chat", "exact")
    assert len(books.places()) == 10_000


def test_what_would_have_been_a_hit() -> None:
    hit = Scene().hit()
    assert would_be(hit) is hit
    kept_back = Draft(hit.entry, 0.95, ("risk",), 0.97)
    assert would_be(kept_back) == Hit(hit.entry, exact=False, similarity=0.95, score=0.97, shadow=True)
    for other in (
        Draft(hit.entry, 0.95, ("numbers",), 0.97),
        Draft(hit.entry, 0.95),
        Draft(hit.entry, 0.95, ("risk", "numbers"), 0.97),
        Miss("empty"),
        Bypass("off"),
    ):
        assert would_be(other) is None


@pytest.fixture
async def shelves(valkey: ValkeyChild) -> AsyncIterator[EvidenceShelves]:
    made = EvidenceShelves(valkey.url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    yield made
    await made.aclose()


async def test_two_workers_share_evidence_and_caps(shelves: EvidenceShelves) -> None:
    scenes = [Scene(answers=["It is 7 km."]) for _ in range(2)]
    heard = [Heard(), Heard()]
    workers: list[Auditing] = [
        auditing_of(
            shelves,
            {"up": scene.backend},
            FakeEncoder(),
            lambda _: 1.0,
            scene.clock,
            scene._spawn,
            told,
        )
        for scene, told in zip(scenes, heard, strict=True)
    ]
    policy = scenes[0].with_audit(max_calls=5)
    for n in range(6):
        for turn, (scene, worker) in enumerate(zip(scenes, workers, strict=True)):
            worker.on_served(scene.step(policy=policy), scene.hit(), f"r{turn}-{n}")
    await asyncio.gather(*(scene.settled() for scene in scenes))
    await asyncio.gather(*(worker.flush() for worker in workers))
    assert sum(len(scene.upstream.calls) for scene in scenes) == 5
    assert (await shelves.budget.spent(ACME, scenes[0].clock.at)) == Spending(0, 5)
    words = await shelves.labels.tallies(ACME, "chat", 0)
    assert (words["semantic"], words["audit-right"], words["dropped-cap"]) == (12, 5, 7)
    cells = {cell.source: cell.n for cell in await shelves.labels.counts(ACME, "chat")}
    assert cells == {"audit": 5.0, "seen": 12.0}
    assert await shelves.hits.by_request(ACME, "r1-5") is not None
    assert sum(told.drops["cap"] for told in heard) == 7
