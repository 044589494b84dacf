"""Writes safetensors files piece by piece, so that a model never lies in memory as a whole.

Format: github.com/huggingface/safetensors (8 bytes of header length, JSON header, raw bytes). The
library's own writer wants all tensors at once: 540 MB for a file that this writes with 110 MB.

Does NOT know: what the tensors are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semcache.models.errors import ModelError

_NAMES: Final[Mapping[str, str]] = {"float32": "F32", "float16": "F16"}
_ALIGNMENT: Final = 8


@dataclass(frozen=True, slots=True)
class LazyTensor:
    """A tensor that `pieces` computes, in order along the first axis, when its turn to be written comes."""

    shape: tuple[int, ...]
    pieces: Callable[[], Iterable[NDArray[np.float32]]]


def write_safetensors(
    path: Path,
    tensors: Mapping[str, LazyTensor],
    dtype: str,
    wrote: Callable[[float], None],
) -> None:
    """Write `tensors` as `dtype` (`float32` or `float16`); `wrote` hears the share done after each.

    Raises:
        ModelError: a tensor is not as large as its shape says.
    """
    itemsize = np.dtype(dtype).itemsize
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    ends = []
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + int(np.prod(tensor.shape)) * itemsize
        ends.append(end)
        header[name] = {"dtype": _NAMES[dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    written = 0
    with path.open("wb") as stream:
        stream.write(len(head).to_bytes(8, "little") + head)
        for (name, tensor), until in zip(tensors.items(), ends, strict=True):
            for piece in tensor.pieces():
                written += stream.write(np.ascontiguousarray(piece, dtype=dtype).data.cast("B"))
            if written != until:
                raise ModelError(f"tensor {name} has another size than the model's configuration says")
            wrote(written / end)
