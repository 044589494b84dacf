"""The pages of review on an application: who gets in, and where what is.

The one place where a fault becomes a page. Knows no page's content.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic

from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from semcache.core import TenantId
from semcache.errors import RequestError, StoreError
from semcache.review.access import EVERY, Reviewer, Tokens, Tries
from semcache.review.costing import Costing
from semcache.review.service import ReviewService
from semcache.review.web import costing_pages, deciding, reading
from semcache.review.web.door import Door, said_to
from semcache.review.web.frame import Asset, Frame, assets, elsewhere, file_response, sealed
from semcache.review.web.sessions import ABSOLUTE, IDLE, Session, Sessions
from semcache.review.web.visit import Handler, Visit, form_of

Endpoint = Callable[[Request], Awaitable[Response]]
_INVALID = 422


def mount_pages(
    app: FastAPI,
    service: ReviewService,
    costing: Costing,
    tokens: Tokens,
    tries: Tries | None = None,
    *,
    now: Callable[[], float] = monotonic,
    idle: float = IDLE,
    absolute: float = ABSOLUTE,
) -> None:
    """Put the pages on the admin application, below `/`, `/login`, `/t/{tenant}/` and `/static/`.

    Args:
        app: the admin listener's application.
        service: reads and decides.
        costing: reads what costs and saves.
        tokens: who is who.
        tries: how often an address may fail; the one of the API, so that both count together. None: one of its own.
        now: seconds that never go back, for sessions.
        idle: seconds without a request after which a session ends.
        absolute: seconds after which it ends anyway.
    """
    files = assets()
    door = Door(
        frame=Frame(),
        tokens=tokens,
        tries=tries or Tries(now),
        sessions=Sessions(now, idle=idle, absolute=absolute),
        now=service.clock.now,
        versions={name: asset.version for name, asset in files.items()},
    )
    pages = _Pages(door, service, costing, files)
    app.router.routes.extend(pages.routes())


class _Pages:
    def __init__(
        self, door: Door, service: ReviewService, costing: Costing, files: Mapping[str, Asset]
    ) -> None:
        self._door = door
        self._service = service
        self._costing = costing
        self._files = files

    def routes(self) -> list[Route]:
        """Give all routes."""
        entry = "/entries/{id}"
        shown: list[tuple[str, str, Handler]] = [
            ("/queue", "queue", reading.queue),
            (entry, "queue", reading.entry),
            (f"{entry}/peek", "queue", reading.peek),
            (f"{entry}/answer", "queue", reading.answer),
            (f"{entry}/edit", "queue", deciding.edit),
            ("/search", "search", reading.search),
            ("/policies", "policies", reading.policies),
            ("/policies/whatif", "policies", reading.whatif),
            ("/numbers", "numbers", reading.numbers),
            ("/numbers/live", "numbers", reading.numbers_live),
            ("/costs", "costs", costing_pages.costs),
            ("/costs/csv", "costs", costing_pages.costs_csv),
            ("/log", "log", reading.log),
        ]
        sent: list[tuple[str, Handler]] = [
            (f"{entry}/verdict", deciding.verdict),
            (f"{entry}/preview", deciding.preview),
        ]
        return [
            self._route("/", self._home, "GET"),
            self._route("/tenant", self._tenant, "GET"),
            self._route("/login", self._door.login, "GET", "POST"),
            self._route("/logout", self._door.logout, "POST"),
            self._route("/language", self._door.language, "POST"),
            self._route("/static/{name}", self._file, "GET"),
            *(
                self._route(f"/t/{{tenant}}{path}", self._visited(doing, here), "GET")
                for path, here, doing in shown
            ),
            *(
                self._route(f"/t/{{tenant}}{path}", self._visited(doing, "queue"), "POST")
                for path, doing in sent
            ),
        ]

    def _route(self, path: str, doing: Endpoint, *methods: str) -> Route:
        async def answered(request: Request) -> Response:
            try:
                return await doing(request)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody is there to read it
            except RequestError as error:
                return self._refused(request, error.status, str(error))
            except StoreError as error:
                # A cursor of yesterday, or one that somebody made up, is the reader's matter, not the store's.
                return self._refused(request, _INVALID if error.kind == "invalid" else 503, "")

        return Route(path, answered, methods=list(methods), include_in_schema=False)

    def _refused(self, request: Request, status: int, detail: str) -> Response:
        tenant = request.path_params.get("tenant", "")
        session = self._door.session_of(request, is_used=False)
        seen = session is not None and session.who.sees(TenantId(tenant))
        return self._door.refused(
            request, status, detail if status == _INVALID else "", tenant if seen else ""
        )

    async def _file(self, request: Request) -> Response:
        asset = self._files.get(request.path_params["name"])
        if asset is None:
            return sealed(Response(status_code=404))
        return file_response(asset, request.query_params.get("v", ""))

    async def _home(self, request: Request) -> Response:
        session = self._door.session_of(request, is_used=True)
        if session is None:
            return self._door.away(request)
        tenants = await self._tenants(session.who)
        if not tenants:
            return self._door.refused(request, 404, self._door.ui(request, session).t("app.pick"))
        return elsewhere(self._door.ui(request, session, tenant=tenants[0]).home)

    async def _tenant(self, request: Request) -> Response:
        """Go to another tenant; whether it may be seen is asked there."""
        session = self._door.session_of(request, is_used=True)
        if session is None:
            return self._door.away(request)
        return elsewhere(
            self._door.ui(request, session, tenant=request.query_params.get("tenant", "") or "-").home
        )

    async def _tenants(self, who: Reviewer) -> tuple[str, ...]:
        """Give the tenants that somebody may see; those named by the token where the store cannot say more."""
        try:
            return await self._service.tenants(who)
        except StoreError:
            return tuple(sorted(who.tenants - {EVERY}))

    def _visited(self, doing: Handler, here: str) -> Endpoint:
        async def visited(request: Request) -> Response:
            # What a page asks for by itself does not show that somebody sits before it.
            alone = request.headers.get("hx-trigger") in ("rows", "live")
            session = self._door.session_of(request, is_used=not alone)
            if session is None:
                return self._door.away(request)
            tenant = TenantId(request.path_params["tenant"])
            if not session.who.sees(tenant):
                return self._door.refused(request, 404)
            form: Mapping[str, str] = {}
            if request.method == "POST":
                form = await form_of(request)
                if not self._door.sessions.is_ours(session.id, form.get("csrf", "")):
                    detail = self._door.ui(request, session).t("error.csrf")
                    return self._door.refused(request, 403, detail, tenant)
            return await doing(await self._visit(request, session, tenant, here, form))

        return visited

    async def _visit(
        self,
        request: Request,
        session: Session[Reviewer],
        tenant: TenantId,
        here: str,
        form: Mapping[str, str],
    ) -> Visit:
        is_partial = request.headers.get("hx-request") == "true"
        tenants = () if is_partial else await self._tenants(session.who)
        ui = self._door.ui(request, session, tenants, tenant, here)
        if not is_partial and request.method == "GET":
            ui = ui.saying(said_to(session, ui))
        return Visit(
            request, session, session.who, tenant, ui, self._service, self._costing, self._door.frame, form
        )
