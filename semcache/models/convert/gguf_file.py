"""Reads the header of a GGUF file and its tensors as float32.

The format is public: github.com/ggml-org/ggml, docs/gguf.md (version 3). The `gguf` package has a
reader too, but it builds an array object for each of the 150,000 strings of a vocabulary (5 s);
this one takes a tenth of a second. Block formats are decoded by that package (`gguf.quants`).

Does NOT know: what the keys and tensors mean.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
from numpy.typing import NDArray

from semcache.models.errors import ModelError

GgufValue = bool | int | float | str | list[Any]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING: Final = 8
_ARRAY: Final = 9
_SCALARS: Final[Mapping[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_MAX_RANK: Final = 4
_DEFAULT_ALIGNMENT: Final = 32


@dataclass(frozen=True, slots=True)
class _TensorInfo:
    """Where a tensor lies; `shape` in numpy order (slowest axis first)."""

    shape: tuple[int, ...]
    kind: int
    offset: int


class _Cursor:
    """Reads little-endian values one after the other; never beyond the end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.position = 0

    def take(self, size: int) -> memoryview:
        """Give the next `size` bytes."""
        end = self.position + size
        if end > len(self._data):
            raise ModelError("the GGUF file is cut short or damaged; fetch it again")
        chunk = self._data[self.position : end]
        self.position = end
        return chunk

    def number(self, code: str) -> Any:
        """Give one scalar of a struct code."""
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def string(self) -> str:
        """Give one string: uint64 length, then UTF-8."""
        return str(self.take(self.number("Q")), "utf-8", "replace")

    def value(self, kind: int) -> GgufValue:
        """Give one metadata value of a GGUF type number."""
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            raise ModelError(f"the GGUF file holds an unknown value type ({kind})")
        scalar: GgufValue = self.number(_SCALARS[kind])
        return scalar

    def _array(self) -> list[Any]:
        kind, count = self.number("I"), self.number("Q")
        if kind == _STRING:
            return [self.string() for _ in range(count)]
        if kind not in _SCALARS:
            raise ModelError(f"the GGUF file holds an array of an unsupported type ({kind})")
        code = f"<{count}{_SCALARS[kind]}"
        size = count * struct.calcsize(f"<{_SCALARS[kind]}")
        return list(struct.unpack(code, self.take(size)))


class GgufFile:
    """An open GGUF file: `fields` by key, tensors by name."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            if not path.stat().st_size:
                raise ModelError("the GGUF file is empty; fetch it again")
            self._data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        cursor = _Cursor(self._data)
        if bytes(cursor.take(4)) != _MAGIC or cursor.number("I") not in _VERSIONS:
            raise ModelError("not a GGUF file of version 2 or 3")
        tensors, fields = cursor.number("Q"), cursor.number("Q")
        self.fields: dict[str, GgufValue] = {}
        for _ in range(fields):
            key = cursor.string()
            self.fields[key] = cursor.value(cursor.number("I"))
        self._tensors = dict(_read_info(cursor) for _ in range(tensors))
        alignment = self.fields.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ModelError("the GGUF file is damaged (alignment)")
        self._base = -(-cursor.position // alignment) * alignment

    def field(self, key: str) -> Any:
        """Give a metadata value.

        Raises:
            ModelError: the file has no such key.
        """
        if key not in self.fields:
            raise ModelError(f"the GGUF file has no {key}")
        return self.fields[key]

    @property
    def names(self) -> tuple[str, ...]:
        """Tensor names in the order of the file."""
        return tuple(self._tensors)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Give a tensor as float32 in numpy order.

        Raises:
            ModelError: no such tensor, an unknown block format, or a damaged file.
        """
        info = self._tensors.get(name)
        if info is None:
            raise ModelError(f"the GGUF file has no tensor {name}")
        try:
            kind = gguf.GGMLQuantizationType(info.kind)
        except ValueError:
            raise ModelError(f"the GGUF file holds an unknown block format ({info.kind})") from None
        block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        rows, width = math.prod(info.shape[:-1]), info.shape[-1] // block * block_bytes
        start = self._base + info.offset
        if start + rows * width > len(self._data):
            raise ModelError("the GGUF file is cut short or damaged; fetch it again")
        raw = np.frombuffer(self._data, np.uint8, rows * width, start).reshape(*info.shape[:-1], width)
        values = gguf.quants.dequantize(raw, kind)
        return np.ascontiguousarray(values, dtype=np.float32).reshape(info.shape)


def _read_info(cursor: _Cursor) -> tuple[str, _TensorInfo]:
    name = cursor.string()
    rank = cursor.number("I")
    if not 1 <= rank <= _MAX_RANK:
        raise ModelError("the GGUF file is damaged (tensor rank)")
    shape = tuple(cursor.number("Q") for _ in range(rank))[::-1]
    return name, _TensorInfo(shape, kind=cursor.number("I"), offset=cursor.number("Q"))
