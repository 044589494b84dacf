"""Whose a prompt is, told to nodes that share what they compute."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from semcache.errors import RequestError
from semcache.routing.salting import Salting
from tests.routing.members import FakeMember, chat


async def sent(body: Any, **given: Any) -> dict[str, Any]:
    member = FakeMember("n")
    await Salting(member).open(chat(body, **given))
    return member.body()


BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ONE, TWO = b"a" * 16 + b"1" * 16, b"a" * 16 + b"2" * 16
OTHER = b"b" * 16 + b"1" * 16


async def test_conversations_of_one_head_share_and_others_do_not() -> None:
    one, two, other = [(await sent(BODY, affinity=key))["cache_salt"] for key in (ONE, TWO, OTHER)]
    assert one == two != other
    assert {**await sent(BODY, affinity=ONE), "cache_salt": None} == {**BODY, "cache_salt": None}


async def test_without_affinity_it_shares_with_nobody() -> None:
    salts = {(await sent(BODY, affinity=b""))["cache_salt"] for _ in range(5)}
    assert len(salts) == 5


async def test_a_client_can_only_set_itself_apart() -> None:
    plain = (await sent(BODY, affinity=ONE))["cache_salt"]
    own = (await sent({**BODY, "cache_salt": "x"}, affinity=ONE))["cache_salt"]
    forged = (await sent({**BODY, "cache_salt": plain}, affinity=OTHER))["cache_salt"]
    assert len({plain, own, forged}) == 3
    assert "prefix_cache" not in await sent({**BODY, "prefix_cache": {"tenant": "x"}}, affinity=ONE)


async def test_text_that_is_no_unicode_is_salted_too() -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}'
    told = await sent(body, affinity=ONE)
    assert told["messages"][0]["content"] == "\ud800"
    assert told["cache_salt"]


async def test_a_body_that_passes_as_it_arrives_is_read_first() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b'{"model":"m",'
        yield b'"prompt":["a"]}'

    told = await sent(parts(), path="/v1/completions", affinity=ONE)
    assert told["prompt"] == ["a"]
    assert told["cache_salt"]


async def test_one_that_is_too_large_is_refused() -> None:
    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    with pytest.raises(RequestError) as caught:
        await sent(parts(), path="/v1/completions")
    assert caught.value.status == 413


@pytest.mark.parametrize("body", [b"no", b"[]", b"", b"\xff", b"[" * 100_000])
async def test_what_cannot_be_read_is_not_sent(body: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        await sent(body)
    assert caught.value.status == 400


async def test_paths_that_compute_no_prompt_pass() -> None:
    member = FakeMember("n")
    await Salting(member).open(chat(b"raw", path="/v1/files"))
    await Salting(member).open(chat(b"", path="/v1/models", method="GET"))
    assert [call.body for call in member.calls] == [b"raw", b""]
