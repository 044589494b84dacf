"""Our own pages: liveness, readiness, metrics, and why a request would be decided as it would.

Health costs nothing and needs no key. `explain` shows similarities and is therefore for callers
on this machine only. Knows no adapters: everything it shows is handed in.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

import semcache
from semcache.core import Draft, Hit
from semcache.decide.confirming import counted
from semcache.dialects.request import CHAT_PATH
from semcache.dialects.table import dialect_at
from semcache.errors import RequestError, SemcacheError
from semcache.journey import Asked, Trace
from semcache.pipeline import Pipeline
from semcache.proxy.admission import Admission, is_local, refuse_encoding
from semcache.proxy.body import ClientGone, read_body
from semcache.proxy.described import CHAT_BODY, DOCUMENT, Alive, Explained, Ready, json_body, refusals
from semcache.proxy.directives import directives_of
from semcache.proxy.errors import error_reply
from semcache.proxy.feedback import Feedback, take_feedback
from semcache.proxy.headers import read_request_headers
from semcache.proxy.recent import read_request
from semcache.proxy.status import told

EnginePage = Callable[[str], Awaitable[tuple[int, str, bytes]]]
"""Gives status, content type and body. Raises SemcacheError."""

_ENGINE_PAGES = frozenset({"metrics", "prefix", "prefix.html"})
_EXPLAIN_LIMIT = 1 << 20
_PATIENCE = 10.0
_CLIENT_CLOSED = 499


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether requests can be served, and what is not as it should be."""

    ready: bool
    degraded: tuple[str, ...]
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OwnParts:
    """What the pages show."""

    readiness: Callable[[], Readiness]
    metrics: Callable[[], Awaitable[bytes]]
    metrics_type: str
    pipeline: Pipeline
    admission: Admission
    new_request_id: Callable[[], str]
    token: str | None = None
    """What callers from other machines must bring to see more than whether we live."""
    engine_page: EnginePage | None = None
    """A page of the local engine by its name, if there is an engine."""
    feedback: Feedback | None = None
    """Takes what callers say of answers; None: nobody does."""

    def may_look(self, request: Request) -> bool:
        """True for callers of this machine, and for those who bring the token."""
        if is_local(request.scope):
            return True
        brought = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        return self.token is not None and secrets.compare_digest(brought, self.token.encode())


def own_app(parts: OwnParts) -> FastAPI:
    """Build the FastAPI app of our own paths."""
    app = FastAPI(
        title="semcache", version=semcache.__version__, docs_url=None, redoc_url=None, openapi_url=DOCUMENT
    )

    _show_health(app, parts)
    _show_engine(app, parts)
    _explain_decisions(app, parts)
    if parts.feedback is not None:
        take_feedback(app, parts.admission, parts.feedback)

    @app.exception_handler(SemcacheError)
    async def named(request: Request, error: SemcacheError) -> Response:
        del request
        status, head, body = error_reply(error, parts.new_request_id())
        return Response(body, status, headers={name.decode(): value.decode() for name, value in head})

    @app.exception_handler(ClientGone)
    async def gone(request: Request, error: ClientGone) -> Response:
        del request, error
        return Response(status_code=_CLIENT_CLOSED)

    @app.exception_handler(HTTPException)
    async def unnamed(request: Request, error: HTTPException) -> Response:
        message = f"{request.method} {request.url.path}: {error.detail}"
        return await named(request, RequestError(message, status=error.status_code, code="not_found"))

    return app


def _show_health(app: FastAPI, parts: OwnParts) -> None:
    # Programs made for Ollama look for a server here before anything else, with HEAD.
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def about() -> dict[str, str]:
        return {
            "name": "semcache",
            "version": semcache.__version__,
            "chat": "POST /v1/chat/completions",
            "health": "/livez, /readyz",
            "metrics": "/metrics",
            "engine": "/semcache/engine/prefix.html, /semcache/engine/metrics",
        }

    @app.get("/livez", response_model=Alive)
    @app.get("/health/liveliness", include_in_schema=False, response_model=None)
    async def livez() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", responses={200: {"model": Ready}, 503: {"model": Ready}}, response_model=None)
    @app.get("/health/readiness", include_in_schema=False, response_model=None)
    async def readyz(request: Request, response: Response) -> dict[str, Any]:
        state = parts.readiness()
        response.status_code = 200 if state.ready else 503
        status = ("degraded" if state.degraded else "ready") if state.ready else "starting"
        if not parts.may_look(request):
            return {"status": status}
        return {"status": status, "degraded": state.degraded, **state.detail}

    @app.get("/metrics", response_class=PlainTextResponse, responses=refusals(401))
    async def metrics(request: Request) -> Response:
        _check_may_look(request, parts)
        return Response(await parts.metrics(), headers={"content-type": parts.metrics_type})


