"""What a cached request costs beside its forward pass: HTTP, template, tokens, matching, sampling, replies."""

from __future__ import annotations

import struct
from pathlib import Path

from engine_rig.first_token import NEW
from engine_rig.prompts import Prompts
from engine_rig.rows import Goal, Row, ask
from engine_rig.servers import Server

LAUNCHER = Path(__file__).with_name("metered_engine.py")
_GOAL = Goal(5, 3, less=True)


def outside(server: Server, meter: Path, prompts: Prompts, rounds: int, prefix: int = 1000) -> list[Row]:
    """Share of the server's CPU time outside `forward`, of requests with 1,000 cached and 11 new tokens."""
    system = prompts.system(prefix)
    for _ in range(3):
        ask(server, prompts.ask(system, prompts.question(NEW - prompts.closing)), 1)
    rows = [
        Row("outside the forward pass", server.name, "% of cached TTFT", goal=_GOAL),
        Row("outside the forward pass", server.name, "cpu-ms"),
        Row("inside the forward pass", server.name, "cpu-ms"),
    ]
    for _ in range(rounds):
        inside, passes = _read(meter)
        before = server.cpu()
        for _ in range(5):
            ask(server, prompts.ask(system, prompts.question(NEW - prompts.closing)), 1)
        spent = server.cpu() - before
        inside, passes = (
            after - earlier for after, earlier in zip(_read(meter), (inside, passes), strict=True)
        )
        if passes != 5:
            rows[2].note(f"{passes / 5:g} passes a request")
        for row, value in zip(rows, (100 * (1 - inside / spent), spent - inside, inside), strict=True):
            row.samples.append(value if row is rows[0] else 1000 * value / 5)
    return rows


def _read(meter: Path) -> tuple[float, float]:
    seconds, passes = struct.unpack("dd", meter.read_bytes())
    return seconds, passes
