"""Prewarming against a scripted engine: when it begins, in which order, and what never stops it or waits for it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from semcache.answer.engine_door import EngineDoor, Warmed
from semcache.answer.heads import Reach, heads_of
from semcache.answer.warmbook import BookRules, WarmBook, loads
from semcache.answer.warming import Warming, WarmRules
from semcache.core import TenantId
from semcache.errors import EngineError, StoreError, UpstreamError
from semcache.ports import EntryPut, EpochBumped, StoreReset, UpstreamCall
from tests.answer.eventually import eventually
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.warm_shelf import FakeWarmShelf

ACME, OTHER = TenantId("acme"), TenantId("other")
GONE = UpstreamError("gone")


class Clock:
    def __init__(self) -> None:
        self.at = 1_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Engine:
    """What answers as an engine would; `refuses` and `late` name heads by their first letter."""

    pid: int = 1
    fingerprint: str = "fp_1"
    busy: int = 0
    loading: bool = False
    down: bool = False
    refuses: str = ""
    late: str = ""
    warmed: list[dict[str, Any]] = field(default_factory=list)
    after: Callable[[], None] = lambda: None

    def reply(self, call: UpstreamCall) -> FakeReply | UpstreamError:
        if self.down:
            return GONE
        if call.path == "/readyz":
            return self._state()
        assert (call.method, call.path) == ("POST", "/v1/prefix/warm")
        body = json.loads(call.body)  # type: ignore[arg-type] # bytes here
        letter = body["messages"][0]["content"][0]
        if letter in self.refuses:
            error = {"error": {"code": "invalid_value", "message": f"secret {letter}"}}
            return FakeReply(400, parts=[json.dumps(error).encode()])
        if letter in self.late:
            return FakeReply(parts=[30.0])
        self.warmed.append(body)
        self.after()
        told = {"tokens": 50, "computed": 40, "cached": 10, "digest": "d", "seconds": 0.5}
        return FakeReply(parts=[json.dumps(told).encode()])

    def _state(self) -> FakeReply:
        if self.loading:
            return FakeReply(503, parts=[b'{"status":"loading"}'])
        told = {
            "model": "local",
            "fingerprint": self.fingerprint,
            "pid": self.pid,
            "active": self.busy,
            "queued": 0,
        }
        return FakeReply(parts=[json.dumps(told).encode()])

    @property
    def letters(self) -> str:
        return "".join(body["messages"][0]["content"][0] for body in self.warmed)


class Scene:
    """A worker's prewarming with everything around it in reach."""

    def __init__(self, **rules: Any) -> None:
        self.clock, self.engine = Clock(), Engine()
        self.shelf = FakeWarmShelf(self.clock)
        self.book = WarmBook(BookRules())
        self.told: list[tuple[str, Warmed | None]] = []
        self.forbidden: set[TenantId] = set()
        self.names = itertools.count()
        self.rules = WarmRules(**{"look_every": 0.001, "learn_every": 0.001, "write_every": 3600.0, **rules})
        self.warming = self.worker(self.book)

    def worker(self, book: WarmBook) -> Warming:
        return Warming(
            book=book,
            shelf=self.shelf,
            door=EngineDoor(FakeGenerator(self.engine.reply)),
            rebuild=self._rebuild,
            clock=self.clock,
            name=f"worker-{next(self.names)}",
            told=lambda outcome, warmed: self.told.append((outcome, warmed)),
            rules=self.rules,
        )

    def _rebuild(self, tenant: TenantId, owner: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        return (
            None if tenant in self.forbidden else {**body, "prefix_cache": {"tenant": tenant, "user": owner}}
        )

    def note(
        self, letter: str, times: int = 2, *, tenant: TenantId = ACME, size: int = 400, owner: str = ""
    ) -> None:
        messages = [{"role": "system", "content": letter * size}, {"role": "user", "content": "?"}]
        for _ in range(times):
            for head in heads_of(tenant, {"model": "old-name", "messages": messages}, Reach(9, 0, owner)):
                self.book.note(head, self.clock.at)

    async def written(self) -> None:
        """Have all that was noted on the shelf."""
        for tenant in self.book.tenants:
            self.book.begun_under(tenant, self.shelf.epochs[tenant])
        await self.warming.write()


async def test_a_new_engine_computes_the_most_valuable_first_through_the_same_preparation() -> None:
    scene = Scene()
    scene.note("a", 2)
    scene.note("b", 9)
    scene.note("c", 3)
    await scene.written()
    await scene.warming.look()
    assert scene.engine.letters == "bca"
    assert scene.engine.warmed[0]["prefix_cache"] == {"tenant": ACME, "user": ""}
    assert scene.engine.warmed[0]["model"] == "local"
    assert [outcome for outcome, _ in scene.told] == ["done"] * 3
    assert scene.told[0][1] == Warmed(50, 40, 10, 0.5)


async def test_a_head_is_computed_for_whom_it_was_counted() -> None:
    scene = Scene()
    scene.note("a", owner="f" * 64)
    scene.note("a", owner="e" * 64)
    await scene.written()
    await scene.warming.look()
    assert {body["prefix_cache"]["user"] for body in scene.engine.warmed} == {"f" * 64, "e" * 64}


async def test_the_same_engine_is_warmed_once_and_a_restarted_or_changed_one_again() -> None:
    scene = Scene()
    scene.note("a")
    await scene.written()
    for _ in range(3):
        await scene.warming.look()
    assert scene.engine.letters == "a"
    scene.engine.pid = 2
    await scene.warming.look()
    assert scene.engine.letters == "aa"
    scene.engine.fingerprint = "fp_2"
    await scene.warming.look()
    assert scene.engine.letters == "aaa"


async def test_an_engine_that_loads_is_left_alone() -> None:
    scene = Scene()
    scene.note("a")
    await scene.written()
    scene.engine.loading = True
    await scene.warming.look()
    assert scene.engine.letters == ""
    scene.engine.loading = False
    await scene.warming.look()
    assert scene.engine.letters == "a"


async def test_a_refused_and_a_hanging_head_are_failures_and_the_next_one_comes() -> None:
    scene = Scene(deadline=0.05)
    for letter, times in (("a", 9), ("b", 7), ("c", 5)):
        scene.note(letter, times)
    await scene.written()
    scene.engine.refuses, scene.engine.late = "a", "b"
    await scene.warming.look()
    assert scene.engine.letters == "c"
    assert [outcome for outcome, _ in scene.told] == ["failed", "failed", "done"]


async def test_a_failure_is_told_without_the_prompt(caplog: pytest.LogCaptureFixture, capsys: Any) -> None:
    scene = Scene()
    scene.note("a")
    await scene.written()
    scene.engine.refuses = "a"
    await scene.warming.look()
    told = capsys.readouterr().out + caplog.text
    assert "invalid_value" in told
    assert "secret" not in told
    assert "aaaa" not in told


async def test_done_without_computing_is_a_failure() -> None:
    nothing = b'{"tokens":50,"computed":0,"cached":0,"digest":"","seconds":0}'
    for answer in (nothing, b"{}", b"[]", b"", b"null"):
        door = EngineDoor(FakeGenerator(lambda _, answer=answer: FakeReply(parts=[answer])))
        with pytest.raises(EngineError):
            await door.warm({"messages": []}, 5.0)


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"model":"m","fingerprint":"f","pid":"x"}'])
async def test_what_is_no_engine_is_told_apart(answer: bytes) -> None:
    with pytest.raises(EngineError):
        await EngineDoor(FakeGenerator(lambda _: FakeReply(parts=[answer]))).state()


