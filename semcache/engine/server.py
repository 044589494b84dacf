"""The HTTP face of the engine: chat completions, models, warming, liveness and readiness.

Every error leaves in the protocol's own shape. Knows nothing of torch: the engine is built
by the function that the host was given.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from semcache.engine import replies, wire
from semcache.engine.arrivals import Arrivals
from semcache.engine.audit import ANSWER, WARM, Answering
from semcache.engine.generation import GenerationRequest, overloaded
from semcache.engine.hosting import EngineHost, Phase
from semcache.engine.intake import read_body
from semcache.engine.metrics import EngineMetrics
from semcache.engine.observing import Observatory, present_report
from semcache.engine.schema import ChatBody, parse_chat
from semcache.engine.service import Engine
from semcache.errors import EngineError, RequestError, SemcacheError

_log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
MAX_READING = 64
"""Requests whose body is being read or cut into tokens at one time."""


def create_app(
    host: EngineHost, names: tuple[str, ...], *, max_body: int, on_failure: Callable[[], None]
) -> FastAPI:
    """Build the application.

    Args:
        host: Loads and holds the engine; started and closed with the application.
        names: What requests may call the model; all of them share what was computed.
        max_body: Largest request body in bytes.
        on_failure: Called once when the engine is beyond help, so that the process may end.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan(host, on_failure))
    metrics = EngineMetrics(lambda: present_report(host))
    api = ChatApi(host, names, max_body, metrics)
    Observatory(host, names[0], metrics, api.begin_warm).add_to(app)
    app.add_api_route("/v1/chat/completions", api.chat, methods=["POST"], response_model=None)
    app.add_api_route("/v1/models", api.models, methods=["GET"], response_model=None)
    app.add_api_route("/v1/models/{model:path}", api.model, methods=["GET"], response_model=None)
    app.add_api_route("/livez", _livez, methods=["GET"], response_model=None)
    app.add_api_route("/readyz", api.readyz, methods=["GET"], response_model=None)
    app.add_exception_handler(SemcacheError, _named_error)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_exception_handler(Exception, _unknown_error)
    return app


def _lifespan(
    host: EngineHost, on_failure: Callable[[], None]
) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        host.start()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(_watch(host, on_failure))
            yield
            watching.cancel()
        await asyncio.to_thread(host.close)

    return lifespan


async def _watch(host: EngineHost, on_failure: Callable[[], None]) -> None:
    """Wait for the failure of an engine, which nothing in this process can mend."""
    while host.phase is not Phase.FAILED:  # noqa: ASYNC110 - it fails on threads, which set no asyncio event
        await asyncio.sleep(WATCH_SECONDS)
    on_failure()


class ChatApi:
    """The handlers; `created` is the time that the model list shows, in Unix seconds."""

    def __init__(
        self, host: EngineHost, names: tuple[str, ...], max_body: int, metrics: EngineMetrics
    ) -> None:
        self._host = host
        self._metrics = metrics
        self._names = names
        self._max_body = max_body
        self._created = int(time.time())
        self._reading = 0

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions."""
        engine = self._host.engine()
        body, asked = await self._take_in(request, engine.prepare)
        head = wire.AnswerHead(
            f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), body.model, engine.fingerprint
        )
        answering = self._begin(engine, asked, head.id, ANSWER)
        if body.stream:
            with_usage = bool(body.stream_options and body.stream_options.include_usage)
            return replies.StreamReply(head, asked, answering, with_usage)
        try:
            answer = await replies.while_connected(request.receive, replies.whole(head, asked, answering))
        finally:
            answering.cancel()
        # Nobody reads the reply to a client that is gone.
        return Response(status_code=499) if answer is None else _json(200, answer)

    async def begin_warm(self, request: Request) -> Answering:
        """Take in a request that only computes its messages; it is read and prepared as any other.

        Raises:
            RequestError: as for a chat request.
        """
        engine = self._host.engine()
        _, asked = await self._take_in(request, engine.prepare_warm)
        return self._begin(engine, asked, f"warm-{secrets.token_hex(12)}", WARM)

    def _begin(self, engine: Engine, asked: GenerationRequest, id: str, kind: str) -> Answering:
        events = Arrivals()
        ticket = engine.runner.submit(asked, events.push)
        return Answering(id, kind, events, ticket, self._metrics)

    async def _take_in(
        self, request: Request, prepare: Callable[[ChatBody], GenerationRequest]
    ) -> tuple[ChatBody, GenerationRequest]:
        """Read and check a request; few at a time, since bodies are held in memory meanwhile.

        Raises:
            RequestError: too many are being read already (503), or anything wrong with this one.
        """
        if self._reading >= MAX_READING:
            raise overloaded(f"{self._reading} requests are being read already", retry_after=1)
        self._reading += 1
        try:
            body = parse_chat(await read_body(request, self._max_body))
            self._check_name(body.model)
            return body, await asyncio.to_thread(prepare, body)
        finally:
            self._reading -= 1

    async def models(self) -> Response:
        """GET /v1/models."""
        listed = [wire.model_object(name, self._created) for name in self._names]
        return _json(200, orjson.dumps({"object": "list", "data": listed}))

    async def model(self, model: str) -> Response:
        """GET /v1/models/{model}."""
        self._check_name(model)
        return _json(200, orjson.dumps(wire.model_object(model, self._created)))

    async def readyz(self) -> Response:
        """GET /readyz: 200 when requests would be answered; `pid` tells a parent whom it talks to."""
        phase = self._host.phase
        report: dict[str, str | int] = {"status": phase, "pid": os.getpid(), "stage": self._host.stage}
        if phase is not Phase.READY:
            return _json(503, orjson.dumps(report), (("retry-after", "3"),))
        engine = self._host.engine()
        stats = engine.runner.stats()
        report |= {
            "model": self._names[0],
            "fingerprint": engine.fingerprint,
            "context": engine.context,
            "active": stats.active,
            "queued": stats.queued,
            "generated_tokens": stats.generated_tokens,
        }
        return _json(200, orjson.dumps(report))

    def _check_name(self, asked: str) -> None:
        if asked not in self._names:
            raise RequestError(
                f"There is no model {asked[:100]!r} here; ask for {' or '.join(self._names)}.",
                status=404,
                code="model_not_found",
                param="model",
            )


async def _livez() -> Response:
    """GET /livez: the process runs and its event loop turns."""
    return _json(200, b'{"status":"alive"}')


def _json(status: int, content: bytes, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(content, status, dict(headers), media_type="application/json")


async def _named_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, SemcacheError):
        raise error
    headers = error.headers if isinstance(error, RequestError) else ()
    if isinstance(error, EngineError):
        headers = (("retry-after", "3"),)
    return _json(error.status, orjson.dumps(wire.error_object(error)), headers)


async def _framework_error(_: Request, error: Exception) -> Response:
    """Put the framework's own refusals (unknown path, wrong method) into the protocol's shape."""
    if not isinstance(error, HTTPException):
        raise error
    words = {404: "unknown path", 405: "this path does not take this method"}.get(error.status_code)
    refusal = RequestError(words or "the request was refused", status=error.status_code, code="unknown_url")
    headers = tuple((error.headers or {}).items())
    return _json(error.status_code, orjson.dumps(wire.error_object(refusal)), headers)


async def _unknown_error(_: Request, error: Exception) -> Response:
    """Say that something broke; the framework logs the traceback, which holds no request text."""
    _log.error("a request failed: %s", type(error).__name__)
    return _json(500, orjson.dumps(wire.error_object(SemcacheError("the engine made an error"))))
