"""A TextModel for tests of threads and deadlines: made of switches, computes nothing."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from semcache.core import Vector
from semcache.embed.spec import EncoderSpec
from semcache.embed.vectors import unit
from semcache.errors import EncoderError

SPEC = EncoderSpec("fake", "0" * 64, 16, 64, "mean", True, "", "fake-cpu")


def fake_vector(text: str, dim: int = 16) -> Vector:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    return unit(np.random.default_rng(seed).standard_normal(dim).astype(np.float32))


@dataclass
class FakeModel:
    """`batches` records what came; `gate` (when cleared) holds every pass; `fault` is raised by it."""

    max_batch: int = 1
    seconds: float = 0.0
    fault: BaseException | None = None
    refusals: dict[str, EncoderError] = field(default_factory=dict)
    vectors: dict[str, Vector] = field(default_factory=dict)
    spec: EncoderSpec = SPEC
    batches: list[list[str]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    closed: bool = False

    def __post_init__(self) -> None:
        self.gate.set()

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def named(self, name: str) -> FakeModel:
        self.spec = replace(self.spec, name=name)
        return self

    def embed(self, texts: Sequence[str]) -> list[Vector | EncoderError]:
        self.batches.append(list(texts))
        self.threads.add(threading.get_ident())
        self.begun.set()
        self.gate.wait(20)
        if self.seconds:
            time.sleep(self.seconds)
        if self.fault is not None:
            raise self.fault
        return [self.refusals.get(text, self.vectors.get(text, fake_vector(text))) for text in texts]

    def close(self) -> None:
        self.closed = True
