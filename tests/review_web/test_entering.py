"""Coming in, the session, and the language, for a browser without scripts."""

from __future__ import annotations

import pytest

from tests.review_web.visiting import (
    Client,
    client_of,
    csrf,
    enter,
    hidden,
    lin,
    visitor,
    world,
)
from tests.review_web.world import LIN, World

__all__ = ["lin", "visitor", "world"]  # fixtures, used by name


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
