"""The page of costs: what it shows, in both languages, and what it does with odd books and odd questions."""

from __future__ import annotations

import csv
import io
import re
import time
from decimal import Decimal
from xml.etree import ElementTree

import httpx
import pytest

from semcache.cost.report import By, by_day, day_text, total
from semcache.cost_port import AlarmKind, BudgetState, CostKey, CostSums
from semcache.cost_rules import BudgetRule, OnHard
from semcache.errors import StoreError
from semcache.review.access import Reviewer, Role
from semcache.review.costing import Days
from semcache.review.web.cost_plot import Bars, cost_bars, reuse_lines
from semcache.review.web.costs_view import alarm_rows, budget_rows, costs_view, finding_rows
from semcache.review.web.frame import Ui
from semcache.review.web.language import Language, Words
from tests.cost.books import DAY, book, key
from tests.review.costs import alarm, finding
from tests.review_web.visiting import client_of, enter, inert, sealed
from tests.review_web.world import HOSPITAL, LIN, ROOT, SEE, World, fakes, seed

TODAY = int(time.time()) // 86_400


@pytest.fixture
async def world() -> World:
    made = fakes()
    await seed(made)
    return made


def ui(language: Language = "en") -> Ui:
    who = Reviewer("see", Role.VIEWER, frozenset([HOSPITAL]))
    return Ui(Words(language, 1_000_000.0), "", "/", {}, who, HOSPITAL, (), "costs")


async def page_of(world: World, query: str = "", token: str = SEE, language: str = "en") -> httpx.Response:
    async with client_of(world) as client:
        await enter(client, token)
        return await client.get(f"/t/hospital/costs{query}", headers={"accept-language": language})


async def test_a_viewer_sees_what_was_paid_and_saved(world: World) -> None:
    page = await page_of(world)
    sealed(page)
    text = " ".join("".join(inert(page).text).split())
    whole = total(await world.costs.book.read(HOSPITAL, TODAY - 29, TODAY))
    words = Words("en", 0.0)
    for amount in (
        whole.paid,
        whole.without_caches,
        whole.saved,
        whole.net,
        whole.by_response,
        whole.by_provider,
        whole.by_local,
    ):
        assert words.money(amount) in text
    assert f"{words.number(whole.hits)} of {words.number(whole.sums.requests)} requests" in text
    for name in (
        "gpt-5-mini",
        "claude-haiku-4-5",
        "qwen3-0.6b",
        "ward-assistants",
        "Prompts grow",
        "time of day",
    ):
        assert name in text
    assert "Move the time behind the last message" in text
    assert page.text.count('class="of-paid"') > 15


async def test_the_same_in_chinese(world: World) -> None:
    page = await page_of(world, language="zh")
    for word in ("实际花费", "供应商提示缓存", "预算", "告警", "妨碍提示复用的原因", "把时间移到提示末尾"):
        assert word in page.text


@pytest.mark.parametrize("days", [1, 7, 90])
async def test_every_choice_has_its_page(world: World, days: int) -> None:
    async with client_of(world) as client:
        await enter(client, SEE)
        for by in (one.value for one in By if one is not By.TENANT):
            page = await client.get(f"/t/hospital/costs?by={by}&days={days}")
            assert page.status_code == 200, by
            assert f'<option value="{by}" selected>' in page.text
            assert f'<option value="{days}" selected>' in page.text


@pytest.mark.parametrize("query", ["?by=tenant", "?by=colour", "?days=31", "?days=x", "?days=-1", "?by=%00"])
async def test_what_cannot_be_chosen_is_refused(world: World, query: str) -> None:
    assert (await page_of(world, query)).status_code == 422


async def test_nothing_counted_says_what_to_do() -> None:
    page = await page_of(fakes())
    assert "Nothing was counted in these days." in page.text
    assert "semcache analyze FILE" in page.text
    assert '<svg class="plot' not in page.text


