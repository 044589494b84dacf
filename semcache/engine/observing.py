"""Looking into the engine and warming it: metrics, the prefix tree, and computing a head ahead.

Handlers only; what they show is made by `metrics` and `pages`. A report may wait for the end of
the engine's present step, so it is asked for beside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response

from semcache.engine import pages
from semcache.engine.audit import Answering
from semcache.engine.generation import Delta, Done, Failed, Finished, Runner
from semcache.engine.hosting import EngineHost, Phase
from semcache.engine.metrics import CONTENT_TYPE, EngineMetrics
from semcache.engine.replies import HEARTBEAT_SECONDS, while_connected
from semcache.engine.report import EngineReport, TreeNode
from semcache.errors import RequestError

SHOWN, MAX_SHOWN = 200, 5000
"""Nodes of the tree that are shown unless `limit` says otherwise, and at most."""

MAX_TOP = 1000

_NO_SCRIPT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "cache-control": "no-store",
}

T = TypeVar("T")

Begin = Callable[[Request], Awaitable[Answering]]
"""Reads a warm-up request and hands it to the runner."""


class Observatory:
    """The handlers; `begin_warm` is the server's own way of taking a request in."""

    def __init__(self, host: EngineHost, name: str, metrics: EngineMetrics, begin_warm: Begin) -> None:
        self._host = host
        self._name = name
        self._metrics = metrics
        self._begin_warm = begin_warm

    def add_to(self, app: FastAPI) -> None:
        """Put the paths on an application."""
        for path, handler, method in (
            ("/metrics", self.metrics, "GET"),
            ("/prefix", self.text, "GET"),
            ("/prefix.html", self.page, "GET"),
            ("/v1/prefix", self.document, "GET"),
            ("/v1/prefix/top", self.top, "GET"),
            ("/v1/prefix/warm", self.warm, "POST"),
        ):
            app.add_api_route(path, handler, methods=[method], response_model=None)

    async def metrics(self) -> Response:
        """GET /metrics: Prometheus text."""
        return Response(await asyncio.to_thread(self._metrics.render), headers={"content-type": CONTENT_TYPE})

    async def text(self, request: Request) -> Response:
        """GET /prefix: the tree as text; `?limit=` nodes."""
        report, nodes = await self._look(request)
        return Response(pages.as_text(report, nodes), media_type="text/plain")

    async def page(self, request: Request) -> Response:
        """GET /prefix.html: the tree as a page; `?limit=` nodes."""
        report, nodes = await self._look(request)
        return Response(pages.as_page(report, nodes, self._name), headers=_NO_SCRIPT, media_type="text/html")

    async def document(self, request: Request) -> Response:
        """GET /v1/prefix: report and tree as JSON; `?limit=` nodes."""
        report, nodes = await self._look(request)
        return _json(pages.as_json(report, nodes))

    async def top(self, request: Request) -> Response:
        """GET /v1/prefix/top: the `?n=` prefixes most worth computing ahead."""
        count = _number(request, "n", 20, MAX_TOP)
        found = await self._ask(lambda runner: runner.top_prefixes(count))
        return _json({"object": "list", "data": found})

    async def warm(self, request: Request) -> Response:
        """POST /v1/prefix/warm: compute the messages of a chat body, behind all users' requests.

        Answers when they are computed, with what it took.
        """
        answering = await self._begin_warm(request)
        try:
            done = await while_connected(request.receive, _until_done(answering))
        finally:
            answering.cancel()
        if done is None:
            return Response(status_code=499)
        return _json(
            {
                "object": "prefix.warm",
                "tokens": done.prompt_tokens,
                "computed": done.prompt_tokens - done.cached_tokens,
                "cached": done.cached_tokens,
                "digest": done.reuse.digest,
                "seconds": round(answering.seconds, 6),
            }
        )

    async def _look(self, request: Request) -> tuple[EngineReport, tuple[TreeNode, ...]]:
        limit = _number(request, "limit", SHOWN, MAX_SHOWN)
        return await self._ask(lambda runner: (runner.report(), runner.tree_view(limit)))

    async def _ask(self, question: Callable[[Runner], T]) -> T:
        runner = self._host.engine().reporter
        return await asyncio.to_thread(question, runner)


def present_report(host: EngineHost) -> EngineReport | None:
    """Give the report of a host's engine; None while it has none that works."""
    return host.engine().reporter.report() if host.phase is Phase.READY else None


async def _until_done(answering: Answering) -> Done:
    while True:
        match await answering.next(HEARTBEAT_SECONDS):
            case Done() as done:
                return done
            case Failed(error):
                raise error
            case Delta() | Finished() | None:
                pass


def _number(request: Request, name: str, usual: int, most: int) -> int:
    """Read a count from the query.

    Raises:
        RequestError: 400: it is no number between 1 and `most`.
    """
    text = request.query_params.get(name)
    if text is None:
        return usual
    if text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most:
        return int(text)
    raise RequestError(f"{name}: must be a number from 1 to {most}", code="invalid_value", param=name)


def _json(document: object) -> Response:
    return Response(
        orjson.dumps(document), headers={"cache-control": "no-store"}, media_type="application/json"
    )
