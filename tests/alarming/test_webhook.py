"""Alarms reach the webhook once, in order, signed, and never follow anybody elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import structlog

from semcache.alarming.webhook import Address, Patience, Webhook, body_of, name_of, signature
from semcache.answer.upstream import HttpUpstream
from semcache.cost_port import AlarmKind, CostAlarm
from semcache.errors import UpstreamError
from semcache.ports import UpstreamCall
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import UpstreamServer, reply

ALARM = CostAlarm(
    "acme", AlarmKind.BUDGET, "team 80%", True, 100.0, 160.0, 0.81, 0.8, "budget team: 81 % is used"
)
QUICK = Patience(attempt=0.2, whole=0.5, pause=0.01, longest=0.05, waiting=3)
ADDRESS = Address("/hooks/T1", b"token=x", b"key")


class Clock:
    def now(self) -> float:
        return 1_700_000_000.7

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@contextlib.asynccontextmanager
async def running(webhook: Webhook) -> AsyncIterator[None]:
    task = asyncio.create_task(webhook.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.005)


def webhook_of(generator: FakeGenerator, patience: Patience = QUICK) -> tuple[Webhook, list[str]]:
    told: list[str] = []
    return Webhook(generator, ADDRESS, Clock(), told.append, patience), told


def statuses(*codes: int | UpstreamError) -> Callable[[UpstreamCall], FakeReply | UpstreamError]:
    left = list(codes)

    def script(call: UpstreamCall) -> FakeReply | UpstreamError:
        del call
        code = left.pop(0) if len(left) > 1 else left[0]
        return code if isinstance(code, UpstreamError) else FakeReply(code, parts=[b"ok"])

    return script


async def test_what_is_posted() -> None:
    generator = FakeGenerator(statuses(200))
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["delivered"])
    call, body = generator.calls[0], generator.bodies[0]
    assert (call.method, call.path, call.query) == ("POST", "/hooks/T1", b"token=x")
    assert json.loads(body) == {
        "text": ALARM.text,
        "kind": "budget",
        "tenant": "acme",
        "subject": "team 80%",
        "state": "raised",
        "value": 0.81,
        "limit": 0.8,
        "since": 100.0,
        "at": 160.0,
        "id": name_of(ALARM),
    }
    headers = dict(call.headers)
    assert headers[b"content-type"] == b"application/json"
    stamp = b"1700000000"
    code = hmac.new(b"key", stamp + b"." + body, hashlib.sha256).hexdigest()
    assert headers[b"semcache-signature"] == b"t=" + stamp + b",v1=" + code.encode()
    assert generator.replies[0].closed


async def test_without_a_secret_nothing_is_signed() -> None:
    generator, told = FakeGenerator(statuses(204)), []
    webhook = Webhook(generator, Address("/x"), Clock(), told.append, QUICK)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["delivered"])
    assert b"semcache-signature" not in dict(generator.calls[0].headers)


async def test_each_change_is_told_once_and_in_order() -> None:
    generator = FakeGenerator(statuses(200))
    webhook, told = webhook_of(generator)
    over, again = replace(ALARM, is_raised=False), replace(ALARM, since=500.0)
    async with running(webhook):
        webhook.post([ALARM, replace(ALARM, at=170.0, value=0.9)])
        webhook.post([over, ALARM])
        webhook.post([again])
        await until(lambda: len(told) == 3)
        await asyncio.sleep(0.05)
    sent = [(body["state"], body["since"]) for body in map(json.loads, generator.bodies)]
    assert sent == [("raised", 100.0), ("over", 100.0), ("raised", 500.0)]


@pytest.mark.parametrize("fault", [500, 503, 429, 408, UpstreamError("away")])
async def test_what_is_not_taken_is_tried_again(fault: int | UpstreamError) -> None:
    generator = FakeGenerator(statuses(fault, fault, 200))
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["delivered"])
    assert len(generator.calls) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 410])
async def test_what_is_refused_for_good_is_not(status: int) -> None:
    generator = FakeGenerator(statuses(status))
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["refused"])
    assert len(generator.calls) == 1


async def test_nobody_is_waited_for_forever() -> None:
    generator = FakeGenerator(statuses(200), delay=60.0)
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["late"])
        generator.delay = 0.0
        webhook.post([replace(ALARM, since=7.0)])
        await until(lambda: told == ["late", "delivered"])
    assert len(generator.calls) >= 2


async def test_an_answer_that_drags_on_is_taken_all_the_same() -> None:
    generator = FakeGenerator(lambda call: FakeReply(200, parts=[b"o", 60.0, b"k"]))
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["delivered"])
    assert len(generator.calls) == 1


async def test_a_reply_without_end_is_not_read_to_its_end() -> None:
    generator = FakeGenerator(lambda call: FakeReply(200, parts=[b"x" * 50_000] * 1000))
    webhook, told = webhook_of(generator)
    async with running(webhook):
        webhook.post([ALARM])
        await until(lambda: told == ["delivered"])
    assert generator.replies[0].read <= 3


async def test_what_waits_is_bounded_and_the_newest_is_kept() -> None:
    generator = FakeGenerator(statuses(200))
    webhook, told = webhook_of(generator)
    webhook.post([replace(ALARM, since=float(at)) for at in range(10)])
    assert told == ["dropped"] * 7
    async with running(webhook):
        await until(lambda: told.count("delivered") == 3)
    assert [json.loads(body)["since"] for body in generator.bodies] == [7.0, 8.0, 9.0]


async def test_at_the_end_what_waits_is_tried_once_more() -> None:
    generator = FakeGenerator(statuses(500, 200))
    webhook, told = webhook_of(generator)
    webhook.post([ALARM, replace(ALARM, since=2.0)])
    await webhook.finish(1.0)
    assert told == ["late", "delivered"]
    webhook.post([replace(ALARM, since=3.0)])
    generator.delay = 60.0
    await webhook.finish(0.05)
    assert len(generator.calls) == 3


async def test_over_a_socket_no_redirect_is_followed_and_no_address_is_told() -> None:
    async with UpstreamServer(reply(b"ok")) as other:
        away = reply(b"", status=302, headers=[("location", f"{other.url}/elsewhere")])
        async with UpstreamServer([away, reply(b"ok")]) as server:
            upstream = HttpUpstream("alarms.webhook", server.url.removesuffix("/v1"))
            told: list[str] = []
            webhook = Webhook(upstream, ADDRESS, Clock(), told.append, QUICK)
            with structlog.testing.capture_logs() as lines:
                async with running(webhook):
                    webhook.post([ALARM, replace(ALARM, since=2.0)])
                    await until(lambda: told == ["refused", "delivered"])
            await upstream.aclose()
            assert server.requests[0].target == "/hooks/T1?token=x"
            assert server.requests[1].json()["since"] == 2.0
        assert other.calls == 0
    assert len(lines) == 1
    assert "T1" not in str(lines)
    assert "127.0.0.1" not in str(lines)


def test_odd_names_make_valid_json() -> None:
    alarm = replace(ALARM, tenant="a\ud800", subject="<x>", text="\ud800")
    assert json.loads(body_of(alarm))["tenant"] == "a?"
    assert name_of(alarm) != name_of(ALARM)


def test_a_signature_is_the_one_that_others_make() -> None:
    assert (
        signature(b"secret", 12.9, b"{}")
        == b"t=12,v1=" + hmac.new(b"secret", b"12.{}", hashlib.sha256).hexdigest().encode()
    )
