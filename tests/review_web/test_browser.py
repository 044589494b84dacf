"""The pages in a real Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from semcache.core import EntryId
from tests.review_web.browser import House, browsing, chromium, house
from tests.review_web.world import HOSPITAL, LIN, OTTO, SEE, World, completion, fakes, seed

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all: a browser takes a second to start."""
    return "asyncio"


@pytest.fixture(scope="module")
async def chrome() -> AsyncIterator[Browser]:
    async with browsing() as found:
        yield found


@pytest.fixture
async def world() -> World:
    made = fakes()
    await seed(made, 3)
    return made


@pytest.fixture
async def opened(world: World, chrome: Browser) -> AsyncIterator[House]:
    async with house(world, chrome) as found:
        yield found


async def test_approving_by_keyboard(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    rows = lin.page.locator("tr.is-current")
    await expect(rows).to_have_attribute("data-entry", "e-dose")
    await lin.page.keyboard.press("j")
    await expect(rows).to_have_attribute("data-entry", "e-fast")
    await lin.page.keyboard.press("j")
    await lin.page.keyboard.press("k")
    await expect(rows).to_have_attribute("data-entry", "e-fast")
    await expect(lin.page.locator("#peek [data-entry-shown='e-fast']")).to_be_visible()
    await lin.page.keyboard.press("Enter")
    await lin.page.wait_for_url("**/entries/e-fast")
    await lin.page.keyboard.press("a")
    await lin.page.wait_for_url("**/queue")
    await expect(lin.page.get_by_role("status")).to_contain_text("Approved.")
    await expect(lin.page.locator("tr[data-entry='e-fast']")).to_have_count(0)
    entry = await opened.world.verdicts.show(HOSPITAL, EntryId("e-fast"))
    assert entry is not None
    assert (entry.status, entry.review.by) == ("approved", "lin")
    assert lin.complaints == []


async def test_deciding_in_the_queue_and_typing_a_note(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    await expect(lin.page.locator("#peek [data-entry-shown='e-dose']")).to_be_visible()
    await lin.page.keyboard.press("n")
    await lin.page.keyboard.type("area: children")
    await lin.page.keyboard.press("Escape")
    await lin.page.keyboard.press("x")
    await expect(lin.page.get_by_role("status")).to_contain_text("Barred.")
    entry = await opened.world.verdicts.show(HOSPITAL, EntryId("e-dose"))
    assert entry is not None
    assert entry.status == "unreviewed"
    assert len(entry.barred) == 1
    line = (await opened.world.verdicts.log(HOSPITAL)).lines[0]
    assert line.act.note == "area: children"


async def test_editing_shows_what_changes(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    await lin.go("entries/e-visit")
    await lin.page.keyboard.press("e")
    await lin.page.wait_for_url("**/edit")
    field = lin.page.locator("#answer")
    await field.fill(
        "Visiting hours on ward 4 are from 15:00 to 19:00 every day, at most two visitors at a time."
    )
    await expect(lin.page.locator("#preview ins")).to_contain_text("15:00")
    await expect(lin.page.locator("#preview del")).to_contain_text("14:00")
    await field.press("Control+Enter")
    await lin.page.wait_for_url("**/queue")
    await lin.go("entries/e-visit")
    await expect(lin.page.get_by_role("region", name="Answer").first).to_contain_text("15:00")
    await expect(lin.page.locator(".history")).to_contain_text("Version 1")
    assert lin.complaints == []


async def test_two_reviewers_meet(opened: House) -> None:
    lin, otto = await opened.person(), await opened.person()
    await lin.enter(LIN)
    await otto.enter(OTTO)
    await lin.go("entries/e-visit/edit")
    await otto.go("entries/e-visit")
    await otto.page.keyboard.press("r")
    await otto.page.wait_for_url("**/queue")
    await lin.page.locator("#answer").fill("Whenever you like.")
    async with lin.page.expect_response("**/verdict") as answered:
        await lin.page.get_by_role("button", name="Save and approve").click()
    assert (await answered.value).status == 412
    await expect(lin.page.get_by_role("heading", level=1)).to_have_text("Somebody decided meanwhile")
    await expect(lin.page.get_by_role("alert")).to_contain_text("otto decided: rejected")
    await expect(lin.page.locator("#answer")).to_have_value("Whenever you like.")
    await lin.page.get_by_role("button", name="Save and approve").click()
    await lin.page.wait_for_url("**/queue")
    entry = await opened.world.verdicts.show(HOSPITAL, EntryId("e-visit"))
    assert entry is not None
    assert entry.status == "edited"
    assert lin.complaints == []


EVIL = [
    "<script>window.evil = 1; alert(1)</script>",
    '"><img src="/evil.png" onerror="window.evil = 1; alert(2)">',
    "<svg onload=alert(3)></svg><iframe src=javascript:alert(4)></iframe>",
    "</textarea><script>window.evil = 1</script>",
    "<div hx-get='/evil' hx-trigger='load'>x</div>",
]


async def test_a_stored_script_stays_text(opened: House) -> None:
    world = opened.world
    for i, text in enumerate(EVIL):
        entry = await world.put(f"evil{i}", text, completion(text), tags=(text,), model=text)
        await world.sight(entry, f"{text} again", 90.0, "complaint")
    lin = await opened.person()
    await lin.enter(LIN)
    for i in range(len(EVIL)):
        await expect(lin.page.locator(f"#peek [data-entry-shown='evil{4 - i}']")).to_be_attached()
        await lin.page.keyboard.press("j")
    for i, text in enumerate(EVIL):
        for path in (f"entries/evil{i}", f"entries/evil{i}/edit"):
            await lin.go(path)
            assert await lin.page.evaluate("window.evil") is None
            assert (
                await lin.page.locator("script:not([src^='/static/']), img, iframe, [hx-get='/evil']").count()
                == 0
            )
        await expect(lin.page.locator("#answer")).to_have_value(text)
        await lin.page.locator("#answer").press("End")
        await lin.page.keyboard.type("<b>!</b>")
        await expect(lin.page.locator("#preview ins").first).to_be_visible()
    await lin.go("search?q=evil")
    assert await lin.page.evaluate("window.evil") is None
    assert lin.dialogs == []
    assert lin.strayed == []
    assert not [url for url in lin.asked if "evil.png" in url or url.endswith("/evil")]
    assert lin.complaints == []


async def test_another_tenant_is_not_there(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    assert await lin.page.locator("#tenant").count() == 0
    for path in ("queue", "entries/s-return", "log", "policies", "costs"):
        response = await lin.page.goto(f"{opened.base}/t/shop/{path}")
        assert response is not None
        assert response.status == 404
        assert "How long can I return" not in (await lin.page.content())
    otto = await opened.person()
    await otto.enter(OTTO)
    await otto.page.locator("#tenant").select_option("shop")
    await otto.page.wait_for_url("**/t/shop/queue")
    await expect(otto.page.locator("a.ask").first).to_have_text("How long can I return an item?")


async def test_the_language_is_switched_and_stays(opened: House) -> None:
    lin = await opened.person(locale="de-DE")
    await lin.enter(LIN)
    await lin.go("entries/e-zh")
    await lin.page.get_by_role("button", name="中文").click()
    await expect(lin.page.get_by_role("heading", level=1)).to_have_text("条目")
    assert await lin.page.locator("html").get_attribute("lang") == "zh-Hans"
    assert lin.page.url.endswith("/entries/e-zh")
    await lin.go("numbers")
    await expect(lin.page.get_by_role("heading", level=1)).to_have_text("运行数据")
    zh = await opened.person(locale="zh-CN")
    await zh.page.goto(f"{opened.base}/login")
    await expect(zh.page.get_by_role("heading", level=1)).to_have_text("登录")


@pytest.mark.parametrize("width", [1280, 390])
async def test_no_page_offends_its_own_policy_or_runs_over(opened: House, width: int) -> None:
    lin = await opened.person(viewport={"width": width, "height": 844}, color_scheme="dark")
    await lin.enter(LIN)
    long = await opened.world.put("e-long", "Longwordwithoutblanks" * 40, "Anotherlongword" * 60)
    await opened.world.sight(long, "Longwordwithoutblanks" * 39 + "!", 60.0, "gate")
    paths = (
        "queue",
        "entries/e-dose",
        "entries/e-long",
        "entries/e-dose/edit",
        "search?q=a",
        "policies",
        "numbers",
        "costs?days=90&by=project",
        "log",
    )
    for path in paths:
        await lin.go(path)
        await lin.page.wait_for_timeout(150)
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await lin.page.evaluate(over) <= 0, path
    await lin.go("policies")
    async with lin.page.expect_response("**/whatif**"):
        await lin.page.locator("input[type=number][name=threshold]").fill("0.8")
    await expect(lin.page.locator("#plot")).to_contain_text("Hits")
    assert lin.complaints == []
    assert lin.strayed == []


async def test_the_queue_follows_without_losing_its_place(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    await lin.page.keyboard.press("j")
    await expect(lin.page.locator("tr.is-current")).to_have_attribute("data-entry", "e-fast")
    heavy = await opened.world.put("e-heavy", "A heavy one?", "Yes.")
    await opened.world.sight(heavy, "A heavier one?", 500.0, "audit")
    await lin.page.evaluate(
        "htmx.ajax('GET', document.querySelector('#rows').getAttribute('hx-get'), {target: '#rows', swap: 'outerHTML'})"
    )
    await expect(lin.page.locator("tr[data-entry='e-heavy']")).to_be_visible()
    await expect(lin.page.locator("tr.is-current")).to_have_attribute("data-entry", "e-fast")
    assert await lin.page.evaluate("document.activeElement.id") == "row-e-fast"


async def test_the_first_to_arrive_in_an_empty_queue_is_at_hand(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    await lin.go("queue?domain=emergency")
    await expect(lin.page.locator("tr[data-entry]")).to_have_count(0)
    first = await opened.world.put("e-first", "Which number is to be called?", "112.", domain="emergency")
    await opened.world.sight(first, "Which number do I call?", 5.0, "audit")
    await lin.page.evaluate(
        "htmx.ajax('GET', document.querySelector('#rows').getAttribute('hx-get'), {target: '#rows', swap: 'outerHTML'})"
    )
    await expect(lin.page.locator("tr.is-current")).to_have_attribute("data-entry", "e-first")
    await lin.page.keyboard.press("Enter")
    await lin.page.wait_for_url("**/entries/e-first")


async def test_help_by_keyboard(opened: House) -> None:
    lin = await opened.person()
    await lin.enter(LIN)
    await lin.page.keyboard.press("?")
    await expect(lin.page.locator("#help")).to_be_visible()
    await lin.page.keyboard.press("a")
    await lin.page.keyboard.press("Escape")
    await expect(lin.page.locator("#help")).to_be_hidden()
    assert (await opened.world.verdicts.log(HOSPITAL)).lines == ()


async def test_costs_are_grouped_and_taken_home_without_scripts(opened: House) -> None:
    see = await opened.person(java_script_enabled=False)
    await see.page.goto(f"{opened.base}/login")
    await see.page.locator("#token").fill(SEE)
    await see.page.locator("#enter").click()
    await see.page.get_by_role("link", name="Costs").click()
    await see.page.locator("#by").select_option("project")
    await see.page.locator("#days").select_option("7")
    await see.page.get_by_role("button", name="Show").click()
    await expect(see.page.get_by_role("rowheader", name="handbook-search")).to_be_visible()
    async with see.page.expect_download() as taken:
        await see.page.get_by_role("link", name="CSV").click()
    found = await taken.value
    assert found.suggested_filename == "costs-7-days.csv"
    assert (await found.path()).read_text(encoding="utf-8").startswith("BilledCost,")
    assert see.complaints == []


async def test_everything_works_without_scripts(opened: House) -> None:
    lin = await opened.person(java_script_enabled=False)
    await lin.page.goto(f"{opened.base}/login")
    await lin.page.locator("#token").fill(LIN)
    await lin.page.locator("#enter").click()
    await lin.page.locator("a.ask").first.click()
    await lin.page.get_by_role("button", name="Approve", exact=False).first.click()
    await lin.page.wait_for_url("**/queue")
    await expect(lin.page.get_by_role("status")).to_contain_text("Approved.")
