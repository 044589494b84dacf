"""The pages as a browser without scripts gets them."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest

from semcache.core import Completion
from semcache.errors import StoreError
from semcache.review.web.language import LANGUAGES
from tests.review_web.visiting import (
    PAGES,
    Client,
    client_of,
    enter,
    inert,
    lin,
    sealed,
    settle,
    ticket,
    visitor,
    world,
)
from tests.review_web.world import HOSPITAL, LIN, OTTO, World, completion

__all__ = ["lin", "visitor", "world"]  # fixtures, used by name


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


async def test_a_huge_answer_is_shown_in_part(world: World, lin: Client) -> None:
    huge = await world.put("e-huge", "Tell me all.", "<b>word</b> " * 90_000)
    await world.sight(huge, "Tell me all, please.", 9.0)
    page = await lin.get("/t/hospital/entries/e-huge")
    assert len(page.content) < 250_000
    assert len((await lin.get("/t/hospital/entries/e-huge/answer")).text) == 12 * 90_000
    assert (await lin.get("/t/hospital/entries/e-huge/edit")).status_code == 200


async def test_answers_without_a_text_are_shown_and_not_edited(world: World, lin: Client) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "<f>", "arguments": "{}"}}]
    odd = replace(completion("", tool_calls=calls), has_tool_calls=True)
    await world.put("e-odd", "Call it.", odd)
    page = await lin.get("/t/hospital/entries/e-odd")
    assert "It calls these tools:" in page.text
    assert "&lt;f&gt;  {}" in page.text
    assert "cannot be edited" in (await lin.get("/t/hospital/entries/e-odd/edit")).text
    assert (await settle(lin, "e-odd", "edit", answer="x")).status_code == 422


async def test_what_a_model_thought_and_its_own_protocol_said_can_be_read(world: World, lin: Client) -> None:
    native = {
        "type": "message",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}],
    }
    thinking = completion("At noon.", reasoning_content="Wards open at <twelve>.")
    await world.put("e-think", "When?", replace(thinking, native=json.dumps(native).encode()))
    page = (await lin.get("/t/hospital/entries/e-think")).text
    assert "At noon." in page
    assert "Wards open at &lt;twelve&gt;." in page
    assert "c2lnbmVk" in page
    edited = await settle(lin, "e-think", "edit", answer="At one.")
    assert edited.status_code < 400
    page = (await lin.get("/t/hospital/entries/e-think")).text
    assert "At one." in page
    assert "c2lnbmVk" not in page, "what an edit replaces is replayed to nobody"


async def test_embeddings_are_said_to_be_numbers(world: World, lin: Client) -> None:
    native = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}]}
    silent = b'{"object": "chat.completion", "model": "e", "choices": []}'
    await world.put("e-vectors", "", Completion(silent, None, native=json.dumps(native).encode()))
    assert "Embeddings: numbers" in (await lin.get("/t/hospital/entries/e-vectors")).text
    assert "cannot be edited" in (await lin.get("/t/hospital/entries/e-vectors/edit")).text


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
