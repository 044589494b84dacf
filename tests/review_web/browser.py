"""A real Chromium before the pages on a real socket; both end with the test."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.review_web.world import World

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """Find the system's Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name)) is not None), None)


@dataclass
class Person:
    """Somebody with a browser of their own; hears what its console and its network say."""

    page: Page
    base: str
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda said: self.said.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", self._dismiss)

    async def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    async def enter(self, token: str, tenant: str = "hospital") -> None:
        await self.page.goto(f"{self.base}/login#token={token}")
        await self.page.wait_for_function("document.querySelector('#token').value !== ''")
        assert "#" not in self.page.url
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_url(f"**/t/{tenant}/queue")

    async def go(self, path: str, tenant: str = "hospital") -> None:
        await self.page.goto(f"{self.base}/t/{tenant}/{path}")

    @property
    def complaints(self) -> list[str]:
        """Give what the browser held against the pages."""
        return [
            said
            for said in self.said
            if said.startswith(("error", "warning")) and "status of 412" not in said
        ]

    @property
    def strayed(self) -> list[str]:
        """Give requests that went anywhere else."""
        return [url for url in self.asked if not url.startswith(f"{self.base}/")]


@dataclass
class House:
    """The pages, and browsers before them."""

    world: World
    base: str
    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)

    async def person(self, **options: Any) -> Person:
        given = {"locale": "en-GB", "viewport": {"width": 1280, "height": 900}, **options}
        context = await self.browser.new_context(**given)
        self.contexts.append(context)
        context.set_default_timeout(10_000)
        person = Person(await context.new_page(), self.base)
        person.listen()
        return person


@contextlib.asynccontextmanager
async def serving(world: World) -> AsyncIterator[str]:
    """Serve the pages on a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(world.app(), log_level="error", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listener]))
        try:
            while not server.started:  # noqa: ASYNC110  uvicorn tells it in no other way
                await asyncio.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await running


@contextlib.asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Open a browser with a profile of its own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def house(world: World, browser: Browser) -> AsyncIterator[House]:
    """Serve the pages, and close what was opened to look at them."""
    async with serving(world) as base:
        opened = House(world, base, browser)
        try:
            yield opened
        finally:
            for context in opened.contexts:
                await context.close()
