"""Sends one request of a batch until it is answered: what is worth another try, and when to stop the whole batch.

The reply is kept as OpenAI's batch output has it: `{"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error"}`.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.batching.lines import Item, Request
from semcache.core import Usage
from semcache.dialects.dialect import Dialect
from semcache.dialects.usage import read_any
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.ports import Generator, UpstreamCall
from semcache.routing.credentials import key_pair

LONGEST = 64 << 20
_AGAIN = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
_VERSION = (b"anthropic-version", b"2023-06-01")
_REQUEST_IDS = (b"x-request-id", b"request-id")


class StoppedError(SemcacheError):
    """Nothing more can be answered: a key is refused, a budget used up, the server is gone."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is tried, and the seconds between (doubled each time, up to `longest`)."""

    tries: int = 5
    pause: float = 0.5
    longest: float = 30.0
    deadline: float = 600.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: `line` for the output, and whether that is final (else the next run tries again)."""

    line: Mapping[str, Any]
    is_final: bool
    is_good: bool
    usage: Usage | None = None
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends requests.

    Args:
        generator: the server.
        key: of the server, or "".
        headers: more headers, such as labels.
    """

    generator: Generator
    key: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    patience: Patience = Patience()

    async def send(self, item: Item, request: Request) -> Answer:
        """Send until there is an answer that trying again would not change, or patience ends.

        Raises:
            StoppedError: no other request of the batch would fare better.
        """
        pause, last = self.patience.pause, Answer({}, is_final=False, is_good=False)
        for attempt in range(self.patience.tries):
            if attempt:
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - spreads retries, no secret
                pause = min(pause * 2, self.patience.longest)
            answer, wait = await self._once(item, request)
            if answer.is_final:
                return answer
            last, pause = answer, max(pause, wait)
        return last

    async def _once(self, item: Item, request: Request) -> tuple[Answer, float]:
        """Try once; gives the answer and how many seconds the server asks to wait."""
        pairs = [(b"content-type", b"application/json"), (b"accept-encoding", b"identity"), *self.headers]
        if request.dialect.family == "anthropic":
            pairs.append(_VERSION)
        if self.key:
            pairs.append(key_pair(request.dialect.family, self.key))
        call = UpstreamCall("POST", request.path, tuple(pairs), orjson.dumps(request.body))
        try:
            async with asyncio.timeout(self.patience.deadline):
                return await self._reply(item, request.dialect, call)
        except TimeoutError:
            return failed(item, "timeout", f"no answer within {self.patience.deadline:g} seconds"), 0.0
        except (UpstreamError, RequestError) as error:
            return failed(item, error.code or "unreachable", str(error)), 0.0

    async def _reply(self, item: Item, dialect: Dialect, call: UpstreamCall) -> tuple[Answer, float]:
        reply = await self.generator.open(call)
        try:
            head = {name.lower(): value for name, value in reply.headers}
            parts, size = list[bytes](), 0
            async for chunk in reply.body():
                size += len(chunk)
                if size > LONGEST:
                    return failed(
                        item, "too_large", f"the answer is longer than {LONGEST} bytes", final=True
                    ), 0.0
                parts.append(chunk)
        finally:
            await reply.aclose()
        return _answer(item, dialect, reply.status, head, b"".join(parts)), _wait(head)


def failed(item: Item, code: str, message: str, *, final: bool = False) -> Answer:
    """Give the answer of a request that has none."""
    return Answer(line_of(item.custom_id, item.line, None, code, message), is_final=final, is_good=False)


def line_of(
    custom_id: str, line: int, response: Mapping[str, Any] | None, code: str = "", message: str = ""
) -> dict[str, Any]:
    """Give a line of the output."""
    error = {"code": code, "message": message, "line": line} if code else None
    return {"id": f"batch_req_{line}", "custom_id": custom_id, "response": response, "error": error}


def _answer(item: Item, dialect: Dialect, status: int, head: Mapping[bytes, bytes], raw: bytes) -> Answer:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return failed(item, "invalid_answer", f"status {status}, and no JSON")
    if status >= 400:
        _stop_if_hopeless(dialect, status, head, raw)
    request_id = next((head[name].decode("latin-1") for name in _REQUEST_IDS if name in head), "")
    response = {"status_code": status, "request_id": request_id, "body": body}
    return Answer(
        line=line_of(item.custom_id, item.line, response),
        is_final=status not in _AGAIN or head.get(b"x-should-retry") == b"false",
        is_good=status == 200,
        usage=_usage(body) if isinstance(body, dict) else None,
        outcome=head.get(b"semcache-outcome", b"").decode("latin-1"),
    )


def _usage(body: Mapping[str, Any]) -> Usage | None:
    """Read what was used, wherever a dialect tells it."""
    return read_any(body.get("usage") or body.get("usageMetadata") or dict(body))


def _stop_if_hopeless(dialect: Dialect, status: int, head: Mapping[bytes, bytes], raw: bytes) -> None:
    """Stop where the next request would be told the same.

    Raises:
        StoppedError: the key is refused, or the budget is used up.
    """
    said = dialect.read_error(status, raw)
    message = said.message[:300]
    if status in (401, 403):
        raise StoppedError(f"the server refuses the key ({status}): {message}; name one by --key env:NAME")
    # Not every API has a word for it in its errors.
    is_budget = "insufficient_quota" in (said.code, said.type) or b"semcache-budget-reset" in head
    if status in (402, 429) and is_budget:
        raise StoppedError(f"the budget is used up: {message}; run the same command again once it is renewed")


def _wait(head: Mapping[bytes, bytes]) -> float:
    try:
        seconds = float(head.get(b"retry-after", b"0"))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), 60.0) if math.isfinite(seconds) else 0.0
