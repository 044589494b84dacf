"""The pages as a browser without scripts gets them."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from semcache.errors import StoreError
from semcache.review.web.language import LANGUAGES
from tests.review_web.world import HOSPITAL, LIN, OTTO, ROOT, SEE, World, completion, digest, fakes, seed

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


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_page_is_whole_and_sealed(lin: Client, path: str, language: str) -> None:
    page = await lin.get(f"/t/hospital/{path}", headers={"accept-language": language})
    assert page.status_code == 200
    sealed(page)
    found = inert(page)
    assert len(found.ids) == len(set(found.ids))
    assert f'<html lang="{ {"en": "en", "zh": "zh-Hans"}[language] }">' in page.text
    assert page.text.count("<h1") == 1
    assert page.text.count("<main") == 1


def sealed(page: httpx.Response) -> None:
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", *(f"/t/hospital/{path}" for path in PAGES), "/t/nobody/queue"])
async def test_nothing_is_shown_to_strangers(visitor: Client, path: str) -> None:
    page = await visitor.get(path)
    assert page.url.path == "/login"
    assert "paracetamol" not in page.text
    sealed(page)


async def test_files_are_kept_by_their_version(visitor: Client) -> None:
    page = await visitor.get("/login")
    for name in ("review.css", "keys.js", "htmx.min.js", "icon.svg"):
        address = re.search(rf"/static/{re.escape(name)}\?v=\w+", page.text)
        assert address is not None
        assert "immutable" in (await visitor.get(address[0])).headers["cache-control"]
        assert (await visitor.get(f"/static/{name}?v=old")).headers["cache-control"] == "no-cache"
    assert (await visitor.get("/static/..%2froutes.py")).status_code == 404


async def test_a_session_is_a_strict_cookie(world: World) -> None:
    async with client_of(world, "https://127.0.0.1") as client:
        page = await client.get("/login")
        sent = {"csrf": csrf(page), "token": LIN}
        kept = (await client.post("/login", data=sent, follow_redirects=False)).headers["set-cookie"]
    assert "semcache_review=" in kept
    assert LIN not in kept
    for word in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert word in kept


async def test_a_session_behind_tls_in_front_is_secure_too(visitor: Client) -> None:
    page = await visitor.get("/login", headers={"x-forwarded-proto": "https"})
    assert "Secure" in page.headers["set-cookie"]
    assert "Secure" not in (await visitor.get("/login")).headers["set-cookie"]


async def test_strangers_cannot_send_much(visitor: Client) -> None:
    for path in ("/login", "/language", "/logout"):
        assert (await visitor.post(path, data={"token": "x" * 20_000})).status_code == 413
        assert (await visitor.post(path, json={"token": "x"})).status_code == 422


async def test_wrong_tokens_are_refused_and_slowed_down(visitor: Client) -> None:
    for _ in range(6):
        assert (await enter(visitor, "wrong")).status_code == 401
    page = await enter(visitor, LIN)
    assert page.status_code == 429
    assert int(page.headers["retry-after"]) >= 1


async def test_a_login_form_must_be_ours(visitor: Client) -> None:
    assert (await visitor.post("/login", data={"token": LIN})).status_code == 403
    page = await visitor.get("/t/hospital/queue")
    assert page.url.path == "/login"


async def test_logging_out_ends_the_session(lin: Client) -> None:
    token = csrf(await lin.get("/t/hospital/queue"))
    cookie = lin.cookies["semcache_review"]
    assert (await lin.post("/logout", data={"csrf": token})).url.path == "/login"
    lin.cookies.set("semcache_review", cookie)
    assert (await lin.get("/t/hospital/queue")).url.path == "/login"


async def test_a_session_ends_by_itself_though_the_page_asks_on(world: World) -> None:
    at = [0.0]
    async with client_of(world, now=lambda: at[0], idle=60.0) as client:
        await enter(client, LIN)
        at[0] = 50.0
        poll = {"hx-request": "true", "hx-trigger": "rows"}
        assert (await client.get("/t/hospital/queue", headers=poll)).status_code == 200
        at[0] = 70.0
        gone = await client.get("/t/hospital/queue", headers=poll)
        assert gone.headers["hx-redirect"] == "/login?why=ended"


@pytest.mark.parametrize("verdict", ["approve", "reject", "edit", "dismiss"])
async def test_a_form_without_its_token_changes_nothing(world: World, lin: Client, verdict: str) -> None:
    sent = await ticket(lin, "/t/hospital/entries/e-dose")
    for wrong in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
        given = {key: value for key, value in sent.items() if key != "csrf"}
        page = await lin.post(
            "/t/hospital/entries/e-dose/verdict", data={**given, "verdict": verdict, "answer": "x", **wrong}
        )
        assert page.status_code == 403
        sealed(page)
    kept = await world.verdicts.show(HOSPITAL, "e-dose")  # type: ignore[arg-type]  # an id
    assert kept is not None
    assert kept.version == 1


@pytest.mark.parametrize(
    "path",
    [
        "queue",
        "search?q=return",
        "policies",
        "numbers",
        "costs",
        "costs/csv",
        "log",
        "entries/s-return",
        "nowhere",
    ],
)
async def test_another_tenant_is_not_there(lin: Client, path: str) -> None:
    page = await lin.get(f"/t/shop/{path}")
    assert page.status_code == 404
    assert "30 days" not in page.text


async def test_another_tenants_entry_is_not_here(lin: Client) -> None:
    assert (await lin.get("/t/hospital/entries/s-return")).status_code == 404
    sent = await ticket(lin, "/t/hospital/entries/e-dose")
    page = await lin.post("/t/hospital/entries/s-return/verdict", data={**sent, "verdict": "approve"})
    assert page.status_code == 404
    assert "shop" not in (await lin.get("/t/hospital/queue")).text


async def test_tenants_can_be_switched_by_who_sees_several(world: World) -> None:
    async with client_of(world) as client:
        page = await enter(client, OTTO)
        assert '<option value="shop"' in page.text
        page = await client.get("/tenant?tenant=shop")
        assert page.url.path == "/t/shop/queue"
        assert "How long can I return an item?" in page.text


async def test_a_viewer_looks_and_does_not_decide(world: World) -> None:
    async with client_of(world) as client:
        await enter(client, SEE)
        page = await client.get("/t/hospital/entries/e-dose")
        assert 'name="verdict"' not in page.text
        sent = {"csrf": csrf(page), "etag": '"e-dose.1"', "verdict": "approve"}
        refused = await client.post("/t/hospital/entries/e-dose/verdict", data=sent)
    assert refused.status_code == 403


async def test_approving_leads_back_to_the_queue(world: World, lin: Client) -> None:
    page = await settle(lin, "e-dose", "approve", note="as in the leaflet")
    assert page.url.path == "/t/hospital/queue"
    assert "Approved." in page.text
    assert 'data-entry="e-dose"' not in page.text
    log = await lin.get("/t/hospital/log")
    assert "as in the leaflet" in log.text
    assert "The chain is whole." in log.text
    assert "Approved." not in (await lin.get("/t/hospital/queue")).text


@pytest.mark.parametrize(
    ("verdict", "more", "kept"),
    [
        ("until", {"days": "3"}, lambda entry: entry.status == "approved" and entry.review.until is not None),
        ("reject", {}, lambda entry: entry.status == "rejected"),
        ("bar", {}, lambda entry: digest(CHILDREN) in entry.barred),
        ("narrow", {}, lambda entry: entry.review.only == entry.author),
        ("raise", {"least": "0.97"}, lambda entry: entry.review.least == 0.97),
    ],
)
async def test_every_verdict_reaches_the_entry(
    world: World, lin: Client, verdict: str, more: dict[str, str], kept: Callable[[Any], bool]
) -> None:
    path = f"/t/hospital/entries/e-dose?asked={digest(CHILDREN)}"
    sent = {**await ticket(lin, path), "verdict": verdict, **more}
    page = await lin.post("/t/hospital/entries/e-dose/verdict", data=sent)
    assert page.status_code == 200
    assert kept(await world.verdicts.show(HOSPITAL, "e-dose"))  # type: ignore[arg-type]  # an id


@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        ("raise", {"least": "2"}),
        ("raise", {"least": "nan"}),
        ("until", {"days": "-1"}),
        ("until", {"days": "x"}),
        ("bar", {"asked": "zz"}),
        ("nonsense", {}),
        ("approve", {"note": "n" * 600}),
        ("edit", {"answer": "   "}),
    ],
)
async def test_what_does_not_fit_is_refused(lin: Client, verdict: str, more: dict[str, str]) -> None:
    page = await settle(lin, "e-dose", verdict, **more)
    assert page.status_code == 422
    sealed(page)
    inert(page)


async def test_what_cannot_be_taken_back_is_an_operators_and_asked_twice(world: World) -> None:
    async with client_of(world) as client:
        await enter(client, ROOT)
        assert (await settle(client, "e-dose", "purge")).status_code == 422
        page = await settle(client, "e-dose", "purge", **{"sure-purge": "yes"})
        assert "Deleted for good." in page.text
        assert (await client.get("/t/hospital/entries/e-dose")).status_code == 404


async def test_an_edit_is_the_answer_and_keeps_the_old_one(lin: Client) -> None:
    page = await settle(lin, "e-dose", "edit", answer="At most 3000 mg.\r\nAsk first.")
    assert "Your edit is now the answer." in page.text
    page = await lin.get("/t/hospital/entries/e-dose")
    assert "At most 3000 mg.\nAsk first." in page.text
    assert "Version 1" in page.text
    assert "<del>" in page.text


async def test_an_edit_too_large_keeps_what_was_written(lin: Client) -> None:
    text = "0123456789" * 200_000
    page = await settle(lin, "e-dose", "edit", answer=text)
    assert page.status_code == 413
    assert text in page.text


async def test_a_form_beyond_all_bounds_is_cut_off(lin: Client) -> None:
    page = await settle(lin, "e-dose", "edit", answer="0" * (9 << 20))
    assert page.status_code == 413


async def test_a_preview_tells_what_changes(lin: Client) -> None:
    sent = {**await ticket(lin, "/t/hospital/entries/e-fast/edit"), "answer": "No. Plain water is fine."}
    part = await lin.post("/t/hospital/entries/e-fast/preview", data=sent, headers={"hx-request": "true"})
    assert "<html" not in part.text
    assert re.search(r"<del>.*Yes.*</del><ins>.*No.*</ins>", part.text)
    whole = await lin.post("/t/hospital/entries/e-fast/preview", data=sent)
    assert "No. Plain water is fine.</textarea>" in whole.text


async def test_who_comes_second_is_told_kindly(world: World, lin: Client) -> None:
    mine = {
        **await ticket(lin, "/t/hospital/entries/e-dose/edit"),
        "verdict": "edit",
        "answer": "My <b>text</b>",
    }
    async with client_of(world) as other:
        await enter(other, OTTO)
        await settle(other, "e-dose", "edit", answer="Otto's text", note="leaflet of 2026")
    page = await lin.post("/t/hospital/entries/e-dose/verdict", data={**mine, "note": "my note"})
    assert page.status_code == 412
    for text in ("Somebody decided meanwhile", "otto decided: edited", "leaflet of 2026", "Otto&#39;s text"):
        assert text in page.text
    assert "My &lt;b&gt;text&lt;/b&gt;</textarea>" in page.text
    assert "my note</textarea>" in page.text
    assert "500 to 1000 mg" in page.text
    again = {**mine, "etag": hidden(page, "etag")}
    assert (await lin.post("/t/hospital/entries/e-dose/verdict", data=again)).status_code == 200


async def test_a_late_verdict_about_what_was_removed(world: World, lin: Client) -> None:
    mine = {**await ticket(lin, "/t/hospital/entries/e-dose/edit"), "verdict": "edit", "answer": "My text"}
    async with client_of(world) as other:
        await enter(other, ROOT)
        await settle(other, "e-dose", "purge", **{"sure-purge": "yes"})
    page = await lin.post("/t/hospital/entries/e-dose/verdict", data=mine)
    assert page.status_code == 412
    assert "The entry was removed." in page.text
    assert "My text</textarea>" in page.text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "[click](javascript:alert(1)) <a href=javascript:alert(1)>x</a>",
    "</textarea><script>alert(1)</script>",
    "{{ 7 * 7 }} {% raw %} {{ ui.csrf }}",
    "a\u202egnp.exe \u200b\u2066 \ufeff",
    "null \x00 byte, bell \x07, escape \x1b[31m",
    "lone \ud800 surrogate",
    "<!--><svg onload=alert(1)>",
    "&lt;b&gt; &amp; &#x3c;",
    "\u2028line\u2029 separators",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_stored_text_stays_text(world: World, lin: Client, text: str) -> None:
    asked = text.encode("utf-8", "replace").decode()
    evil = await world.put("e-evil", asked, completion(text), model=asked, tags=(asked,))
    await world.sight(evil, f"{asked} ?", 50.0, "complaint")
    for path in (*PAGES, "entries/e-evil", "entries/e-evil/edit", "entries/e-evil/peek", "search?q=a"):
        page = await lin.get(f"/t/hospital/{path}")
        assert page.status_code == 200
        found = inert(page)
        assert "alert(1)</script>" not in page.text
        shown = "".join(found.text)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00\x07\x1b]", shown.replace(text, ""))
    plain = await lin.get("/t/hospital/entries/e-evil/answer")
    assert plain.headers["content-type"].startswith("text/plain")
    sealed(plain)


async def test_hostile_notes_stay_text(lin: Client) -> None:
    for name, text in zip(("e-dose", "e-fast", "e-zh"), HOSTILE, strict=False):
        await settle(lin, name, "approve", note=text)
    inert(await lin.get("/t/hospital/log"))
    for text in HOSTILE:
        inert(
            await lin.get(
                "/t/hospital/search",
                params={"q": text.encode("utf-8", "replace").decode(), "tag": '"><script>'},
            )
        )


async def test_a_huge_answer_is_shown_in_part(world: World, lin: Client) -> None:
    huge = await world.put("e-huge", "Tell me all.", "<b>word</b> " * 90_000)
    await world.sight(huge, "Tell me all, please.", 9.0)
    page = await lin.get("/t/hospital/entries/e-huge")
    assert len(page.content) < 250_000
    assert len((await lin.get("/t/hospital/entries/e-huge/answer")).text) == 12 * 90_000
    assert (await lin.get("/t/hospital/entries/e-huge/edit")).status_code == 200


async def test_answers_without_a_text_are_shown_and_not_edited(world: World, lin: Client) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "<f>", "arguments": "{}"}}]
    from dataclasses import replace

    odd = replace(completion("", tool_calls=calls), has_tool_calls=True)
    await world.put("e-odd", "Call it.", odd)
    page = await lin.get("/t/hospital/entries/e-odd")
    assert "It calls tools." in page.text
    assert "cannot be edited" in (await lin.get("/t/hospital/entries/e-odd/edit")).text
    assert (await settle(lin, "e-odd", "edit", answer="x")).status_code == 422


async def test_the_queue_is_paged_and_filtered(world: World, lin: Client) -> None:
    for i in range(120):
        more = await world.put(f"m{i:03}", f"More {i}?", "Yes.")
        await world.sight(more, f"More {i}, please?", 0.001 * (i + 1), "sample")
    seen: list[str] = []
    address = "/t/hospital/queue"
    while address:
        page = await lin.get(address)
        seen += re.findall(r'data-entry="([^"]+)"', page.text)
        older = re.search(r'href="([^"]+)" rel="next"', page.text)
        address = older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == len(set(seen)) == 128
    page = await lin.get("/t/hospital/queue?domain=dosage&reason=gate")
    assert re.findall(r'data-entry="([^"]+)"', page.text) == ["e-dose", "e-zh"]
    assert "Nothing waits that fits" in (await lin.get("/t/hospital/queue?reason=audit")).text


@pytest.mark.parametrize("cursor", ["x", "'; drop", "9.9", "\x00", "1." + "9" * 400])
@pytest.mark.parametrize("path", ["queue", "search", "log"])
async def test_a_cursor_of_somebodys_own_is_refused(lin: Client, path: str, cursor: str) -> None:
    page = await lin.get(f"/t/hospital/{path}", params={"cursor": cursor})
    assert page.status_code in (200, 422)
    sealed(page)


async def test_rows_that_have_not_changed_are_not_sent_again(lin: Client) -> None:
    page = await lin.get("/t/hospital/queue")
    seen = re.search(r'"seen": "(\w+)"', page.text)
    assert seen is not None
    poll = {"hx-request": "true", "hx-trigger": "rows"}
    same = await lin.get(f"/t/hospital/queue?seen={seen[1]}", headers=poll)
    assert same.status_code == 204
    await settle(lin, "e-dose", "approve")
    part = await lin.get(f"/t/hospital/queue?seen={seen[1]}", headers=poll)
    assert part.status_code == 200
    assert part.text.lstrip().startswith("<tbody")


async def test_an_empty_queue_says_so(world: World, lin: Client) -> None:
    await world.queue.dismiss(
        HOSPITAL,
        list(
            (await world.queue.waiting(HOSPITAL)).waiting
            and [w.entry for w in (await world.queue.waiting(HOSPITAL)).waiting]
        ),
    )
    assert "Nothing waits. Well done." in (await lin.get("/t/hospital/queue")).text


async def test_language_is_chosen_and_remembered(lin: Client) -> None:
    page = await lin.get("/t/hospital/search?q=a&tag=b")
    sent = {"csrf": csrf(page), "next": hidden(page, "next").replace("&amp;", "&"), "language": "zh"}
    page = await lin.post("/language", data=sent)
    assert str(page.url).endswith("/t/hospital/search?q=a&tag=b")
    assert 'lang="zh-Hans"' in page.text
    assert 'lang="zh-Hans"' in (await lin.get("/t/hospital/queue")).text


async def test_language_can_be_chosen_after_a_session_has_ended(world: World) -> None:
    at = [0.0]
    async with client_of(world, now=lambda: at[0], idle=60.0) as client:
        await enter(client, LIN)
        at[0] = 100.0
        page = await client.get("/t/hospital/queue")
        assert "Your session has ended." in page.text
        sent = {"csrf": csrf(page), "next": "/login", "language": "zh"}
        assert 'lang="zh-Hans"' in (await client.post("/language", data=sent)).text


async def test_language_takes_no_order_from_elsewhere(lin: Client) -> None:
    page = await lin.post("/language", data={"next": "/t/hospital/queue", "language": "zh"})
    assert 'lang="en"' in page.text


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "", "/x\r\nset-cookie: a=b"]
)
async def test_going_back_leads_nowhere_else(lin: Client, back: str) -> None:
    token = csrf(await lin.get("/t/hospital/queue"))
    sent = {"csrf": token, "next": back, "language": "zh"}
    answer = await lin.post("/language", data=sent, follow_redirects=False)
    assert answer.headers["location"] == "/"


async def test_a_store_that_is_away_is_said_and_not_shown(world: World, lin: Client) -> None:
    world.entries.fault = StoreError("secret host name", kind="down")
    for path in ("queue", "entries/e-dose", "search?q=a", "numbers"):
        page = await lin.get(f"/t/hospital/{path}")
        assert page.status_code == 503
        assert "secret" not in page.text
        sealed(page)


async def test_what_if_is_worked_out(lin: Client) -> None:
    page = await lin.get("/t/hospital/policies?domain=general&threshold=0.8&score=0.5")
    assert "<polyline" in page.text
    assert re.search(r"\+\d+ hits", page.text)
    assert (await lin.get("/t/hospital/policies?threshold=7")).status_code == 422
    part = await lin.get("/t/hospital/policies/whatif?domain=dosage&threshold=0.99")
    assert "<html" not in part.text


async def test_numbers_say_what_became_of_requests_and_drafts(world: World) -> None:
    words = {
        "exact": 30,
        "semantic": 10,
        "miss": 60,
        "drafted-kept": 3,
        "drafted-edited": 4,
        "drafted-failed-gate": 2,
    }
    money = {
        "drafted-declined-closed": 5,
        "draft-revise-tried": 9,
        "draft-revise-saved": 12_400,
        "draft-revise-lost": 55,
    }
    await world.evidence.tally(HOSPITAL, "counted", time.time(), {**words, **money})
    async with client_of(world) as client:
        await enter(client, LIN)
        page = await client.get("/t/hospital/numbers")
    shares = page.text[page.text.index('id="t-drafts"') :]
    assert "$0.0123" in page.text
    assert re.findall(r'<dd class="num">(\d+)</dd>', shares)[:3] == ["9", "7", "2"]


async def test_approving_says_nothing_of_a_question_that_was_barred(world: World, lin: Client) -> None:
    path = f"/t/hospital/entries/e-fast?asked={digest('May I have coffee before a fasting blood test?')}"
    page = await lin.get(path)
    assert "fits both questions" in page.text
    sent = {name: hidden(page, name) for name in ("csrf", "etag", "asked", "fits")}
    page = await lin.post("/t/hospital/entries/e-fast/verdict", data={**sent, "verdict": "bar"})
    assert "Barred." in page.text
    assert "fits both questions" not in page.text
    sent = {name: hidden(page, name) for name in ("csrf", "etag", "asked", "fits")}
    await lin.post("/t/hospital/entries/e-fast/verdict", data={**sent, "verdict": "approve"})
    labels = [(label.finding, label.id) for label in await world.evidence.recent(HOSPITAL, 10)]
    assert [finding for finding, _ in labels] == ["right", "wrong"]
    assert labels[0][1].endswith(":*:right")


async def test_a_judge_is_held_against_people(lin: Client) -> None:
    page = await lin.get("/t/hospital/entries/e-dose")
    assert "fits: 18%" in page.text
    await settle(lin, "e-dose", "reject")
    page = await lin.get("/t/hospital/numbers")
    table = page.text[page.text.index('id="t-judge"') :]
    assert "gpt-5-mini" in table
    assert "100%" in table
    assert re.search(r"reviewer: wrong", (await lin.get("/t/hospital/entries/e-dose")).text)


async def test_policies_tell_what_the_evidence_allows(lin: Client) -> None:
    page = await lin.get("/t/hospital/policies")
    assert re.search(r'tag good">open</span> <span class="small muted">at most 1.2% wrong', page.text)
    assert 'tag bad">closed</span>' in page.text
    assert 'tag good">open</span>' in (await lin.get("/t/hospital/numbers")).text
