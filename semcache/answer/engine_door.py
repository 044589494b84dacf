"""Questions to a local engine beside chat: how it is, and to compute the head of a prompt beforehand.

Speaks through the `Generator` port, on connections of its own, so that a slow warm-up takes no
place from a request and says nothing about the engine's health to those who serve.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.errors import EngineError
from semcache.ports import Generator, UpstreamCall

_JSON = ((b"content-type", b"application/json"), (b"accept-encoding", b"identity"))
_LIMIT = 1 << 20
_PATIENCE = 5.0
"""Seconds for an answer that costs the engine nothing."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """A ready engine: which process with which model, and how many requests it has (working and waiting)."""

    model: str
    fingerprint: str
    pid: int
    busy: int

    @property
    def identity(self) -> tuple[str, int]:
        """What a warm-up is for: another process or another model begins cold."""
        return self.fingerprint, self.pid


@dataclass(frozen=True, slots=True)
class Warmed:
    """What a warm-up found and did: `tokens` of the head, of them `cached` already and `computed` now."""

    tokens: int
    computed: int
    cached: int
    seconds: float


class EngineDoor:
    """Asks one engine.

    Args:
        generator: reaches it; not the one that requests use.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def state(self) -> EngineState | None:
        """Ask how it is; None while it is loading.

        Raises:
            UpstreamError: unreachable or late.
            EngineError: the answer is none of an engine.
        """
        status, told = await self._ask("GET", "/readyz", b"", _PATIENCE)
        if status == 503:
            return None
        try:
            return EngineState(
                model=str(told["model"]),
                fingerprint=str(told["fingerprint"]),
                pid=int(told["pid"]),
                busy=int(told["active"]) + int(told["queued"]),
            )
        except (KeyError, TypeError, ValueError):
            raise EngineError("what answers here is no engine") from None

    async def page(self, name: str) -> tuple[int, str, bytes]:
        """Give status, content type and body of one of the engine's pages (`metrics`, `prefix`, `prefix.html`).

        Raises:
            UpstreamError: unreachable.
            EngineError: late.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                reply = await self._generator.open(UpstreamCall("GET", f"/{name}", _JSON, b""))
                try:
                    body = b"".join([part async for part in reply.body()])
                finally:
                    await reply.aclose()
        except TimeoutError:
            raise EngineError("the engine is too busy to tell about itself") from None
        kinds = [value for header, value in reply.headers if header.lower() == b"content-type"]
        return reply.status, (kinds or [b"text/plain"])[0].decode("latin-1"), body

    async def warm(self, body: Mapping[str, Any], deadline: float) -> Warmed:
        """Have the head computed, `body` being a prepared chat body; within `deadline` seconds.

        Raises:
            UpstreamError: unreachable.
            EngineError: refused, late, or said to be done without being so.
        """
        status, told = await self._ask("POST", "/v1/prefix/warm", orjson.dumps(body), deadline)
        if status != 200:
            raise EngineError(f"the engine refused with {status}{_code(told)}")
        try:
            warmed = Warmed(
                int(told["tokens"]), int(told["computed"]), int(told["cached"]), float(told["seconds"])
            )
        except (KeyError, TypeError, ValueError):
            raise EngineError("the engine's answer is not understood") from None
        if warmed.computed + warmed.cached < 1:
            raise EngineError("the engine computed nothing")
        return warmed

    async def aclose(self) -> None:
        """Close the connections. Idempotent."""
        await self._generator.aclose()

    async def _ask(self, method: str, path: str, body: bytes, deadline: float) -> tuple[int, Any]:
        try:
            async with asyncio.timeout(deadline):
                reply = await self._generator.open(UpstreamCall(method, path, _JSON, body))
                try:
                    return reply.status, _parsed([part async for part in reply.body()])
                finally:
                    await reply.aclose()
        except TimeoutError:
            raise EngineError(f"the engine took more than {deadline:g} s") from None


def _parsed(parts: list[bytes]) -> Any:
    whole = b"".join(parts)
    try:
        return orjson.loads(whole[:_LIMIT])
    except orjson.JSONDecodeError:
        return None


def _code(told: Any) -> str:
    """Give the code of an error in the protocol's shape; never its message, which may speak of the prompt."""
    error = told.get("error") if isinstance(told, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return f" ({code})" if isinstance(code, str) and code.isidentifier() else ""
