"""A reviewer's morning on the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from semcache.core import EntryId
from semcache.store.embedded import ValkeyChild
from tests.review_web.browser import browsing, chromium, house
from tests.review_web.real import real_world
from tests.review_web.visiting import client_of, csrf, enter, hidden, inert, sealed, settle
from tests.review_web.world import HOSPITAL, LIN, OTTO, World, seed
from tests.store.servers import valkey

__all__ = ["valkey"]
PAGES = (
    "queue",
    "entries/e-dose",
    "entries/e-dose/edit",
    "search?q=dose",
    "policies",
    "numbers",
    "costs",
    "log",
)


@pytest.fixture
async def world(valkey: ValkeyChild) -> AsyncIterator[World]:
    async with real_world(valkey.url) as made:
        await seed(made, 3)
        yield made


async def test_every_page_and_a_conflict(world: World) -> None:
    async with client_of(world) as lin, client_of(world) as otto:
        await enter(lin, LIN)
        await enter(otto, OTTO)
        for path in PAGES:
            page = await lin.get(f"/t/hospital/{path}")
            assert page.status_code == 200
            sealed(page)
            inert(page)
        late = await lin.get("/t/hospital/entries/e-visit/edit")
        assert "Approved." in (await settle(otto, "e-visit", "approve", note="checked")).text
        sent = {"csrf": csrf(late), "etag": hidden(late, "etag"), "verdict": "edit", "answer": "Other hours."}
        page = await lin.post("/t/hospital/entries/e-visit/verdict", data=sent)
        assert page.status_code == 412
        assert "otto decided: approved" in page.text
        assert "Other hours.</textarea>" in page.text
        assert "14:00 to 19:00" in page.text
        assert 'data-entry="e-visit"' not in (await lin.get("/t/hospital/queue")).text
        log = await lin.get("/t/hospital/log")
        assert "checked" in log.text
        assert "The chain is whole." in log.text


async def test_costs_are_those_of_the_shelves(world: World) -> None:
    async with client_of(world) as lin:
        await enter(lin, LIN)
        page = await lin.get("/t/hospital/costs")
        rows = (await lin.get("/t/hospital/costs/csv?days=30")).text.splitlines()
    for word in (
        "gpt-5-mini",
        "$2.24 of $2.50",
        "Prompts grow",
        "Move the time behind the last message",
        "3,204,000",
    ):
        assert word in page.text, word
    assert len(rows) > 1000


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")
async def test_approving_by_keyboard(world: World) -> None:
    async with browsing() as browser, house(world, browser) as opened:
        lin = await opened.person()
        await lin.enter(LIN)
        await lin.page.keyboard.press("j")
        await lin.page.keyboard.press("Enter")
        await lin.page.wait_for_url("**/entries/e-fast")
        await lin.page.keyboard.press("a")
        await lin.page.wait_for_url("**/queue")
        await expect(lin.page.get_by_role("status")).to_contain_text("Approved.")
        assert lin.complaints == []
    entry = await world.verdicts.show(HOSPITAL, EntryId("e-fast"))
    assert entry is not None
    assert entry.status.is_verified
