"""Classifiers in the making: stricter only once they know, and never in the way of requests."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, TenantId
from semcache.errors import EncoderError
from semcache.policy import classifiers as module
from semcache.policy.classifiers import Assigned, Classifiers
from semcache.policy.loader import load_default

ME = TenantId("default")
FIRST, SECOND = EncoderId("first"), EncoderId("second")


class TwoEncoders:
    """ASCII goes to the first encoder, the rest to the second, which is loaded later."""

    def __init__(self) -> None:
        self.second_ready = False
        self.words: dict[str, int] = {}

    async def encode(self, text: str) -> Embedding:
        if not text.isascii() and not self.second_ready:
            raise EncoderError("still loading", kind="loading")
        vector = np.zeros(4096, np.float32)
        for word in text.lower().strip("?").split():
            vector[self.words.setdefault(word, len(self.words) % 4096)] += 1
        vector /= np.linalg.norm(vector)
        return Embedding(vector, FIRST if text.isascii() else SECOND)


async def test_an_encoder_speaks_once_its_exemplars_are_in() -> None:
    encoder, snapshot = TwoEncoders(), load_default()
    tasks: list[asyncio.Task[None]] = []
    classifiers = Classifiers(encoder, lambda work: tasks.append(asyncio.create_task(work)) or tasks[-1])  # type: ignore[arg-type]
    english = await encoder.encode("tell me something nice")
    assert classifiers.domain_of(snapshot, ME, english) is None
    await classifiers.prepare(snapshot, 5.0)
    assert isinstance(classifiers.domain_of(snapshot, ME, english), Assigned)
    chinese = Embedding(english.vector, SECOND)
    assert classifiers.domain_of(snapshot, ME, chinese) is None
    assert not classifiers.is_complete(snapshot)
    encoder.second_ready = True
    async with asyncio.timeout(5):
        await asyncio.gather(*tasks)
    assert classifiers.is_complete(snapshot)
    assert isinstance(classifiers.domain_of(snapshot, ME, chinese), Assigned)


async def test_an_exemplar_is_of_its_own_domain() -> None:
    encoder, snapshot = TwoEncoders(), load_default()
    encoder.second_ready = True
    classifiers = Classifiers(encoder, asyncio.create_task)  # type: ignore[arg-type]
    await classifiers.prepare(snapshot, 5.0)
    text = next(text for text in snapshot.exemplars(ME)["medical"] if text.isascii())
    assert classifiers.domain_of(snapshot, ME, await encoder.encode(text)) is not None


async def test_preparing_gives_up_waiting_but_goes_on() -> None:
    class Stuck(TwoEncoders):
        async def encode(self, text: str) -> Embedding:
            await asyncio.sleep(60)
            return await super().encode(text)

    tasks: list[asyncio.Task[None]] = []
    classifiers = Classifiers(Stuck(), lambda work: tasks.append(asyncio.create_task(work)) or tasks[-1])  # type: ignore[arg-type]
    await classifiers.prepare(load_default(), 0.01)
    assert not tasks[0].done()
    tasks[0].cancel()


async def test_exemplars_wake_no_sleeping_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    encoder, snapshot = TwoEncoders(), load_default()
    encoder.second_ready = True
    awake, asked, tasks = {"second": False}, [], []
    inner = encoder.encode

    async def counting(text: str) -> Embedding:
        asked.append(text)
        return await inner(text)

    encoder.encode = counting  # type: ignore[method-assign]

    def spawn(work: object) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(work))  # type: ignore[arg-type]
        return tasks[-1]

    classifiers = Classifiers(encoder, spawn, lambda text: text.isascii() or awake["second"])  # type: ignore[arg-type]
    await classifiers.prepare(snapshot, 5.0)
    await asyncio.sleep(0.05)
    assert all(text.isascii() for text in asked)
    assert classifiers.is_complete(snapshot)
    awake["second"] = True
    assert not classifiers.is_complete(snapshot)
    async with asyncio.timeout(5):
        await tasks[0]
    assert not all(text.isascii() for text in asked)
    assert classifiers.is_complete(snapshot)
