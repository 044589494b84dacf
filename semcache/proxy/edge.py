"""The outermost ASGI callable: one look at the path, then the room that answers it.

Chat goes to a raw endpoint, our own pages to the FastAPI app, everything else to the upstream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from semcache.core import Caller, Labels, Outcome, RequestRecord, TenantId
from semcache.cost_rules import named
from semcache.dialects.dialect import Dialect
from semcache.dialects.table import dialect_at, shape_of
from semcache.errors import RequestError, SemcacheError
from semcache.journey import Backend
from semcache.ports import Clock, RecordSink
from semcache.proxy.account import Account
from semcache.proxy.admission import Admission
from semcache.proxy.aliasing import renamed
from semcache.proxy.body import ClientGone, read_body
from semcache.proxy.directives import labels_of
from semcache.proxy.errors import error_reply, request_ids, shutting_down
from semcache.proxy.headers import key_in, read_request_headers
from semcache.proxy.held import HeldBytes, Holding
from semcache.proxy.model_lists import ModelLists
from semcache.proxy.passthrough import checked_path, forward, refuse_inner
from semcache.proxy.plain_budget import PlainBudget
from semcache.proxy.shares import Place, Shares
from semcache.proxy.types import Answering, Endpoint, Receive, Scope, Send
from semcache.proxy.websockets import no_websockets, refuse_websocket, wants_upgrade

_log = structlog.get_logger()

OWN_PATHS = frozenset({"/", "/livez", "/readyz", "/metrics", "/health/liveliness", "/health/readiness"})
OWN_PREFIX = "/semcache/"
_CLIENT_CLOSED = 499
_SMALL, _SMALL_SECONDS = 64 << 10, 10.0
"""What a question about a model may take, in bytes and in time."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Dispatches one connection event.

    Args:
        chat: the endpoint of requests that ask a model.
        own: the FastAPI app with health, metrics and pages.
        backend_of: gives the upstream of a tenant, by the name a client asked for or "".
        gate: counts requests being handled, with its limit.
        models: answers what clients ask about models.
        budget: sets aside what forwarded calls may cost; None: nobody does.
    """

    chat: Answering
    own: Endpoint
    admission: Admission
    backend_of: Callable[[TenantId, str], Backend]
    records: RecordSink
    clock: Clock
    new_request_id: Callable[[], str]
    gate: LoadGate
    models: ModelLists
    budget: PlainBudget | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route by the path alone (never by Host)."""
        if scope["type"] == "websocket":
            await refuse_websocket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.own(scope, receive, send)
            return
        path: str = scope["path"]
        if path in OWN_PATHS or path.startswith(OWN_PREFIX):
            await self.own(scope, receive, send)
            return
        if not self.gate.is_open:
            await self._refuse(scope, send, self.gate.refusal())
            return
        place = Place(self.gate.shares, scope)
        try:
            dialect = dialect_at(path, scope["query_string"]) if scope["method"] == "POST" else None
            if dialect is not None:
                holding = Holding(receive, self.gate.held)
                try:
                    await self.chat(dialect, scope, holding.receive, send)
                finally:
                    holding.leave()
            else:
                await self._pass(scope, receive, send)
        finally:
            place.leave()

    async def _refuse(self, scope: Scope, send: Send, error: SemcacheError) -> None:
        status, head, body = error_reply(error, self.new_request_id(), _shape(scope))
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a path that is not ours, and leave its record."""
        passed = _Passed(
            Account(scope["method"], scope["path"]), self.new_request_id(), self.clock.monotonic()
        )
        holding = Holding(receive, self.gate.held)
        try:
            await self._forward(passed, scope, holding, _Watched(send))
        finally:
            holding.leave()
            self.records.emit(passed.record(self.clock))

    async def _forward(self, passed: _Passed, scope: Scope, holding: Holding, watched: _Watched) -> None:
        receive: Receive = holding.receive
        try:
            checked_path(scope)
            if wants_upgrade(scope):
                raise no_websockets()
            # By the path alone: a header must not hide a key from us that goes no further.
            key = key_in(scope["query_string"], shape_of(scope["path"]))
            headers = read_request_headers(scope["headers"], key)
            caller = passed.caller = self.admission.caller(scope, headers)
            passed.labels = named(labels_of(headers.ours), caller.labels)
            plain = await renamed(scope, receive, headers, self.models.aliases)
            if plain.scope is not scope:
                passed.account = Account(scope["method"], plain.scope["path"])
            scope, receive, headers = plain.scope, plain.receive, plain.headers
            backend = self.backend_of(caller.tenant, plain.upstream)
            passed.backend = backend
            read = partial(read_body, receive, headers.content_length, _SMALL, _SMALL_SECONDS)
            if await self._listed(passed, scope, watched, backend, caller, read):
                return
            refuse_inner(backend, scope["method"], scope["path"])
            if self.budget is not None:
                receive, passed.hold = await self.budget.enter(
                    scope, receive, headers, caller, passed.labels, backend
                )
            holding.let_pass()
            passed.status = await forward(
                scope, receive, watched, headers, backend, caller, passed.request_id, passed.account
            )
            passed.reason = "path"
        except ClientGone:
            passed.status, passed.reason = _CLIENT_CLOSED, "client-gone"
        except asyncio.CancelledError:
            # The end of the time to drain: one that has begun is cut by whoever runs us.
            if not watched.begun:
                await self._fail(scope, watched, shutting_down(), passed.request_id)
        except SemcacheError as error:
            passed.status, passed.reason = error.status, error.code or error.type
            await self._fail(scope, watched, error, passed.request_id)
        except Exception as error:  # noqa: BLE001 - the boundary: no framework error may reach a client
            _log.exception("pass-through failed", request_id=passed.request_id, error=type(error).__name__)
            passed.status, passed.reason = 500, "internal_error"
            await self._fail(scope, watched, SemcacheError(), passed.request_id)

    async def _listed(
        self,
        passed: _Passed,
        scope: Scope,
        send: _Watched,
        backend: Backend,
        caller: Caller,
        read: Callable[[], Awaitable[bytes]],
    ) -> bool:
        """Tell which models there are, where the upstream's own list would not do."""
        asked = (scope["method"], checked_path(scope))
        body = await self.models.answer(*asked, scope["headers"], backend, caller, read)
        if body is None:
            return False
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        head += request_ids(passed.request_id, _shape(scope))
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body, "more_body": False})
        passed.status, passed.reason = 200, "path"
        return True

    async def _fail(self, scope: Scope, send: _Watched, error: SemcacheError, request_id: str) -> None:
        """Tell of an error while one can; a reply that has begun is cut, so that nobody takes it for whole."""
        if send.begun:
            raise ConnectionAbortedError("the upstream broke off")
        status, head, body = error_reply(error, request_id, _shape(scope))
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def _shape(scope: Scope) -> Dialect:
    return shape_of(scope["path"], dict(scope["headers"]))