def _check_may_look(request: Request, parts: OwnParts) -> None:
    if not parts.may_look(request):
        message = "Metrics are for callers of this machine, or with the metrics token."
        raise RequestError(message, status=401, type="authentication_error", code="no_metrics_token")


def _show_engine(app: FastAPI, parts: OwnParts) -> None:
    """What the local engine tells about itself, which else only those at its socket can see."""

    @app.get("/semcache/engine/{name}", response_class=PlainTextResponse, responses=refusals(401, 404))
    async def engine_page(request: Request, name: str) -> Response:
        _check_may_look(request, parts)
        if parts.engine_page is None or name not in _ENGINE_PAGES:
            pages = ", ".join(sorted(_ENGINE_PAGES))
            words = f"no such page: {pages}" if parts.engine_page is not None else "no local engine runs here"
            raise RequestError(words, status=404, code="not_found")
        status, kind, body = await parts.engine_page(name)
        return Response(body, status, headers={"content-type": kind, "cache-control": "no-store"})


def _explain_decisions(app: FastAPI, parts: OwnParts) -> None:
    @app.post(
        "/semcache/explain",
        openapi_extra=json_body(CHAT_BODY),
        responses={200: {"model": Explained}, **refusals(400, 401, 403, 408, 413, 415)},
        response_model=None,
    )
    async def explain(request: Request, path: str = CHAT_PATH) -> dict[str, Any]:
        if not is_local(request.scope):
            raise RequestError(
                "explain is for callers on the proxy's own machine.", status=403, code="not_local"
            )
        headers = read_request_headers(request.scope["headers"])
        caller = parts.admission.caller(request.scope, headers)
        refuse_encoding(headers)
        body = await read_body(request.receive, headers.content_length, _EXPLAIN_LIMIT, _PATIENCE)
        dialect = dialect_at(path)
        if dialect is None:
            words = f"No model is asked at {path}; requests go to /v1/chat/completions, /v1/messages, /api/chat ..."
            raise RequestError(words, code="unknown_url", param="path")
        parsed = read_request(dialect, body, path)
        asked = Asked(
            request=parsed.request,
            caller=caller,
            directives=directives_of(headers.ours, parsed.cache_object),
            answer_changing=headers.answer_changing,
            upstream=headers.upstream,
            dialect=dialect,
        )
        feature = asked.request.uncacheable or asked.request.exact_only
        return explained(await parts.pipeline.explain(asked)) | {"closed_by": feature}


def explained(trace: Trace) -> dict[str, Any]:
    """Give a traced decision as plain JSON: the policy's numbers and the decision's reasons."""
    policy, decision = trace.policy, trace.decision
    entry = decision.entry if isinstance(decision, Hit | Draft) else None
    return {
        "decision": type(decision).__name__.lower(),
        "reason": told(trace).reason,
        "similarity": getattr(decision, "similarity", None),
        "score": getattr(decision, "score", None),
        "vetoes": list(getattr(decision, "vetoes", ()) or getattr(decision, "reasons", ())),
        "entry": entry.id if entry else None,
        "entry_prompt": entry.prompt if entry else None,
        "entry_confirmed": counted(entry) if entry else None,
        "confirmation": policy.confirmation.by,
        "confirmation_users": policy.confirmation.users,
        "tenant": policy.tenant,
        "domain": policy.domain,
        "mode": policy.mode,
        "threshold": policy.threshold,
        "min_score": policy.min_score,
        "served_from_score": trace.serving.cut if trace.serving else None,
        "proven_by_own_evidence": trace.serving.proven if trace.serving else None,
        "alone_threshold": policy.alone.threshold if policy.alone.threshold <= 1.0 else None,
        "draft_threshold": policy.draft_threshold,
        "verified_threshold": policy.verified_threshold,
        "upstream": trace.backend,
        "faults": trace.faults,
    }
