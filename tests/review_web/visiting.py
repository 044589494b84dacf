"""A browser without scripts: how it comes in, what it sends, and what a page may hold."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from tests.review_web.world import LIN, World, fakes, seed

__all__ = ["lin", "visitor", "world"]  # fixtures, used by name

BASE = "http://127.0.0.1"
CHILDREN = "What is the maximum daily dose of paracetamol for children over 12?"
Client = httpx.AsyncClient


@pytest.fixture
async def world() -> World:
    made = fakes()
    await seed(made, 3)
    return made


@pytest.fixture
async def visitor(world: World) -> AsyncIterator[Client]:
    async with client_of(world) as client:
        yield client


@pytest.fixture
async def lin(world: World) -> AsyncIterator[Client]:
    async with client_of(world) as client:
        await enter(client, LIN)
        yield client


def client_of(world: World, base: str = BASE, **options: Any) -> Client:
    transport = httpx.ASGITransport(app=world.app(**options))
    return Client(transport=transport, base_url=base, follow_redirects=True)


async def enter(client: Client, token: str) -> httpx.Response:
    return await client.post("/login", data={"csrf": csrf(await client.get("/login")), "token": token})


def csrf(page: httpx.Response) -> str:
    return hidden(page, "csrf")


def hidden(page: httpx.Response, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, page.text
    return found[1].replace("&#34;", '"')


async def ticket(client: Client, path: str) -> dict[str, str]:
    page = await client.get(path)
    assert page.status_code == 200, page.text
    return {name: hidden(page, name) for name in ("csrf", "etag", "asked")}


async def settle(client: Client, id: str, verdict: str, **more: str) -> httpx.Response:
    sent = {**await ticket(client, f"/t/hospital/entries/{id}"), "verdict": verdict, **more}
    return await client.post(f"/t/hospital/entries/{id}/verdict", data=sent)


PAGES = (
    "queue",
    "entries/e-dose",
    "entries/e-dose/edit",
    "search",
    "search?q=dose",
    "policies",
    "numbers",
    "costs",
    "costs?days=7&by=day",
    "log",
)


class Inert(HTMLParser):
    """Finds whatever a page could carry out, and what it points to."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.text: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.bad.append(f"script {given}")
        if tag in ("img", "iframe", "object", "embed", "base", "style"):
            self.bad.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        for name, value in given.items():
            if name.startswith(("on", "hx-on")) or name == "style":
                self.bad.append(f"{tag} {name}")
            if name in ("href", "src", "action", "formaction", "hx-get", "hx-post") and not value.startswith(
                ("/", "#")
            ):
                self.bad.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def inert(page: httpx.Response) -> Inert:
    found = Inert()
    found.feed(page.text)
    assert found.bad == []
    return found


def sealed(page: httpx.Response) -> None:
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
