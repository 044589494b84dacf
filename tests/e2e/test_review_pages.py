"""A reviewer at a real browser, a running proxy behind the pages: what they decide is what callers get."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.running import Proxy, calm_policies, running
from tests.e2e.test_review import admin_of
from tests.fakes.upstream_server import UpstreamServer
from tests.review_web.browser import Person, browsing, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")

STORED, ASKED = "What is the capital of France?", "What's the capital of France?"


async def test_what_is_approved_and_edited_on_the_pages_is_what_callers_get(
    upstream: UpstreamServer, tmp_path: Path
) -> None:
    rules = ["--policies", str(policies(tmp_path / "policies"))]
    with running(tmp_path / "data", "--upstream", upstream.url, "--admin-port", "0", *rules) as proxy:
        await asyncio.to_thread(met, proxy)
        admin = await asyncio.to_thread(admin_of, proxy)
        async with browsing() as browser:
            page = await browser.new_page(locale="en-GB", viewport={"width": 1280, "height": 900})
            person = Person(page, admin.url)
            person.listen()
            await person.enter(admin.token, "default")
            # The proxy hands sightings on every two seconds; the list loads itself anew.
            await expect(page.locator("tr.is-current")).to_contain_text(STORED, timeout=20_000)
            await page.keyboard.press("Enter")
            await page.wait_for_url("**/entries/*")
            await page.keyboard.press("a")
            await expect(page.get_by_role("status")).to_contain_text("Approved.")
            reply = await asyncio.to_thread(proxy.chat, ASKED)
            assert (reply.headers["semcache-outcome"], reply.headers["semcache-verified"]) == (
                "semantic",
                "?1",
            )

            await person.go(f"entries/{reply.headers['semcache-entry']}/edit", "default")
            await page.locator("#answer").fill("Paris, says somebody who was there.")
            await page.keyboard.press("Control+Enter")
            await expect(page.get_by_role("status")).to_contain_text("is now the answer")
            reply = await asyncio.to_thread(proxy.chat, ASKED)
            assert reply.text == "Paris, says somebody who was there."
            await person.go("log", "default")
            await expect(page.locator("main")).to_contain_text("edit")
            assert person.complaints == []
            assert person.strayed == []


def met(proxy: Proxy) -> None:
    """Let a stored answer meet another question, so that it comes before a reviewer."""
    proxy.chat(STORED)
    proxy.wait_until(lambda: proxy.outcome(ASKED) == "semantic")


def policies(folder: Path) -> Path:
    """Give policies under which every hit comes before a reviewer."""
    for file in calm_policies(folder).glob("*.yaml"):
        text = file.read_text()
        assert "sample: 0.01" in text
        file.write_text(text.replace("sample: 0.01", "sample: 1.0"))
    return folder
