"""Verdicts as a browser without scripts sends them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.review_web.visiting import (
    CHILDREN,
    Client,
    client_of,
    csrf,
    enter,
    hidden,
    inert,
    lin,
    sealed,
    settle,
    ticket,
    world,
)
from tests.review_web.world import HOSPITAL, OTTO, ROOT, SEE, World, digest

__all__ = ["lin", "world"]  # fixtures, used by name


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