async def test_the_file_holds_the_same_sums(world: World) -> None:
    async with client_of(world) as client:
        await enter(client, LIN)
        page = await client.get("/t/hospital/costs/csv?days=30")
    assert page.headers["content-type"].startswith("text/csv")
    assert page.headers["content-disposition"] == 'attachment; filename="costs-30-days.csv"'
    assert page.headers["cache-control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(page.text, newline="")))
    whole = total(await world.costs.book.read(HOSPITAL, TODAY - 29, TODAY))
    assert sum(Decimal(row["BilledCost"]) for row in rows) * 10**6 == whole.spent
    assert {row["BillingAccountId"] for row in rows} == {HOSPITAL}


async def test_a_store_that_is_away_is_a_page(world: World) -> None:
    world.costs.book.away = True  # type: ignore[attr-defined]  # the fake's
    for path in ("", "/csv"):
        page = await page_of(world, path)
        assert page.status_code == 503
        sealed(page)


async def test_names_from_outside_stay_text(world: World) -> None:
    evil = {
        key(HOSPITAL, TODAY, model="<script>alert(1)</script>\x00\u202e"): CostSums(requests=1, cost=10**13)
    }
    await world.costs.book.add("evil.1", evil)
    await world.costs.alarms.put([alarm(HOSPITAL, AlarmKind.BUDGET, '"><img src=x>', time.time())])
    await world.costs.lint.put(
        "w", [finding(HOSPITAL, TODAY, sample="<b>\ud800", where="</td>", fix="<i>x</i>", tokens=10**9)]
    )
    page = await page_of(world)
    inert(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;[U+0000][U+202E]" in page.text
    assert "<b>" not in page.text


async def test_only_the_first_groups_are_shown(world: World) -> None:
    many = {key(HOSPITAL, TODAY, model=f"m{n:03}"): CostSums(requests=1, cost=n + 1) for n in range(60)}
    await world.costs.book.add("many.1", many)
    page = await page_of(world, "?days=1")
    assert "more are in the CSV file." in page.text


async def test_budgets_of_a_tenant_without_policy(world: World) -> None:
    async with client_of(world) as client:
        await enter(client, ROOT)
        page = await client.get("/t/nobody/costs")
    assert page.status_code == 200
    assert "states no budget" in page.text


def _view(made: dict[CostKey, CostSums], by: By = By.MODEL):  # type: ignore[no-untyped-def]  # a view
    return costs_view(Days(made, DAY - 1, DAY + 1), by, ui())


def test_what_has_no_price_says_so() -> None:
    view = _view(book())
    row = next(row for row in view.rows if row.name == "mystery")
    assert (row.paid.text, row.paid.is_known, row.input, row.unpriced) == ("no price", False, "500", "5")
    assert view.unpriced == 5


def test_a_loss_is_seen_as_one() -> None:
    view = _view(book())
    local = view.savings[2]
    assert (local.money.text, local.money.is_lost, local.bar) == ("−$0.005000", True, 0.0)


def test_days_come_newest_first_and_names_that_are_none_are_said() -> None:
    view = _view(book(), By.DAY)
    assert [row.name for row in view.rows] == [day_text(DAY + 1), day_text(DAY)]
    names = {
        row.name
        for row in _view(
            {key(project="~other"): CostSums(requests=1), key(): CostSums(requests=1)}, By.PROJECT
        ).rows
    }
    assert names == {"(others)", "(none)"}


def _bars(made: dict[CostKey, CostSums]) -> Bars | None:
    days = by_day(made, DAY - 1, DAY + 1)
    return cost_bars(days, str, lambda day: day.names[0], lambda value: f"{value:g}")


def test_bars_stand_on_zero_and_losses_hang_below() -> None:
    found = _bars(book())
    assert found is not None
    assert [len(bar.parts) for bar in found.bars] == [0, 4, 2]
    day = {part.layer: part for part in found.bars[1].parts}
    assert day["paid"].y + day["paid"].height == pytest.approx(found.plane.zero, abs=0.02)
    assert day["response"].y + day["response"].height == pytest.approx(day["paid"].y, abs=0.02)
    assert day["local"].y == pytest.approx(found.plane.zero, abs=0.02)
    assert day["response"].height / day["paid"].height == pytest.approx(0.62 / 1.9, abs=0.01)
    for bar in found.bars:
        for part in bar.parts:
            assert found.plane.top <= part.y <= part.y + part.height <= found.plane.bottom + 0.02
            assert found.plane.left <= part.x <= part.x + part.width <= found.plane.right


@pytest.mark.parametrize("amount", [1, 7, 999, 10**6, 10**13, -5, -(10**12)])
def test_axes_are_round_for_any_amount(amount: int) -> None:
    found = _bars({key(day=DAY): CostSums(requests=1, cost=max(amount, 0), by_response=min(amount, 0))})
    assert found is not None
    assert 2 <= len(found.plane.levels) <= 8
    assert len({tick.name for tick in found.plane.levels}) == len(found.plane.levels)


def test_nothing_is_drawn_of_nothing() -> None:
    assert _bars({}) is None
    assert reuse_lines(by_day({}, DAY, DAY + 1), str) is None
    assert _bars({key(): CostSums(requests=1, unpriced=1)}) is None


def test_lines_have_gaps() -> None:
    made = {key(day=DAY + at): CostSums(requests=1, input=1) for at in (0, 1, 2, 4)}
    found = reuse_lines(by_day(made, DAY, DAY + 4), str)
    assert found is not None
    assert [len(piece.split()) for piece in found.lines[0][1]] == [3, 2], "a point alone is a short line"


def state(rule: BudgetRule, spent: int = 0, held: int = 0, requests: int = 0) -> BudgetState:
    return BudgetState(rule, 0.0, 86_400.0, spent, held, requests)


def test_budgets_are_bars_the_fullest_first() -> None:
    low = BudgetRule("low", hard=100, soft=80)
    full = BudgetRule("full", hard=100, requests=10, models=("a*",), labels=(("project", "web"),))
    free = BudgetRule("free", hard=0)
    rows = budget_rows([state(low, 30, 20), state(full, 150, 0, 9), state(free)], ui())
    assert [row.name for row in rows] == ["full", "free", "low"]
    hard, requests = rows[0].bars
    assert (hard.share, hard.at, hard.tone, requests.word, requests.tone) == (
        1.5,
        100.0,
        "bad",
        "requests",
        "warn",
    )
    assert rows[0].scope == ("project: web", "a*")
    assert (rows[1].bars[0].share, rows[1].bars[0].tone) == (1.0, "bad")
    assert [(bar.word, bar.at, bar.held, bar.tone) for bar in rows[2].bars] == [
        ("hard", 30.0, 20.0, ""),
        ("soft", 37.5, 25.0, ""),
    ]


def test_what_happens_at_a_limit_on_requests_holds_for_answers_from_the_cache_too() -> None:
    rules = (
        BudgetRule("soft", soft=80),
        BudgetRule("money", hard=100),
        BudgetRule("requests", requests=10),
        BudgetRule("both", hard=100, requests=10),
        BudgetRule("neither", hard=100, requests=10, on_hard=OnHard.REFUSE),
    )
    said = {row.name: row.on_hard for row in budget_rows(map(state, rules), ui())}
    assert said == {
        "soft": "",
        "money": "only answers from the cache are given",
        "requests": "every request is refused",
        "both": "only answers from the cache are given; beyond the number of requests, none",
        "neither": "every request is refused",
    }


def test_an_alarm_stands_once_as_it_is_now() -> None:
    raised, over = (alarm("t", AlarmKind.RETRIES, "", 100.0 * n, is_raised=n == 1, value=0.2) for n in (1, 2))
    rows = alarm_rows([alarm("t", AlarmKind.BUDGET, "b", 50.0), over, raised], ui())
    assert [(row.kind, row.is_raised) for row in rows] == [("Budget", True), ("Many retries", False)]
    rows = alarm_rows([raised], ui())
    assert rows[0].text.startswith("20.0% of the requests")


@pytest.mark.parametrize("kind", AlarmKind)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_alarm_has_words(kind: AlarmKind, language: Language) -> None:
    (row,) = alarm_rows([alarm("t", kind, "subject", 1.0)], ui(language))
    assert row.text
    assert "{" not in row.text


def test_a_finding_without_a_price_or_a_fix() -> None:
    (row,) = finding_rows([finding("t", DAY, money=None, fix="")], ui())
    assert (row.money.text, row.fix) == (
        "no price",
        "Move the time to the end of the prompt, or round it to the day.",
    )


def test_findings_of_several_days_are_one() -> None:
    week = [finding("t", DAY + at, byte=at, money=5, tokens=10, seen=1, prompts=2) for at in range(5)]
    other = finding("t", DAY, where="tools", tokens=20, money=None)
    rows = finding_rows([*week, other], ui())
    assert [(row.where, row.tokens, row.money.text) for row in rows] == [
        ("system", "50", "$0.000025"),
        ("tools", "20", "no price"),
    ]
    assert (rows[0].seen, rows[0].place) == ("5 of 10 prompts", "from byte 4, about token 29")


async def test_every_picture_is_well_formed(world: World) -> None:
    page = await page_of(world)
    pictures = re.findall(r"<svg.*?</svg>", page.text, re.DOTALL)
    assert len(pictures) > 10
    for picture in pictures:
        ElementTree.fromstring(picture)


async def test_what_the_store_cannot_read_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("lint", kind="corrupt")

    monkeypatch.setattr(world.costs.lint, "findings", broken)
    assert (await page_of(world)).status_code == 503
