"""Any history of requests, cancellations, evictions and faults: slots never get lost, answers never change."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from semcache.engine.forward import Exactness, Piece
from semcache.engine.generation import Done, Failed, GenerationRequest, Sampling
from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.prefix.shares import Share, Shares
from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import GUILTY, POISON, FakeNetwork
from tests.engine.scheduling.stage import GREEDY, Asked, Stage, ask

HEADS = [tuple(range(5, 5 + length)) for length in (0, 3, 16, 17, 30)]
OWNERS = [None, Owner("a", b"a"), Owner("b", b"b")]

tails = st.lists(st.integers(0, 3), min_size=1, max_size=12).map(tuple)
requests = st.builds(
    lambda head, tail, owner, is_public, bad, **fields: ask(
        head + tail + bad,
        layers=_layers(owner, len(head) if is_public else 0, len(head + tail + bad)),
        **fields,
    ),
    head=st.sampled_from(HEADS),
    tail=tails,
    bad=st.sampled_from([(), (), (), (GUILTY, 1), (POISON, 1)]),
    owner=st.sampled_from(OWNERS),
    is_public=st.booleans(),
    max_tokens=st.sampled_from([0, 1, 5, 20, 40]),
    choices=st.sampled_from([1, 1, 1, 3]),
    sampling=st.sampled_from([GREEDY, GREEDY, Sampling(temperature=0.8, top_p=0.9, seed=5)]),
)


def _layers(owner: Owner | None, public: int, length: int) -> tuple[Layer, ...]:
    if owner is None:
        return ()
    return (*((Layer(public, PUBLIC),) if public else ()), Layer(length, owner))


class Machine(RuleBasedStateMachine):
    """Small enough a pool that everything happens: eviction, preemption, and what can never fit."""

    exactness = Exactness()
    slots = 72
    withheld = 0
    host_bytes = 0
    shares: Shares | None = None

    def __init__(self) -> None:
        super().__init__()
        self.network = FakeNetwork(self.slots, self.exactness)
        self.network.before = self._before
        self.stage = Stage(
            self.network,
            limits=Limits(active=4, chunk=7, budget=10, tail=4),
            shares=self.shares,
            host_bytes=self.host_bytes,
        )
        self.take, self.stage.slots.take = self.stage.slots.take, self._take  # type: ignore[method-assign]  # a spy
        self.asked: list[Asked] = []
        self.fault: Exception | None = None
        self.is_common = False
        self.guilty_failed = False

    def _before(self, pieces: Sequence[Piece]) -> None:
        if self.fault is None:
            return
        if self.is_common and len(pieces) > 1:
            raise self.fault
        if not self.is_common and any(GUILTY in piece.tokens for piece in pieces):
            self.guilty_failed = True
            raise self.fault

    def _take(self, *args: Any, floors: bool = True, **options: Any) -> Any:
        """Floors are left alone but for a user's request that is all that runs."""
        if not floors:
            (alone,) = self.stage.scheduler._roster.running
            assert not alone.generation.request.background
        return self.take(*args, floors=floors, **options)

    @rule(request=requests)
    def submit(self, request: GenerationRequest) -> None:
        self.asked.append(self.stage.submit(request))

    @rule(request=requests, edits=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 40)), max_size=3))
    def submit_with_draft(self, request: GenerationRequest, edits: list[tuple[int, int]]) -> None:
        if POISON in request.prompt:
            return
        guess = self.stage.expected(request)
        for place, token in edits:
            guess[place : place + 1] = [token]
        fields = {name: getattr(request, name) for name in ("layers", "max_tokens", "choices", "sampling")}
        self.asked.append(self.stage.submit(ask(request.prompt, draft=tuple(guess), **fields)))

    @rule(request=requests)
    def submit_in_background(self, request: GenerationRequest) -> None:
        self.asked.append(
            self.stage.submit(ask(request.prompt, layers=request.layers, max_tokens=0, background=True))
        )

    @rule(count=st.integers(1, 6))
    def step(self, count: int) -> None:
        for _ in range(count):
            self.stage.step()

    @rule(fault=st.sampled_from([MemoryError(), RuntimeError("x")]), is_common=st.booleans())
    def step_with_fault(self, fault: Exception, is_common: bool) -> None:
        self.fault, self.is_common = fault, is_common
        self.stage.step()
        self.fault = None

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.asked))
        asked.job.cancel()

    @rule(count=st.integers(1, 40))
    def evict(self, count: int) -> None:
        self.stage.slots.forget(count)

    @invariant()
    def sound(self) -> None:
        self.stage.check()

    def teardown(self) -> None:
        self.stage.run()
        for asked in self.asked:
            self._judge(asked)

    def _judge(self, asked: Asked) -> None:
        request = asked.request
        if asked.job.is_cancelled and not asked.is_over:
            return
        assert asked.is_over
        assert sum(isinstance(event, Done | Failed) for event in asked.events) == 1
        if asked.error is None:
            assert POISON not in request.prompt
            self.stage.assert_true(asked)
        elif "not finite" in asked.error:
            assert POISON in request.prompt
        elif "more memory for keys" in asked.error:
            # Choices can be answered one after another; the last token of an answer is never computed.
            needed = len(request.prompt) + max(request.max_tokens - 1, 0)
            assert needed > self.slots - (self.withheld if request.background else 0)
        else:
            assert GUILTY in request.prompt
            assert self.guilty_failed


class GridMachine(Machine):
    """A network that promises bits only for pieces on a grid."""

    exactness = Exactness(grid=8, shares_generated=False)


class HalfMachine(Machine):
    """No grid, but what answers compute is not to be shared."""

    exactness = Exactness(grid=1, shares_generated=False)


class TieredMachine(Machine):
    """Evicted runs are copied to the host, and tenants have limits.

    What a floor keeps stands on the public beginning of its prompts, which is then kept too, from work in the
    background: 10 slots and 30.
    """

    withheld = 40
    host_bytes = 40_000
    shares = Shares(72, tenants=MappingProxyType({"a": Share(floor=10), "b": Share(ceiling=30)}))


class FlooredMachine(GridMachine):
    """On a grid, everybody has a floor, the public too."""

    withheld = 72
    shares = Shares(72, Share(floor=8), Share(floor=20), MappingProxyType({"a": Share(floor=30)}))


@pytest.mark.parametrize("machine", [Machine, GridMachine, HalfMachine, TieredMachine, FlooredMachine])
def test_any_history_leaves_every_slot_and_every_answer_in_order(machine: type[Machine]) -> None:
    case = machine.TestCase
    case.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)
    case("runTest").runTest()
