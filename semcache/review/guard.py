"""What stands before the admin API: who asks, for which host, how large and how long. Raw ASGI.

Bodies are read here, bounded in bytes and seconds, after the token was found good: no stranger makes this process hold
anything. Knows no resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from traceback import extract_tb
from typing import Any

import structlog
from starlette.datastructures import Headers
from starlette.responses import Response

from semcache.review.access import Reviewer, Tokens, Tries
from semcache.review.refusals import defect, problem, too_often, unknown_caller

_log = structlog.get_logger()

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

API = "/v1/"
OPEN = frozenset(("/v1/openapi.json",))
"""Paths under the API that say nothing about anybody."""
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_HEAD: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


@dataclass(frozen=True, slots=True)
class GuardRules:
    """Bounds.

    Attributes:
        body: bytes of a body.
        patience: seconds for a body to arrive.
        deadline: seconds until an answer begins.
        hosts: what the Host header may name, without port; empty: anything.
    """

    body: int = 8 << 20
    patience: float = 15.0
    deadline: float = 30.0
    hosts: frozenset[str] = frozenset()


class Guard:
    """An ASGI application around another one.

    Args:
        inner: what is guarded.
        tokens: who is who.
        tries: how often an address may fail.
        rules: bounds.
    """

    def __init__(self, inner: Asgi, tokens: Tokens, tries: Tries, rules: GuardRules) -> None:
        self._inner = inner
        self._tokens = tokens
        self._tries = tries
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through what may pass."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            answer = problem(421, "misdirected", "This host name is not served here (admin.public_host).")
            await answer(scope, receive, send)
        elif scope["path"].startswith(API):
            await self._api(scope, headers, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        """Compare names, since a page of any name can be made to lead to this machine (DNS rebinding)."""
        if not self._rules.hosts:
            return True
        name = host[: host.rfind("]") + 1] if host.startswith("[") else host.partition(":")[0]
        return name.lower() in self._rules.hosts

    async def _api(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        told = _Told(send, is_head=scope["method"] == "HEAD")
        found = None if scope["path"] in OPEN else self._who(scope, headers)
        if isinstance(found, Response):
            await found(scope, receive, told)
            return
        scope.setdefault("state", {})["reviewer"] = found
        if scope["method"] == "HEAD":
            scope["method"] = "GET"
        try:
            body = await self._body(scope, headers, receive)
            if isinstance(body, Response):
                await body(scope, receive, told)
                return
            await self._answered(scope, _replayed(body, receive), told)
        except Exception as error:  # noqa: BLE001 - the boundary: nobody outside sees what went wrong inside
            # Where, not what: messages and locals of a defect may hold what reviewers read.
            at = [f"{frame.filename}:{frame.lineno}" for frame in extract_tb(error.__traceback__)[-5:]]
            _log.error("an admin request failed", error=type(error).__name__, at=at)
            if told.ended:
                return  # the framework has told of it already
            if told.begun:
                raise ConnectionAbortedError("an answer broke off") from None
            await defect()(scope, receive, told)

    async def _answered(self, scope: Scope, receive: Receive, told: _Told) -> None:
        serving = asyncio.ensure_future(self._inner(scope, receive, told))
        begun = asyncio.ensure_future(told.beginning.wait())
        try:
            await asyncio.wait(
                (serving, begun), timeout=self._rules.deadline, return_when=asyncio.FIRST_COMPLETED
            )
            if not serving.done() and not told.begun:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
                await problem(503, "late", "This took too long.", {"retry-after": "5"})(scope, receive, told)
                return
            await serving
        finally:
            begun.cancel()
            serving.cancel()

    def _who(self, scope: Scope, headers: Headers) -> Reviewer | Response:
        address = scope["client"][0] if scope.get("client") else ""
        wait = self._tries.wait(address)
        if wait > 0:
            return too_often(wait)
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        found = self._tokens.find(secret.strip()) if scheme.lower() == "bearer" and secret.strip() else None
        if found is None:
            self._tries.failed(address)
            return unknown_caller()
        self._tries.succeeded(address)
        return found

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes | Response:
        limit = self._rules.body
        declared = headers.get("content-length", "")
        too_large = problem(413, "too-large", f"A body has at most {limit} bytes.", {"connection": "close"})
        if declared.isdigit() and int(declared[:20]) > limit:
            return too_large
        if scope["method"] in _WITH_BODY and _media_type(headers) != "application/json":
            return problem(415, "unsupported-media-type", "Bodies are application/json.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            return problem(415, "unsupported-media-type", "Bodies must not be compressed.")
        whole = bytearray()
        try:
            async with asyncio.timeout(self._rules.patience):
                more = True
                while more:
                    message = await receive()
                    whole += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(whole) > limit:
                        return too_large
        except TimeoutError:
            return problem(408, "late", "The body did not arrive in time.", {"connection": "close"})
        return bytes(whole)


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the body once, then whatever the connection says (that the client is gone)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Told:
    """A send callable that knows whether the answer has begun, and puts the heads of the API on it."""

    def __init__(self, send: Send, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head
        self.beginning = asyncio.Event()
        self.ended = False

    @property
    def begun(self) -> bool:
        """True once the answer's head was sent."""
        return self.beginning.is_set()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.beginning.set()
            present = {name.lower() for name, _ in message.get("headers", [])}
            more = [pair for pair in _HEAD if pair[0] not in present]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
            message = {**message, "body": b""} if self._is_head else message
        await self._send(message)
