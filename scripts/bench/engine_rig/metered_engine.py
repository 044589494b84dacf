"""Runs `semcache engine` with a meter around its forward pass.

    python metered_engine.py METER-FILE --model FOLDER --port 0 ...

The file holds two float64: CPU seconds of the calling thread inside forward passes so far, and their number.
One thread computes, so this is all that a pass costs; the meter itself takes two microseconds a pass.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

from semcache.cli.main import main
from semcache.engine.model.llama import LlamaNetwork

SIZE = 16


def meter(path: Path) -> None:
    """Wrap the forward pass of the network."""
    path.write_bytes(bytes(SIZE))
    with path.open("r+b") as file:
        shown = mmap.mmap(file.fileno(), SIZE)
    inner = LlamaNetwork.forward
    seconds, passes = 0.0, 0

    def forward(self: LlamaNetwork, *given: object, **named: object) -> object:
        nonlocal seconds, passes
        began = time.thread_time()
        try:
            return inner(self, *given, **named)
        finally:
            seconds += time.thread_time() - began
            passes += 1
            shown[:] = struct.pack("dd", seconds, passes)

    LlamaNetwork.forward = forward


if __name__ == "__main__":
    meter(Path(sys.argv[1]))
    sys.argv = ["semcache", "engine", *sys.argv[2:]]
    main()
