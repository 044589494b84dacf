"""The page: all parts, none where there is nothing, safe whatever stands in it, and the same in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import async_playwright

from semcache.advise.advice import advice_of
from semcache.advise.findings import Findings
from semcache.advise.html import charts
from semcache.advise.html.charts import Part
from semcache.advise.html.page import page_of
from semcache.advise.proposal import policy_text
from semcache.advise.worth import worth_of
from semcache.core import TenantId
from semcache.cost_port import Cause, LintFinding
from semcache.policy.loader import load_default
from tests.advise.found import domain, exact, findings, semantic

POLICIES, TENANT = load_default(), TenantId("default")
LINT = LintFinding(
    "t",
    1,
    "g",
    Cause.TIME,
    "system",
    120,
    30,
    "0000-00-00",
    500,
    490,
    20_000,
    5_000,
    "Move the time to the end.",
)
EVIL = "<script>alert(1)</script>\"'&{{ 7*7 }}"
VOID = frozenset(("meta", "link", "br", "img", "input", "hr"))


def whole(found: Findings | None = None) -> Findings:
    """Give findings with worth, advice and policy."""
    held = domain(
        "medical",
        exact=0,
        semantic=0,
        would_be=500,
        wrong=None,
        wrong_interval=None,
        held_back="draft",
        drafts=600,
    )
    replayed = semantic(
        domain(), held, wrong=2.0, wrong_interval=(0.0, 5.0), hit_interval=(0.1, 0.2), sampled=True
    )
    found = found or findings(replayed, lint=(LINT,))
    found = replace(found, worth=worth_of(found, POLICIES, TENANT))
    advice = advice_of(found)
    found = replace(found, advice=advice)
    return replace(found, advice=replace(advice, policy=policy_text(found, POLICIES, TENANT)))


class Read(HTMLParser):
    """Checks that tags close in order; collects text, tags and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data.replace("\u00a0", " ")


def test_all_parts_stand_on_it() -> None:
    read = Read(page_of(whole()))
    assert read.open == []
    for word in (
        "A cache would save $",
        "What to do",
        "switch on",
        "kept back until proven",
        "Expected wrong hits",
        "299 pairs of answers compared",
        "below-threshold 7,900",
        "Beginnings that prompts share",
        "Move the time to the end.",
        "95 %: 4,000 (40 MiB)",
        "1.4 s in the median",
        "schema_version: 1",
        "log.jsonl:7: is no JSON",
        "12 % to 20 % (95 %)",
    ):
        assert word in read.text, word


def test_nothing_from_outside_no_script_and_a_policy_that_lets_nothing_in() -> None:
    page = page_of(whole())
    read = Read(page)
    assert read.tags.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base"})
    names = {name for name, _ in read.attributes}
    assert not any(name.startswith("on") for name in names)
    assert names.isdisjoint({"src", "href", "style", "srcset", "xlink:href"})
    assert re.search(r"url\(|@import|https?:", page) is None
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page.replace("&#39;", "'")


def test_what_a_log_names_itself_is_text() -> None:
    found = whole()
    files = (replace(found.reading.files[0], name=EVIL),)
    evil = replace(
        found,
        reading=replace(found.reading, files=files, examples=(EVIL,), reasons=((EVIL, 3),)),
        semantic=semantic(domain(EVIL, reasons=((EVIL, 5),))),
        lint=(replace(LINT, where=EVIL, fix=EVIL),),
        notes=(EVIL, "\ud800"),
    )
    read = Read(page_of(evil))
    assert "script" not in read.tags
    assert EVIL in read.text
    assert "49" not in read.text.replace("490", "").replace("499", "")


def test_texts_of_the_log_stand_there_only_when_asked_for() -> None:
    assert "Examples from the log" not in page_of(whole())
    read = Read(page_of(whole(), [EVIL, "long " * 1_000]))
    assert "Examples from the log" in read.text
    assert EVIL in read.text
    assert read.text.count("long ") < 100
    assert "script" not in read.tags


@pytest.mark.parametrize(
    "found",
    [
        findings(rows=0),
        findings(rows=1),
        findings(),
        findings(exact=exact(hits=0)),
        findings(semantic(), rows=0),
        findings(semantic(domain(saved_cost=0, saved_by_exact=0, unpriced=1_800), unpriced=1_800)),
        findings(semantic(domain(wrong=None, wrong_interval=None, wrong_method="unknown")), days=0.0),
        findings(semantic(domain(requests=1, exact=0, semantic=0))),
        findings(semantic(domain()), lint=()),
    ],
)
def test_whatever_is_not_known_is_left_out(found: Findings) -> None:
    assert Read(page_of(found)).open == []
    read = Read(page_of(whole(found)))
    assert read.open == []
    assert re.search(r"\b(None|nan|inf)\b", read.text) is None


@given(
    st.lists(st.lists(st.integers(0, 10**12), min_size=1, max_size=5), min_size=1, max_size=6), st.booleans()
)
def test_bars_lie_inside_their_plane_and_beside_each_other(rows: list[list[int]], whole_rows: bool) -> None:
    made = charts.stack(
        [("name", [Part("k", "part", each) for each in row], "") for row in rows], whole=whole_rows
    )
    if made is None:
        assert not any(map(sum, rows))
        return
    for row in made.rows:
        at = float(made.left)
        for piece in row.pieces:
            assert piece.x >= at - 0.03
            assert piece.width >= 0
            at = piece.x + piece.width
        assert at <= made.right + 0.03
    assert all(made.left <= tick.at <= made.right for tick in made.ticks)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.0001, 0.5)),
        min_size=1,
        max_size=5,
    )
)
def test_intervals_lie_inside_their_plane(rows: list[tuple[float, float, float, float]]) -> None:
    made = charts.spans(
        [("name", min(row[:3]), sorted(row[:3])[1], max(row[:3]), row[3], "") for row in rows]
    )
    assert made is not None
    for span in made.rows:
        assert made.left <= span.low <= span.likely <= span.high <= made.right
        assert made.left <= span.allowed <= made.right


@pytest.mark.parametrize("points", [(), ((0, 0.0),), ((0, 0.0), (0, 1.0))])
def test_no_curve_of_nothing(points: tuple[tuple[int, float], ...]) -> None:
    assert charts.curve(points, (), 1) is None
    assert charts.stack([], whole=True) is None
    assert charts.spans([]) is None


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1100, 390])
async def test_a_browser_has_nothing_against_it(tmp_path: Path, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(whole(), [EVIL]), encoding="utf-8")
    said: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        await page.goto(path.as_uri())
        # The style sheet is in force, and nothing is wider than the window.
        assert await page.evaluate("getComputedStyle(document.querySelector('.tiles')).display") == "grid"
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await browser.close()
    assert said == [path.as_uri()]
