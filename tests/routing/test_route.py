"""Who is asked, who next, and what a client's key and a sent body forbid."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from semcache.errors import RequestError, UpstreamError
from semcache.ports import UpstreamReply
from semcache.routing.balance import Balance
from semcache.routing.route import Retrying, Route
from semcache.routing.told import answered
from tests.routing.members import CHAT, Ears, FakeMember, chat, gone, late, route, target

CLIENT = ((b"content-type", b"application/json"), (b"authorization", b"Bearer client"))


async def said(reply: UpstreamReply) -> str:
    try:
        return b"".join([part async for part in reply.body()]).decode()
    finally:
        await reply.aclose()


async def ask(pool: Route, *given: Any, **more: Any) -> str:
    return await said(await pool.open(chat(*given, **more)))


def members(*names: str) -> list[FakeMember]:
    return [FakeMember(name) for name in names]


async def test_a_conversation_keeps_its_upstream_and_conversations_share_them() -> None:
    pool = route(*map(target, members("a", "b", "c")))
    keys = [number.to_bytes(32, "big") for number in range(60)]
    first = [await ask(pool, affinity=key) for key in keys]
    assert [await ask(pool, affinity=key) for key in keys] == first
    assert set(Counter(first)) == {"a", "b", "c"}


async def test_calls_without_affinity_are_shared_out_by_weight() -> None:
    a, b, c = members("a", "b", "c")
    pool = route(target(a, weight=3), target(b), target(c, weight=0))
    shares = Counter([await ask(pool, affinity=b"") for _ in range(400)])
    assert 0.6 < shares["a"] / 400 < 0.9
    assert shares["c"] == 0


async def test_a_busy_home_hands_its_call_to_the_next() -> None:
    a, b = members("a", "b")
    ears = Ears()
    pool = route(target(a), target(b), balance=Balance(1.25, 4), heard=ears)
    home, other = (a, b) if await ask(pool) == "a" else (b, a)
    home.active = 4
    assert await ask(pool) == other.name
    home.active = 3
    assert await ask(pool) == home.name
    assert [(name, result) for _, name, result in ears.heard] == [
        (home.name, "home"),
        (other.name, "spill"),
        (home.name, "home"),
    ]


# -- when one fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [gone("a"), 429, 500, 502, 503, 529])
async def test_a_fallback_answers_when_the_upstream_cannot(outcome: int | UpstreamError) -> None:
    a, b = FakeMember("a", [outcome]), FakeMember("b")
    ears = Ears()
    pool = route(target(a), target(b, is_fallback=True, is_own=False), heard=ears)
    reply = await pool.open(chat())
    assert answered(reply.headers) is not None
    assert (answered(reply.headers).upstream, answered(reply.headers).is_own) == ("b", False)  # type: ignore[union-attr]
    assert await said(reply) == "b"
    assert len(a.calls) == len(b.calls) == 1, "one try each"
    assert all(reply.closed for reply in a.replies)
    assert ears.heard == [("pool", "a", "failed"), ("pool", "b", "fallback")]


@pytest.mark.parametrize("status", [200, 201, 400, 401, 403, 404, 422])
async def test_an_answer_is_an_answer(status: int) -> None:
    a, b = FakeMember("a", [status]), FakeMember("b")
    reply = await route(target(a), target(b, is_fallback=True)).open(chat())
    assert (reply.status, await said(reply), b.calls) == (status, "a", [])


@pytest.mark.parametrize("code", ["upstream_timeout", "upstream_disconnected", "upstream_invalid"])
async def test_what_may_have_been_answered_is_not_asked_again_unless_told(code: str) -> None:
    error = UpstreamError("upstream 'a' failed", code=code)
    a, b = FakeMember("a", [error]), FakeMember("b")
    targets = (target(a), target(b, is_fallback=True))
    with pytest.raises(UpstreamError, match="upstream 'a' failed"):
        await route(*targets).open(chat())
    assert not b.calls
    assert await ask(route(*targets, retrying=Retrying(codes=frozenset({code})))) == "b"


async def test_a_node_that_fails_leaves_its_calls_to_another_of_the_pool() -> None:
    nodes = members("a", "b", "c")
    pool = route(*map(target, nodes))
    home = await ask(pool)
    broken = next(node for node in nodes if node.name == home)
    broken.outcomes = [gone(home)]
    broken.calls.clear()
    second = await ask(pool)
    assert second != home
    assert await ask(pool) == second, "always the same one"
    broken.refuses = True
    assert await ask(pool) == second
    assert len(broken.calls) == 2, "one that would only refuse is not asked"
    broken.refuses, broken.outcomes = False, [200]
    assert await ask(pool) == home


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [(429, 503, 429), (429, gone("b"), 429), (429, late("b"), 429), (503, 429, 503)],
)
async def test_when_all_fail_the_first_word_counts(
    first: int, second: int | UpstreamError, status: int
) -> None:
    a, b = FakeMember("a", [first]), FakeMember("b", [second])
    reply = await route(target(a), target(b, is_fallback=True)).open(chat())
    assert (reply.status, await said(reply)) == (status, "a")
    assert all(reply.closed == 1 for reply in a.replies + b.replies)


async def test_when_nobody_can_be_reached_the_first_error_is_told() -> None:
    a, b = FakeMember("a", [gone("a")]), FakeMember("b", [gone("b")])
    with pytest.raises(UpstreamError, match="upstream 'a'"):
        await route(target(a), target(b, is_fallback=True)).open(chat())
    assert len(b.calls) == 1


async def test_one_call_is_tried_at_so_many_upstreams_at_most() -> None:
    nodes = [FakeMember(name, [gone(name)]) for name in "abcdef"]
    with pytest.raises(UpstreamError):
        await route(*map(target, nodes), retrying=Retrying(tries=2)).open(chat())
    assert sum(len(node.calls) for node in nodes) == 2


async def test_refusals_of_our_own_are_no_tries() -> None:
    full = UpstreamError("full", status=503, code="overloaded", untouched=True)
    nodes = [*(FakeMember(name, [full]) for name in "abcd"), FakeMember("e")]
    pool = route(*(target(node, is_fallback=node.name == "e") for node in nodes), retrying=Retrying(tries=1))
    assert await ask(pool) == "e"


async def test_when_all_refuse_the_first_says_why() -> None:
    error = UpstreamError("not reachable at present", status=503, code="upstream_unavailable", untouched=True)
    nodes = [FakeMember(name, [error], refuses=True) for name in "ab"]
    with pytest.raises(UpstreamError, match="at present"):
        await route(*map(target, nodes)).open(chat())


async def test_a_body_that_passes_as_it_arrives_is_sent_once() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"part"

    a, b = FakeMember("a", [503]), FakeMember("b")
    targets = (target(a), target(b, is_fallback=True))
    reply = await route(*targets, retrying=Retrying(codes=frozenset({"upstream_timeout"}))).open(chat(body()))
    assert (reply.status, b.calls) == (503, [])
    a.outcomes = [late("a")]
    with pytest.raises(UpstreamError):
        await route(*targets, retrying=Retrying(codes=frozenset({"upstream_timeout"}))).open(chat(body()))
    a.outcomes = [gone("a")]
    assert await ask(route(*targets), body()) == "b", "nobody has begun to read it"


async def test_leaving_in_the_middle_closes_the_reply_that_was_kept() -> None:
    a = FakeMember("a", [503])
    b = FakeMember("b", [KeyboardInterrupt()])  # type: ignore[list-item]  # stands for any exception

    async def broken(call: object) -> None:
        raise KeyboardInterrupt

    b.open = broken  # type: ignore[assignment,method-assign]
    with pytest.raises(KeyboardInterrupt):
        await route(target(a), target(b, is_fallback=True)).open(chat())
    assert a.replies[0].closed == 1


async def test_nobody_waits_at_one_node_while_another_has_room() -> None:
    a, b = members("a", "b")
    pool = route(target(a), target(b))
    home, other = (a, b) if await ask(pool) == "a" else (b, a)
    home.is_full = True
    assert await ask(pool) == other.name


async def test_where_all_are_full_a_call_waits_once() -> None:
    full = UpstreamError("full", status=503, code="overloaded", untouched=True)
    nodes = [FakeMember(name, [full], is_full=True) for name in "abc"]
    with pytest.raises(UpstreamError, match="full"):
        await route(*map(target, nodes)).open(chat())
    assert sum(len(node.calls) for node in nodes) == 1
    spare = FakeMember("d")
    assert await ask(route(*map(target, nodes), target(spare, is_fallback=True))) == "d"


# -- keys ----------------------------------------------------------------------------------------------


async def test_every_upstream_gets_its_own_managed_key() -> None:
    a, b = FakeMember("a", [503]), FakeMember("b")
    pool = route(
        target(a, key=(b"authorization", b"Bearer ka")),
        target(b, is_fallback=True, family="anthropic", key=(b"x-api-key", b"kb")),
    )
    await ask(pool)
    assert (a.header(b"authorization"), a.header(b"x-api-key")) == (b"Bearer ka", None)
    assert (b.header(b"authorization"), b.header(b"x-api-key")) == (None, b"kb")


async def test_a_client_s_own_key_goes_to_whom_it_was_meant_for_and_nobody_else() -> None:
    a, b, c = FakeMember("a", [503]), FakeMember("b"), FakeMember("c")
    pool = route(
        target(a),
        target(b, takes_client_keys=False, key=(b"authorization", b"Bearer kb")),
        target(c, takes_client_keys=False, is_fallback=True),
    )
    for number in range(30):
        reply = await pool.open(chat(headers=CLIENT, affinity=number.to_bytes(32, "big")))
        assert (reply.status, await said(reply)) == (503, "a")
    assert not b.calls
    assert not c.calls
    assert {dict(call.headers)[b"authorization"] for call in a.calls} == {b"Bearer client"}


@pytest.mark.parametrize("name", [b"authorization", b"X-Api-Key", b"api-key", b"x-goog-api-key"])
async def test_so_does_one_in_any_header(name: bytes) -> None:
    a, b = FakeMember("a", [gone("a")]), FakeMember("b")
    pool = route(target(a), target(b, takes_client_keys=False, is_fallback=True))
    with pytest.raises(UpstreamError):
        await pool.open(chat(headers=((name, b"Bearer client"),)))
    assert not b.calls


async def test_a_client_s_key_is_never_exchanged_for_ours() -> None:
    a = FakeMember("a")
    await ask(route(target(a, key=(b"authorization", b"Bearer ours"))), headers=CLIENT)
    assert a.header(b"authorization") == b"Bearer client"


async def test_a_client_s_key_may_go_to_all_where_settings_say_so() -> None:
    a, b = FakeMember("a", [503]), FakeMember("b")
    pool = route(target(a), target(b, is_fallback=True, family="anthropic"))
    await ask(pool, headers=CLIENT)
    assert (b.header(b"x-api-key"), b.header(b"authorization")) == (b"client", None)


# -- what is asked -------------------------------------------------------------------------------------


async def test_an_upstream_is_asked_under_its_own_name_of_the_model() -> None:
    a, b = FakeMember("a", [503]), FakeMember("b")
    pool = route(target(a), target(b, model="m-large", is_fallback=True, is_own=False))
    reply = await pool.open(chat({"temperature": 0, "model": "m", "messages": [], "stream": True}))
    assert (answered(reply.headers).upstream, answered(reply.headers).model) == ("b", "m-large")  # type: ignore[union-attr]
    assert a.body()["model"] == "m"
    assert list(b.body().items()) == [
        ("temperature", 0),
        ("model", "m-large"),
        ("messages", []),
        ("stream", True),
    ]


async def test_names_of_models_in_paths() -> None:
    a = FakeMember("a")
    pool = route(target(a, speaks=frozenset({"gemini.generate"}), model="g2", family="gemini"))
    await ask(pool, {"contents": []}, path="/v1beta/models/g1:generateContent")
    assert a.calls[0].path == "/v1beta/models/g2:generateContent"
    assert a.body() == {"contents": []}


async def test_one_upstream_may_stand_under_several_models() -> None:
    a = FakeMember("a")
    pool = route(target(a, model="x"), target(a, model="y", is_own=False))
    for number in range(30):
        await ask(pool, affinity=number.to_bytes(32, "big"))
    assert {json.loads(call.body)["model"] for call in a.calls} == {"x", "y"}  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [b"no json", b"[1]", b'{"input": 1}', b"\xff"])
async def test_what_cannot_be_said_under_another_name_goes_to_those_that_need_none(body: bytes) -> None:
    a, b = members("a", "b")
    assert await ask(route(target(a, model="x"), target(b, is_fallback=True)), body) == "b"
    with pytest.raises(RequestError, match="under its own model's name") as caught:
        await route(target(a, model="x")).open(chat(body))
    assert (caught.value.status, caught.value.code) == (400, "unroutable")
    assert not a.calls


async def test_text_that_is_no_unicode_passes_under_another_name() -> None:
    a = FakeMember("a")
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}'
    await ask(route(target(a, model="x")), body)
    assert a.body() == {**json.loads(body), "model": "x"}


async def test_nobody_is_asked_in_a_dialect_that_it_does_not_speak() -> None:
    a, b = FakeMember("a", [503]), FakeMember("b")
    pool = route(target(a), target(b, speaks=CHAT, is_fallback=True))
    assert await ask(pool) == "b"
    assert (await pool.open(chat(path="/v1/responses"))).status == 503
    with pytest.raises(RequestError, match="can be asked this"):
        await pool.open(chat(path="/v1/messages"))


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/models"), ("POST", "/v1/files"), ("GET", "/v1/responses/r1"), ("POST", "/v1/batches")],
)
async def test_what_one_upstream_keeps_is_asked_of_the_first_alone(method: str, path: str) -> None:
    a, b = FakeMember("a", [503]), FakeMember("b")
    pool = route(target(a), target(b))
    for number in range(20):
        reply = await pool.open(chat(b"", method=method, path=path, affinity=number.to_bytes(32, "big")))
        assert reply.status == 503
    assert not b.calls


async def test_the_engine_s_own_pages_are_not_reached_by_a_route() -> None:
    engine = FakeMember("local")
    pool = route(target(engine, speaks=CHAT, is_inner=True))
    assert await ask(pool) == "local"
    assert await ask(pool, b"", method="GET", path="/v1/models") == "local"
    with pytest.raises(RequestError):
        await pool.open(chat(b"", method="GET", path="/prefix"))