@dataclass(slots=True)
class _Passed:
    """A forwarded request on its way."""

    account: Account
    request_id: str
    started: float
    caller: Caller | None = None
    labels: Labels = ()
    backend: Backend | None = None
    status: int = 0
    reason: str = "cut"
    """Why it ended as it did: `path` when all went well."""
    hold: str = ""

    def record(self, clock: Clock) -> RequestRecord:
        """Give the one fact that it leaves behind."""
        used = self.account.used(client_left=self.status == _CLIENT_CLOSED)
        caller, backend = self.caller, self.backend
        return RequestRecord(
            request_id=self.request_id,
            at=clock.now(),
            tenant=caller.tenant if caller else "",
            domain="",
            route=self.account.route,
            model=used.model,
            stream=self.account.streams,
            outcome=Outcome.BYPASS if self.reason == "path" else Outcome.ERROR,
            reason=self.reason,
            status=self.status,
            duration=clock.monotonic() - self.started,
            overhead=0.0,
            usage=used.usage,
            estimated=used.is_estimated,
            key_name=caller.key_name if caller else "",
            labels=self.labels,
            backend=self.account.backend or (backend.generator.name if backend else ""),
            is_local=backend is not None and backend.prefixes is not None,
            hold=self.hold,
        )


class _Watched:
    """A send callable that knows whether the reply has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.begun = True
        await self._send(message)


class LoadGate:
    """Counts requests in flight; over the limit new ones are refused at once.

    Args:
        limit: requests handled at a time.
        held: bytes of their bodies, of all together.
    """

    def __init__(self, limit: int, held: int = 1 << 30) -> None:
        self._limit = limit
        self.held = HeldBytes(held)
        self.shares = Shares(limit)
        self._draining = False

    @property
    def inside(self) -> int:
        """Requests being handled."""
        return self.shares.inside

    @property
    def is_open(self) -> bool:
        """False where there is no place for one more."""
        return not self._draining and self.inside < self._limit

    def drain(self) -> None:
        """Refuse everything new (shutdown)."""
        self._draining = True

    def refusal(self) -> RequestError:
        """The error for those who found no place."""
        if self._draining:
            return shutting_down()
        return RequestError(
            "The proxy has as many requests as it can handle.",
            status=503,
            type="server_error",
            code="overloaded",
            headers=(("retry-after", "1"),),
        )
