"""Histories trimmed for those who ask: what goes upstream, what is told, and what a summary may cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from semcache.core import Caller, Directives, TenantId
from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import subject_digest
from semcache.errors import RequestError, UpstreamError
from semcache.journey import Asked, Backend
from semcache.ports import EpochBumped, UpstreamCall
from semcache.records import SideKind, SideRecord
from semcache.shortening.shortening import Shortening
from semcache.shortening.summary import Task, as_message, cleaned, text_of
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.summaries import FakeSummaries

ACME = TenantId("acme")
RULES = HistoryPolicy(Trimming.SUMMARY, above=1000, keep=500, summary=50, deadline=0.5)


def history(turns: int) -> list[dict[str, Any]]:
    said = [{"role": "system", "content": "Be kind."}]
    for turn in range(turns):
        said += [
            {"role": "user", "content": f"question {turn} " + "word" * 50},
            {"role": "assistant", "content": f"answer {turn} " + "word" * 50},
        ]
    return [*said, {"role": "user", "content": "and now?"}]


def asking(turns: int, history_word: str, **more: Any) -> Asked:
    request = parse_chat({"model": "m", "messages": history(turns)}, "/v1/chat/completions")
    caller = Caller(ACME, key_name="web", labels=(("project", "atlas"),))
    return Asked(request, caller, Directives(history=history_word, **more), request_id="r1")


def reply(text: str) -> FakeReply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99}
    body = {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    return FakeReply(parts=[json.dumps(body).encode()])


class Clock:
    def now(self) -> float:
        return 7.0

    def monotonic(self) -> float:
        return 7.0


@dataclass
class Scene:
    says: Callable[[UpstreamCall], FakeReply | UpstreamError] = lambda _: reply("They spoke of words.")
    shelf: FakeSummaries = field(default_factory=FakeSummaries)
    noted: list[SideRecord] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.upstream = FakeGenerator(self._answer)
        self.shortening = self.worker()

    def worker(self) -> Shortening:
        return Shortening(self.shelf, self._backend, self, Clock(), lambda: "w0rd")

    def _answer(self, call: UpstreamCall) -> FakeReply | UpstreamError:
        return self.says(call)

    def note(self, side: SideRecord) -> None:
        self.noted.append(side)

    def _backend(self, tenant: TenantId, name: str) -> Backend:
        assert tenant == ACME
        self.chosen.append(name)
        if name == "gone":
            raise RequestError("There is no upstream of that name.")
        return Backend(self.upstream, "up", "Bearer managed")


def messages(asked: Asked) -> list[dict[str, Any]]:
    return list(asked.request.body["messages"])


async def test_a_report_changes_nothing_and_says_what_would() -> None:
    asked = asking(20, "report")
    seen = await Scene().shortening.applied(asked, RULES)
    assert seen.request is asked.request
    assert seen.trimmed is not None
    assert seen.trimmed.way is Trimming.REPORT
    assert seen.trimmed.dropped > 10
    assert seen.trimmed.kept == 42


@pytest.mark.parametrize(
    ("most", "wanted", "way"),
    [
        ("off", "summary", "off"),
        ("report", "window", "report"),
        ("window", "summary", "window"),
        ("summary", "window", "window"),
        ("summary", "off", "off"),
    ],
)
async def test_a_client_gets_no_more_than_the_policy_allows(most: str, wanted: str, way: str) -> None:
    seen = await Scene().shortening.applied(asking(20, wanted), replace(RULES, most=Trimming(most)))
    assert seen.trimmed is not None
    assert seen.trimmed.way == way
    assert (len(messages(seen)) < 42) == (way in ("window", "summary"))


async def test_a_window_keeps_system_and_last_turn() -> None:
    asked = asking(20, "window")
    scene = Scene()
    seen = await scene.shortening.applied(asked, RULES)
    kept = messages(seen)
    assert kept[0] == history(20)[0]
    assert kept[-1]["content"] == "and now?"
    assert seen.request.prompt == "and now?"
    assert (seen.request.message_count, seen.request.user_turns) == (
        len(kept),
        sum(m["role"] == "user" for m in kept),
    )
    assert scene.upstream.calls == []


async def test_a_summary_stands_after_the_beginning_and_stays_the_same() -> None:
    scene = Scene()
    first = messages(await scene.shortening.applied(asking(20, "summary"), RULES))
    calls = len(scene.upstream.calls)
    assert calls >= 1
    assert first[0] == history(20)[0]
    assert first[1] == as_message("They spoke of words.")
    scene.says = lambda _: reply("Other words.")
    again = messages(await scene.shortening.applied(asking(20, "summary"), RULES))
    other_worker = messages(await scene.worker().applied(asking(20, "summary"), RULES))
    assert first == again == other_worker
    assert len(scene.upstream.calls) == calls


async def test_a_long_history_is_summed_up_in_one_call_and_so_is_what_is_added_to_it() -> None:
    scene, calls = Scene(), list[int]()
    for turns in (30, 30, 38):
        await scene.shortening.applied(asking(turns, "summary"), RULES)
        calls.append(len(scene.upstream.calls))
    assert calls == [1, 1, 2]
    last = json.loads(scene.upstream.bodies[-1])["messages"][0]["content"]
    assert "(before this) They spoke of words." in last
    assert "question 0 " not in last


async def test_a_history_too_long_for_one_call_takes_several() -> None:
    scene, rules = Scene(), replace(RULES, above=16_000, keep=8_000)
    seen = await scene.shortening.applied(asking(500, "summary"), rules)
    assert 2 <= len(scene.upstream.calls) <= 4
    assert seen.trimmed is not None
    assert seen.trimmed.way is Trimming.SUMMARY
    assert all(len(body) < 4 * 40_000 for body in scene.upstream.bodies)


async def test_what_it_costs_is_told_with_whose_it_is() -> None:
    scene = Scene()
    await scene.shortening.applied(asking(20, "summary"), RULES)
    side = scene.noted[0]
    assert (side.kind, side.tenant, side.key_name, side.labels) == (
        SideKind.SUMMARY,
        "acme",
        "web",
        (("project", "atlas"),),
    )
    assert side.usage is not None
    assert side.usage.total_tokens == 99


@pytest.mark.parametrize(
    "says",
    [
        lambda _: UpstreamError("away"),
        lambda _: FakeReply(status=500),
        lambda _: reply("   "),
        lambda _: reply("he said w0rd"),
        lambda _: FakeReply(parts=[2.0, b"{}"]),
    ],
    ids=["down", "error", "empty", "mark", "late"],
)
async def test_without_a_summary_the_window_takes_its_place(says: Any) -> None:
    scene = Scene(says)
    rules = replace(RULES, deadline=0.05)
    seen = await scene.shortening.applied(asking(20, "summary"), rules)
    window = await scene.shortening.applied(asking(20, "window"), rules)
    assert seen.trimmed == window.trimmed
    assert messages(seen) == messages(window)


async def test_who_fails_twice_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(lambda _: FakeReply(parts=[5.0, b"{}"]))
    rules = replace(RULES, deadline=0.05)
    for _ in range(4):
        seen = await scene.shortening.applied(asking(20, "summary"), rules)
        assert seen.trimmed is not None
        assert seen.trimmed.way is Trimming.WINDOW
    assert len(scene.upstream.calls) == 2
    scene.says = lambda _: reply("They spoke of words.")
    monkeypatch.setattr(Clock, "monotonic", lambda _: 7.0 + 61.0)
    seen = await scene.shortening.applied(asking(20, "summary"), rules)
    assert seen.trimmed is not None
    assert seen.trimmed.way is Trimming.SUMMARY


async def test_an_upstream_that_is_gone_fails_no_request() -> None:
    seen = await Scene().shortening.applied(asking(20, "summary"), replace(RULES, summariser="gone/m"))
    assert seen.trimmed is not None
    assert seen.trimmed.way is Trimming.WINDOW


async def test_the_store_away_costs_a_second_call_at_most() -> None:
    scene = Scene()
    scene.shelf.away = True
    first = await scene.shortening.applied(asking(20, "summary"), RULES)
    calls = len(scene.upstream.calls)
    assert messages(first) == messages(await scene.shortening.applied(asking(20, "summary"), RULES))
    assert len(scene.upstream.calls) == calls


async def test_who_wants_nothing_kept_is_summed_up_anew() -> None:
    scene = Scene()
    await scene.shortening.applied(asking(20, "summary", no_store=True), RULES)
    assert scene.shelf.values == {}
    assert not scene.shortening.known


async def test_summaries_of_an_end_user_bear_their_digest_and_are_forgotten_with_them() -> None:
    scene, ann = Scene(), subject_digest(ACME, "ann")
    named = asking(20, "summary")
    mine = replace(named, directives=replace(named.directives, user="ann"))
    for asked in (mine, named):
        await scene.shortening.applied(asked, RULES)
    marked = {name for name in scene.shortening.known if name.startswith(f"{ann}.")}
    assert marked
    assert marked < set(scene.shortening.known)
    scene.shortening.on_change(EpochBumped(ACME, f"subject:{ann}", 1))
    assert marked.isdisjoint(scene.shortening.known)
    assert scene.shortening.known
    scene.shortening.on_change(EpochBumped(ACME, "", 1))
    assert not scene.shortening.known


async def test_callers_with_keys_of_their_own_share_no_summary() -> None:
    scene = Scene()
    mine = asking(20, "summary")
    yours = replace(mine, caller=Caller(ACME, principal="p2", authorization="Bearer own"))
    await scene.shortening.applied(mine, RULES)
    calls = len(scene.upstream.calls)
    await scene.shortening.applied(yours, RULES)
    assert len(scene.upstream.calls) == 2 * calls
    assert (b"authorization", b"Bearer own") in scene.upstream.calls[-1].headers


async def test_a_body_that_is_no_text_is_left_alone() -> None:
    asked = replace(asking(20, "window"), raw_body=b"{}")
    seen = await Scene().shortening.applied(asked, RULES)
    assert seen.request is asked.request


def test_the_task_holds_what_was_said_and_marks_its_ends() -> None:
    body = Task("Before.", history(1)[1:2], "m", 50).body("w0rd")
    text = body["messages"][0]["content"]
    assert text.count("w0rd") == 3
    assert "question 0" in text
    assert "Before." in text
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 100, 0)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "a"}, "a"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}, "a (image_url)"),
        (
            {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            "(called f with {})",
        ),
        ({"content": 5, "tool_calls": [None, {"function": 1}]}, ""),
    ],
)
def test_what_a_message_says(message: dict[str, Any], text: str) -> None:
    assert text_of(message) == text


def test_a_summary_is_cut_to_its_length() -> None:
    assert cleaned("x" * 10_000, 50, "mark") == "x" * 400
