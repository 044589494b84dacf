"""The admin API: review over HTTP, for programs and for the pages' own listener.

Refusals are problem documents (RFC 9457), lists go on by cursors, every change of an entry repeats the ETag
that was read (If-Match; 428 without, 412 when it is stale). What is allowed is asked of the service; the role each route
needs at least stands in the OpenAPI document as `x-role`.
"""

from __future__ import annotations

import time

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

import semcache
from semcache.errors import SemcacheError
from semcache.review.access import Tokens, Tries
from semcache.review.costing import Costing
from semcache.review.costing_routes import costing_routes
from semcache.review.deciding_routes import deciding_routes
from semcache.review.erasing_routes import Erasing, erasing_routes
from semcache.review.guard import Asgi, Guard, GuardRules
from semcache.review.reading_routes import reading_routes
from semcache.review.refusals import defect, http_refused, invalid, refused
from semcache.review.service import ReviewService


def review_app(service: ReviewService, costing: Costing, eraser: Erasing | None = None) -> FastAPI:
    """Give the admin API of review, costs and erasure; `guarded` puts it behind tokens, without which it answers nothing."""
    app = FastAPI(
        title="semcache admin",
        version=semcache.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
    )

    @app.get("/livez", include_in_schema=False)
    def livez() -> JSONResponse:
        return JSONResponse({"status": "alive"}, headers={"cache-control": "no-store"})

    app.include_router(reading_routes(service))
    app.include_router(deciding_routes(service))
    app.include_router(costing_routes(costing))
    if eraser is not None:
        app.include_router(erasing_routes(service, eraser))
    _refusals(app)
    return app


def guarded(inner: Asgi, tokens: Tokens, tries: Tries | None = None, rules: GuardRules | None = None) -> Asgi:
    """Put the application behind its tokens, bounds and deadlines."""
    return Guard(inner, tokens, tries or Tries(time.monotonic), rules or GuardRules())


def _refusals(app: FastAPI) -> None:
    @app.exception_handler(SemcacheError)
    async def named(_: Request, error: SemcacheError) -> Response:
        return refused(error)

    @app.exception_handler(HTTPException)
    async def by_framework(_: Request, error: HTTPException) -> Response:
        return http_refused(error)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, __: Exception) -> Response:
        return defect()

    @app.exception_handler(RequestValidationError)
    async def of_wrong_shape(_: Request, error: RequestValidationError) -> Response:
        return invalid(error)
