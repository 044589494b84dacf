"""The one door to pymilvus: calls on a few threads of their own, each with a deadline, and faults by their names.

A server that is away is asked by nobody for a moment, so that no request waits for it again and again. Knows
collections and calls; nothing of entries or namespaces.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from semcache.errors import VectorIndexError

T = TypeVar("T")

_LONGEST_REST = 5.0
_FIRST_REST = 0.25
_PATIENCE = 10.0
"""Seconds for what no request waits for: connecting, making a collection, comparing."""
_ROUND = 0.1
"""Seconds beyond a call's own deadline after which its thread is not waited for any more."""


@dataclass(frozen=True, slots=True)
class MilvusRules:
    """Where it is, how long a request's call may take (seconds), and how many calls run or wait."""

    url: str
    token: str = ""
    deadline: float = 0.25
    threads: int = 4
    waiting: int = 64


class MilvusLink:
    """Calls a Milvus, or milvus-lite in a file; connects with the first call."""

    def __init__(self, rules: MilvusRules, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rules = rules
        self._monotonic = monotonic
        self._threads = ThreadPoolExecutor(rules.threads, "semcache-milvus")
        self._places = asyncio.Semaphore(rules.threads)
        self._inside = 0
        self._client: Any = None
        self._connecting = threading.Lock()
        self._rest_until = float("-inf")
        self._failures = 0
        self._closed = False

    async def call(self, work: Callable[[Any, float], T], *, patient: bool = False) -> T:
        """Do `work`, given the client and a timeout in seconds, on a thread.

        Args:
            work: blocking; passes its timeout on to every call.
            patient: no request waits for it.

        Raises:
            VectorIndexError: `closed`, `busy` (as many wait as may), `down`, `late`, or `error` (it refused).
        """
        if self._closed:
            raise VectorIndexError("the index is closed", kind="closed")
        if self._monotonic() < self._rest_until:
            raise VectorIndexError("Milvus was away a moment ago", kind="down")
        if self._inside >= self._rules.threads + self._rules.waiting:
            raise VectorIndexError("too many wait for Milvus", kind="busy")
        deadline = _PATIENCE if patient else self._rules.deadline
        self._inside += 1
        try:
            async with asyncio.timeout(deadline + _ROUND):
                return self._well(await self._on_thread(work, deadline))
        except TimeoutError as error:
            raise self._ill("late") from error
        except VectorIndexError as error:
            if error.kind in ("down", "late"):
                self._ill(error.kind)
            raise
        finally:
            self._inside -= 1

    async def _on_thread(self, work: Callable[[Any, float], T], deadline: float) -> T:
        await self._places.acquire()
        running = asyncio.get_running_loop().run_in_executor(self._threads, self._guarded, work, deadline)
        # A thread that hangs keeps its place: there are never more calls than threads.
        running.add_done_callback(self._over)
        return await asyncio.shield(running)

    def _over(self, done: asyncio.Future[Any]) -> None:
        self._places.release()
        _ignored(done)

    def _guarded(self, work: Callable[[Any, float], T], deadline: float) -> T:
        try:
            with self._connecting:
                if self._client is None:
                    self._client = _connected(self._rules, _PATIENCE)
            return work(self._client, deadline)
        except Exception as error:
            raise _named(error) from error

    def _well(self, found: T) -> T:
        self._failures = 0
        return found

    def _ill(self, kind: str) -> VectorIndexError:
        self._failures += 1
        rest = min(_LONGEST_REST, _FIRST_REST * 2.0 ** min(self._failures, 10))
        self._rest_until = self._monotonic() + rest
        return VectorIndexError("Milvus was late" if kind == "late" else "Milvus is away", kind=kind)

    async def aclose(self) -> None:
        """Close the connection once the running calls are over, a moment at most. Idempotent."""
        if self._closed:
            return
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            closing = asyncio.get_running_loop().run_in_executor(self._threads, client.close)
            closing.add_done_callback(_ignored)
            await asyncio.wait([closing], timeout=1.0)
        self._threads.shutdown(wait=False)


def _ignored(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()  # asyncio complains of errors that nobody looks at


def _connected(rules: MilvusRules, timeout: float) -> Any:
    try:
        # Only here: it takes a second or two, and most installations do without.
        from pymilvus import MilvusClient  # noqa: PLC0415 - see above
    except ImportError as error:
        raise VectorIndexError(
            "index.backend is milvus: pip install semcache-proxy[milvus]", kind="config"
        ) from error
    # It would write whole calls into the log, with every fault.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return MilvusClient(uri=rules.url, token=rules.token, timeout=timeout, dedicated=True)


_LATE = re.compile(r"deadline|timeout|timed out", re.IGNORECASE)
_DOWN = re.compile(r"unavailable|connect|channel|closed|refused|unreachable|not ready", re.IGNORECASE)


def _named(error: Exception) -> VectorIndexError:
    """Name a fault. What Milvus said is not repeated: it may hold what was asked."""
    if isinstance(error, VectorIndexError):
        return error
    words = f"{type(error).__name__} {error}"
    if _LATE.search(words):
        return VectorIndexError("Milvus was late", kind="late")
    if isinstance(error, OSError) or _DOWN.search(words):
        return VectorIndexError("Milvus is away", kind="down")
    code = getattr(error, "code", "")
    return VectorIndexError(f"Milvus refused: {type(error).__name__} {code}", kind="error")
