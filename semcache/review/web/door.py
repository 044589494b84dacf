"""Coming in and going out: tokens for sessions, and the language of who asks.

A token is shown once, in a form, and never put into a cookie or an address that reaches the server.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from semcache.review.access import Reviewer, Tokens, Tries
from semcache.review.web.frame import Frame, Said, Ui, elsewhere
from semcache.review.web.language import Words, chosen, is_language
from semcache.review.web.sessions import Session, Sessions
from semcache.review.web.visit import LANGUAGE_COOKIE, form_of

COOKIE = "semcache_review"
_LOGIN_COOKIE = "semcache_login"
_YEAR = 365 * 86_400
_MOST_FORM = 16 << 10
"""Bytes of a form that anybody may send."""
_EXPLAINED = (403, 404, 413, 422, 429, 503)


@dataclass(frozen=True, slots=True)
class Door:
    """Lets people in.

    Attributes:
        frame: for the login page.
        tokens: who is who.
        tries: how often an address may fail.
        sessions: who is in.
        now: Unix seconds.
        versions: of the files that pages use.
    """

    frame: Frame
    tokens: Tokens
    tries: Tries
    sessions: Sessions[Reviewer]
    now: Callable[[], float]
    versions: Mapping[str, str]

    def session_of(self, request: Request, *, is_used: bool) -> Session[Reviewer] | None:
        """Give who is logged in."""
        return self.sessions.find(request.cookies.get(COOKIE, ""), is_used=is_used)

    def ui(
        self,
        request: Request,
        session: Session[Reviewer] | None,
        tenants: Sequence[str] = (),
        tenant: str = "",
        here: str = "",
        csrf: str = "",
    ) -> Ui:
        """Give what every page has around it."""
        accepted = request.headers.get("accept-language", "")
        language = chosen(request.cookies.get(LANGUAGE_COOKIE, ""), accepted)
        return Ui(
            t=Words(language, self.now()),
            csrf=session.csrf if session is not None else csrf,
            path=_path(request),
            versions=self.versions,
            who=session.who if session is not None else None,
            tenant=tenant,
            tenants=tuple(tenants),
            here=here,
        )

    async def login(self, request: Request) -> Response:
        """Show the form, or take a token."""
        if request.method == "POST":
            return await self._enter(request)
        if self.session_of(request, is_used=True) is not None:
            return elsewhere("/")
        key = {"ended": "login.ended", "out": "login.out"}.get(request.query_params.get("why", ""), "")
        return self._form(request, key, status=200)

    async def _enter(self, request: Request) -> Response:
        form = await form_of(request, _MOST_FORM)
        if not self.sessions.is_ours(request.cookies.get(_LOGIN_COOKIE, ""), form.get("csrf", "")):
            return self._form(request, "login.cookies", status=403)
        address = request.client.host if request.client is not None else ""
        wait = self.tries.wait(address)
        if wait > 0:
            return self._form(request, "login.wait", status=429, wait=wait)
        who = self.tokens.find(form.get("token", "").strip())
        if who is None:
            self.tries.failed(address)
            return self._form(request, "login.wrong", status=401)
        self.tries.succeeded(address)
        response = elsewhere("/")
        _keep(response, request, COOKIE, self.sessions.begin(who).id, path="/")
        response.delete_cookie(_LOGIN_COOKIE, path="/login")
        return response

    def _form(self, request: Request, key: str, *, status: int, wait: float = 0.0) -> Response:
        known = request.cookies.get(_LOGIN_COOKIE, "")
        cookie = known if len(known) >= 40 else secrets.token_urlsafe(32)
        ui = self.ui(request, None, csrf=self.sessions.csrf_of(cookie))
        message = ui.t(key, seconds=math.ceil(wait)) if key else ""
        tone = "bad" if status >= 400 else ""
        response = self.frame.page("login.html", ui, status, message=message, tone=tone)
        _keep(response, request, _LOGIN_COOKIE, cookie, path="/login")
        if wait > 0:
            response.headers["retry-after"] = str(math.ceil(wait))
        return response

    async def logout(self, request: Request) -> Response:
        """End a session."""
        session = self.session_of(request, is_used=True)
        form = await form_of(request, _MOST_FORM)
        if session is None or not self.sessions.is_ours(session.id, form.get("csrf", "")):
            return elsewhere("/login")
        self.sessions.end(session.id)
        response = elsewhere("/login?why=out")
        response.delete_cookie(COOKIE, path="/")
        return response

    async def language(self, request: Request) -> Response:
        """Remember a language, and go back to the page."""
        form = await form_of(request, _MOST_FORM)
        session = self.session_of(request, is_used=True)
        back, code = form.get("next", ""), form.get("language", "")
        response = elsewhere(back if _is_own(back) else "/")
        # The login page's cookie does not reach this address: nothing is at stake there but a language.
        is_ours = session is None or self.sessions.is_ours(session.id, form.get("csrf", ""))
        if is_language(code) and is_ours:
            _keep(response, request, LANGUAGE_COOKIE, code, path="/", seconds=_YEAR)
        return response

    def refused(self, request: Request, status: int, detail: str = "", tenant: str = "") -> Response:
        """Give a page for what cannot be had."""
        session = self.session_of(request, is_used=False)
        ui = self.ui(request, session, tenant=tenant)
        known = status if status in _EXPLAINED else 422
        title, lead = ui.t(f"error.{known}"), ui.t(f"error.{known}.lead")
        return self.frame.page("error.html", ui, status, title=title, lead=lead, detail=detail)

    def away(self, request: Request) -> Response:
        """Send somebody who is not logged in to the form; a part of a page cannot hold it, so the page goes."""
        asked = request.cookies.get(COOKIE, "")
        address = "/login?why=ended" if asked else "/login"
        response = elsewhere(address)
        if request.headers.get("hx-request") == "true":
            response.status_code = 200
            del response.headers["location"]
            response.headers["hx-redirect"] = address
        return response


def said_to(session: Session[Reviewer], ui: Ui) -> tuple[Said, ...]:
    """Give the notices that wait for somebody."""
    return tuple(
        Said(notice.key, ui.at("entries", notice.entry) if notice.entry else "") for notice in session.told()
    )


def _path(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _is_own(address: str) -> bool:
    """True for a path on this very server: browsers read `//host` and a backslash as another one."""
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()


def _is_secure(request: Request) -> bool:
    """True where the browser came by TLS; who claims that falsely only keeps a cookie from his own browser."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "").lower())


def _keep(
    response: Response, request: Request, name: str, value: str, *, path: str, seconds: int | None = None
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )
