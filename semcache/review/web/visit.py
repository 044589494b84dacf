"""One request for a page: who makes it, in which language, and what its form says.

Knows HTTP and sessions, and no page in particular.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from semcache.core import TenantId
from semcache.errors import RequestError
from semcache.review.access import Reviewer
from semcache.review.costing import Costing
from semcache.review.service import ReviewService
from semcache.review.web.frame import Frame, Ui
from semcache.review.web.sessions import Session

LANGUAGE_COOKIE = "semcache_language"
MOST_FORM = 8 << 20
"""Bytes of a form: an answer of the size that policies allow by default, each byte written as three."""
_MOST_FIELDS = 50
_PATIENCE = 15.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A request by somebody who is logged in, about a tenant that they may see.

    `form` holds the fields of a form that was sent, empty else; `is_partial` is True where htmx asks for a part of a page.
    """

    request: Request
    session: Session[Reviewer]
    who: Reviewer
    tenant: TenantId
    ui: Ui
    service: ReviewService
    costing: Costing
    frame: Frame
    form: Mapping[str, str]

    @property
    def query(self) -> Mapping[str, str]:
        """Give the fields of the address; the last of several with one name."""
        return dict(self.request.query_params)

    @property
    def is_partial(self) -> bool:
        """True where a script on the page asks for a part of it."""
        return self.request.headers.get("hx-request") == "true"

    def page(self, template: str, status: int = 200, **content: object) -> Response:
        """Render a template."""
        return self.frame.page(template, self.ui, status, **content)


Handler = Callable[[Visit], Awaitable[Response]]


async def form_of(request: Request, most: int = MOST_FORM) -> dict[str, str]:
    """Read the fields of a form of at most `most` bytes; lines end as everywhere else.

    Raises:
        RequestError: 408 it does not come, 413 too large, 422 not a form, or too many fields.
    """
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise RequestError("This is not a form.", status=422, code="bad-form")
    try:
        async with asyncio.timeout(_PATIENCE):
            body = await _body(request, most)
    except TimeoutError:
        raise RequestError("The form did not arrive.", status=408, code="late") from None
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="replace", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise RequestError("This is not a form.", status=422, code="bad-form") from None
    return {name: value.replace("\r\n", "\n") for name, value in fields}


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise RequestError("The form is too large.", status=413, code="too-large")
    return bytes(body)


def number_in(form: Mapping[str, str], name: str, low: float, high: float) -> float | None:
    """Give a number from a form; None where the field is empty.

    Raises:
        RequestError: 422 when it is none, or lies outside.
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise RequestError(f"{name}: not a number from {low:g} to {high:g}.", status=422, code="bad-number")
    return value
