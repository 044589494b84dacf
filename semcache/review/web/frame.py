"""What every page has around its content: words, names, links, and the response with its strict headers.

Knows no page in particular and no service.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from semcache.review.access import Reviewer, Role
from semcache.review.web.language import Words

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "LICENSE": "text/plain; charset=utf-8",
}
_PAGES = ("queue", "search", "policies", "numbers", "costs", "log")


@dataclass(frozen=True, slots=True)
class Asset:
    """A file for the browser; `version` is a digest of it."""

    body: bytes
    type: str
    version: str


def assets() -> dict[str, Asset]:
    """Read the files that pages use: some tens of kilobytes."""
    found: dict[str, Asset] = {}
    for item in resources.files("semcache.review.web").joinpath("static").iterdir():
        kind = _TYPES.get(item.name.rpartition(".")[2])
        if kind is not None:
            body = item.read_bytes()
            found[item.name] = Asset(body, kind, hashlib.sha256(body).hexdigest()[:12])
    return found


@dataclass(frozen=True, slots=True)
class Said:
    """A notice on a page: a key of the texts, and where to look, or ""."""

    key: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An item of the navigation."""

    name: str
    href: str


@dataclass(frozen=True, slots=True)
class Ui:
    """What a template needs to know beside its own content.

    `path` is where the page stands, for coming back; `here` the name of the page in the navigation.
    """

    t: Words
    csrf: str
    path: str
    versions: Mapping[str, str]
    who: Reviewer | None = None
    tenant: str = ""
    tenants: tuple[str, ...] = ()
    here: str = ""
    notices: Sequence[Said] = field(default=())

    def saying(self, notices: Sequence[Said]) -> Ui:
        """Give the same with something to say."""
        return replace(self, notices=tuple(notices))

    @property
    def may_decide(self) -> bool:
        """True for those who may say what is right."""
        return self.who is not None and self.who.may(Role.REVIEWER)

    @property
    def may_operate(self) -> bool:
        """True for those who may do what cannot be taken back."""
        return self.who is not None and self.who.may(Role.OPERATOR)

    @property
    def home(self) -> str:
        """Give where the queue is."""
        return self.at("queue") if self.tenant else "/"

    @property
    def here_url(self) -> str:
        """Give the address of this page without its query."""
        return self.at(self.here)

    @property
    def switch(self) -> str:
        """Give where another tenant is chosen."""
        return "/tenant"

    @property
    def nav(self) -> list[Link]:
        """Give the pages."""
        return [Link(name, self.at(name)) for name in _PAGES] if self.tenant else []

    def at(self, *parts: str) -> str:
        """Give an address below the tenant's."""
        return "/" + "/".join(quote(part, safe="") for part in ("t", self.tenant, *parts))

    def url(self, name: str) -> str:
        """Give an address outside of tenants."""
        return f"/{name}"

    def static(self, name: str) -> str:
        """Give the address of a file, which changes with what is in it."""
        return f"/static/{name}?v={self.versions[name]}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Give the templates; compiling them takes longer than rendering a page."""
    env = Environment(
        loader=PackageLoader("semcache.review.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.filters["veto_name"] = lambda rule, ui: ui.t.word("veto", rule)
    return env


class Frame:
    """The templates, and what responses made of them carry."""

    def __init__(self) -> None:
        self._env = _environment()

    def text(self, template: str, ui: Ui, **content: Any) -> str:
        """Render a template."""
        return self._env.get_template(template).render(ui=ui, **content)

    def page(self, template: str, ui: Ui, status: int = 200, **content: Any) -> Response:
        """Render a template into a response."""
        # A lone surrogate that no template made visible must not keep a reviewer from the page.
        body = self.text(template, ui, **content).encode("utf-8", "replace")
        return sealed(Response(body, status, media_type="text/html"))


def sealed(response: Response) -> Response:
    """Put the headers on that every response of the pages has; what may be kept says so itself."""
    for name, value in _HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("cache-control", "no-store")
    return response


def elsewhere(address: str) -> Response:
    """Send the browser to another page of ours, with GET (RFC 9110, 15.4.4)."""
    return sealed(Response(status_code=303, headers={"location": address}))


def file_response(asset: Asset, version: str) -> Response:
    """Give a file: for good where the address names its version."""
    kept = "public, max-age=31536000, immutable" if version == asset.version else "no-cache"
    headers = {"cache-control": kept, "etag": f'"{asset.version}"', "content-type": asset.type}
    return sealed(Response(asset.body, headers=headers))
