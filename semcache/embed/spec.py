"""What an embedding model is: its identity, and the synchronous face that a worker thread drives.

Knows nothing of threads, deadlines, scripts or calibration.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from semcache.core import EncoderId, Vector
from semcache.errors import EncoderError

Pooling = Literal["mean", "cls", "model"]
"""How token states become one vector; `model` means that the model does it itself."""

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Everything that decides which vector a text gets.

    `weights` is the hex SHA-256 over weights and tokenizer as they lie on disk (or in memory),
    so that replaced weights under an old name are another generation. `dim` and `window` are
    counted in components and in tokens (special tokens and prefix included); `runtime` names
    engine and number format, for the same weights give other vectors in int8 than in fp32.
    """

    name: str
    weights: str
    dim: int
    window: int
    pooling: Pooling
    normalise: bool
    prefix: str
    runtime: str
    id: EncoderId = field(init=False)
    """Generation: the name, and twelve hex digits over every other field."""

    def __post_init__(self) -> None:
        told = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "id"}
        body = json.dumps(told, sort_keys=True, ensure_ascii=True).encode()
        object.__setattr__(self, "id", EncoderId(f"{self.name}@{hashlib.sha256(body).hexdigest()[:12]}"))


class TextModel(Protocol):
    """A loaded model. Not thread-safe: one thread makes it, uses it and closes it."""

    @property
    def spec(self) -> EncoderSpec:
        """Identity of what is loaded."""
        ...

    @property
    def max_batch(self) -> int:
        """How many texts one pass should hold; 1 where padding costs more than it saves."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector | EncoderError]:
        """Embed texts, one result each, in order: float32 [dim] of unit length, or why not.

        Raises whatever the runtime raises when the pass as a whole fails.
        """
        ...

    def close(self) -> None:
        """Free weights and sessions."""
        ...


def name_of(encoder: EncoderId) -> str:
    """Give the model name inside a generation, known or not."""
    return encoder.rpartition("@")[0] or encoder


def digest_files(paths: Iterable[Path]) -> str:
    """Give the hex SHA-256 over the contents of files, each preceded by its length.

    Raises:
        EncoderError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(path.stat().st_size.to_bytes(8, "big"))
            with path.open("rb") as file:
                while block := file.read(_READ_BYTES):
                    digest.update(block)
        except OSError as error:
            raise EncoderError(f"cannot read model file {path.name}: {error.strerror}") from error
    return digest.hexdigest()
