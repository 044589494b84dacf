"""Deadlines and sizes of one upstream; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadlines in seconds, sizes in connections.

    Attributes:
        connect: For a new connection, TLS included.
        queue: For a free connection when all are in use (and for the name to resolve).
        head: From the request's last byte to the reply's whole head.
        idle: Between two parts of a body, either way.
        connections: Most connections at once.
        keep_alive: How long an unused connection is kept; shorter than the upstream keeps it.
        breaker_threshold: Failures in a row after which calls are refused.
        breaker_pause: How long they are refused before one is tried again.
        breaker_statuses: Statuses that count as failures, beside connects that fail.
        breaker_codes: Codes of `UpstreamError` that do.
        concurrent: Most calls at once, until their replies are read; None: as many as there are connections.
        waiting: Most calls that wait for one of these to end.
        patience: How long they wait.
    """

    connect: float = 5.0
    queue: float = 10.0
    head: float = 600.0
    idle: float = 120.0
    connections: int = 1000
    keep_alive: float = 30.0
    breaker_threshold: int = 5
    breaker_pause: float = 2.0
    breaker_statuses: frozenset[int] = frozenset()
    breaker_codes: frozenset[str] = frozenset()
    concurrent: int | None = None
    waiting: int = 100
    patience: float = 5.0
