"""A deterministic Encoder: bags of hashed words, so that similar texts get close vectors."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field

import numpy as np

from semcache.core import Embedding, EncoderId, Vector
from semcache.errors import EncoderError

GENERATION = EncoderId("fake@000000000001")


@dataclass
class FakeEncoder:
    """Behaves like the real one under the contract suite; the fields are its switches.

    `fault` is raised by every `encode`; `delay` seconds pass first (beyond `deadline` it is
    late); `vectors` gives chosen vectors for chosen texts; `calibrated` False takes the table away.
    """

    dim: int = 64
    window: int = 256
    deadline: float = 5.0
    delay: float = 0.0
    fault: EncoderError | None = None
    vectors: dict[str, Vector] = field(default_factory=dict)
    calibrated: bool = True
    generation: EncoderId = GENERATION
    calls: list[str] = field(default_factory=list)

    async def encode(self, text: str) -> Embedding:
        self.calls.append(text)
        if self.delay:
            await asyncio.sleep(min(self.delay, self.deadline))
        if self.delay > self.deadline:
            raise EncoderError("late on purpose", kind="late")
        if self.fault is not None:
            raise EncoderError(str(self.fault), kind=self.fault.kind)
        return Embedding(self._vector(text), self.generation)

    def to_reference(self, encoder: EncoderId, cosine: float) -> float | None:
        if encoder != self.generation or not self.calibrated:
            return None
        return min(1.0, max(-1.0, cosine))

    def name_of(self, encoder: EncoderId) -> str:
        return encoder.rpartition("@")[0] or encoder

    def generations(self) -> frozenset[EncoderId]:
        return frozenset({self.generation})

    def _vector(self, text: str) -> Vector:
        if text in self.vectors:
            chosen = np.asarray(self.vectors[text], dtype=np.float32)
            return chosen / np.linalg.norm(chosen)
        if not text.strip():
            raise EncoderError("the text is empty", kind="empty")
        try:
            words = text.lower().encode().split()
        except UnicodeEncodeError as error:
            raise EncoderError("the text holds lone surrogates", kind="unknown_script") from error
        if len(words) > self.window:
            raise EncoderError(f"{len(words)} words", kind="too_long")
        total = np.sum([self._word(word.strip(b".,;:?!")) for word in words], axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _word(self, word: bytes) -> Vector:
        seed = int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
