"""Text that would be more than text on a page."""

from __future__ import annotations

import re

import pytest

from tests.review_web.visiting import (
    PAGES,
    Client,
    inert,
    lin,
    sealed,
    settle,
    world,
)
from tests.review_web.world import World, completion

__all__ = ["lin", "world"]  # fixtures, used by name


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
@pytest.mark.event(39)
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
