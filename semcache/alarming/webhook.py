"""Alarms told to a chat room or a duty officer: one JSON POST each, in order, again until it is taken.

Bounded in everything: what waits, how often and for how long it is tried. Redirects are not followed. The address is
a secret of its own and is in no log line. Knows HTTP only through a port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.cost_port import CostAlarm


@dataclass(frozen=True, slots=True)
class Address:
    """Where to post: `path` and `query` behind the generator's base; `secret` signs, b"" for no signature."""

    path: str
    query: bytes = b""
    secret: bytes = b""


class Webhook:
    """Posts alarms.

    Args:
        generator: reaches the host.
        address: where there.
        clock: for times.
        told: hears how each post ended: `delivered`, `refused`, `late` or `dropped`.
    """

    def post(self, alarms: Sequence[CostAlarm]) -> None:
        """Take alarms to be told; what was taken before is not told again. Never waits."""

    async def run(self) -> None:
        """Tell them, for as long as the worker lives."""