async def test_a_busy_engine_is_waited_for_head_by_head() -> None:
    scene = Scene(busy=1)
    scene.note("a", 3)
    scene.note("b", 2)
    await scene.written()
    scene.engine.busy = 2
    task = asyncio.ensure_future(scene.warming.look())
    await asyncio.sleep(0.02)
    assert scene.engine.letters == ""
    scene.engine.after = lambda: setattr(scene.engine, "busy", 5)
    scene.engine.busy = 1
    await eventually(lambda: scene.engine.letters == "a")
    await asyncio.sleep(0.02)
    assert scene.engine.letters == "a"
    scene.engine.busy = 0
    await task
    assert scene.engine.letters == "ab"


async def test_an_engine_that_restarts_meanwhile_begins_anew() -> None:
    scene = Scene()
    scene.note("a", 3)
    scene.note("b", 2)
    await scene.written()
    scene.engine.after = lambda: setattr(scene.engine, "pid", 2)
    await scene.warming.look()
    assert scene.engine.letters == "a"
    await scene.warming.look()
    assert scene.engine.letters == "aab"


async def test_one_worker_computes_and_another_takes_over_when_it_is_gone() -> None:
    scene = Scene(deadline=1.0)
    scene.note("a")
    await scene.written()
    other = scene.worker(WarmBook())
    await scene.warming.look()
    await other.look()
    assert scene.engine.letters == "a"
    scene.engine.pid = 2
    await other.look()
    assert scene.engine.letters == "a"
    scene.clock.at += 100  # its holder has not been heard of
    await other.look()
    assert scene.engine.letters == "aa"


async def test_bounds_of_one_start_and_a_turn_for_every_tenant() -> None:
    scene = Scene(heads=3)
    for letter, times in (("a", 9), ("b", 8), ("c", 7)):
        scene.note(letter, times)
    scene.note("z", 2, tenant=OTHER)
    await scene.written()
    await scene.warming.look()
    assert scene.engine.letters == "azb"
    scene = Scene(tokens=400)
    scene.note("a", 9, size=4000)
    scene.note("b", 8, size=800)
    scene.note("c", 7, size=400)
    await scene.written()
    await scene.warming.look()
    assert scene.engine.letters == "bc"


async def test_what_a_policy_forbids_now_is_skipped() -> None:
    scene = Scene()
    scene.note("a")
    scene.note("b", tenant=OTHER)
    await scene.written()
    scene.forbidden = {ACME}
    await scene.warming.look()
    assert scene.engine.letters == "b"
    assert ("skipped", None) in scene.told


async def test_workers_add_up_on_the_shelf() -> None:
    scene = Scene()
    scene.note("a", 4)
    await scene.written()
    book = WarmBook()
    scene.book, scene.warming = book, scene.worker(book)
    scene.note("a", 3)
    await scene.written()
    await scene.warming.write()
    (head,) = loads((await scene.shelf.read(ACME)) or b"")
    assert head.frequency == 7.0


async def test_a_flushed_tenant_is_not_written_again() -> None:
    scene = Scene()
    scene.note("a")
    scene.note("b", tenant=OTHER)
    await scene.written()
    scene.note("a")
    scene.shelf.flush(ACME)  # the word of it has not come yet
    await scene.warming.write()
    assert scene.shelf.values.keys() == {OTHER}
    assert scene.book.tenants == (OTHER,)
    # And the word itself drops what is counted.
    scene.warming.on_change(EpochBumped(OTHER, "", 1))
    assert scene.book.tenants == ()


async def test_only_a_flush_of_the_whole_tenant_counts() -> None:
    scene = Scene()
    scene.note("a")
    scene.warming.on_change(EpochBumped(ACME, "tag:x", 1))
    scene.warming.on_change(EntryPut(ACME, "e"))  # type: ignore[arg-type] # an id
    assert scene.book.tenants == (ACME,)
    scene.warming.on_change(StoreReset())
    assert scene.book.tenants == ()


async def test_nothing_is_written_before_it_is_known_under_which_count_it_was_begun() -> None:
    scene = Scene()
    scene.note("a")
    await scene.warming.write()
    assert not scene.shelf.values


async def test_a_shelf_that_is_away_costs_nothing_but_the_turn() -> None:
    scene = Scene()
    scene.note("a")
    await scene.written()
    scene.note("a")
    scene.shelf.away = True
    for call in (scene.warming.look, scene.warming.write):
        with pytest.raises(StoreError):
            await call()
    scene.shelf.away = False
    await scene.warming.write()
    (head,) = loads((await scene.shelf.read(ACME)) or b"")
    assert head.frequency == 4.0


async def test_a_damaged_value_holds_nothing_and_is_replaced() -> None:
    scene = Scene()
    scene.shelf.values[ACME] = (0, b"nonsense")
    await scene.warming.look()
    assert scene.engine.letters == ""
    scene.note("a")
    await scene.written()
    assert len(loads((await scene.shelf.read(ACME)) or b"")) == 1


async def test_the_task_survives_engine_and_store_and_writes_when_it_ends() -> None:
    scene = Scene(write_every=0.005)
    scene.engine.down = True
    task = asyncio.ensure_future(scene.warming.run())
    scene.note("a")
    await eventually(lambda: ACME in scene.shelf.values)
    scene.shelf.away = True
    await asyncio.sleep(0.02)
    scene.shelf.away = scene.engine.down = False
    await eventually(lambda: scene.engine.letters == "a")
    scene.rules = WarmRules()
    scene.note("b", 5)
    await eventually(lambda: scene.book.epoch(ACME) is not None)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(loads((await scene.shelf.read(ACME)) or b"")) == 2
    assert scene.shelf.held == ("", 0.0)
