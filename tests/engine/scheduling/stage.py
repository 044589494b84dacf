"""A scheduler without its thread, so that tests say when a step happens and look in between."""

from __future__ import annotations

from typing import Any

from semcache.engine import sampling
from semcache.engine.generation import (
    Delta,
    Done,
    Event,
    Failed,
    Finished,
    GenerationRequest,
    Sampling,
)
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.memory.host import HostTier
from semcache.engine.prefix.eviction import HybridPolicy
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.scheduler import Parts, Scheduler
from semcache.engine.scheduling.slots import Slots
from semcache.engine.scheduling.tier import SecondTier
from tests.engine.scheduling.fake_network import END, FakeModel, FakeNetwork

DEFAULTS = Limits()
GREEDY = Sampling(temperature=0.0)


def ask(prompt: Any = (1, 2, 3), **changes: Any) -> GenerationRequest:
    """A greedy request that reports every token."""
    fields: dict[str, Any] = {"sampling": GREEDY, "max_tokens": 8, "logprobs": 0, **changes}
    return GenerationRequest(prompt=tuple(prompt), **fields)


class Asked:
    """A submitted request and what came of it."""

    def __init__(self, request: GenerationRequest) -> None:
        self.request = request
        self.events: list[Event] = []
        self.job: Job

    @property
    def is_over(self) -> bool:
        return bool(self.events) and isinstance(self.events[-1], Done | Failed)

    @property
    def error(self) -> str | None:
        return str(self.events[-1].error) if self.is_over and isinstance(self.events[-1], Failed) else None

    @property
    def done(self) -> Done:
        assert isinstance(self.events[-1], Done), self.events[-1]
        return self.events[-1]

    def said(self, index: int = 0) -> list[int]:
        """Tokens of a choice without its end token."""
        return [
            chance.chosen.token[0] - 48
            for event in self.events
            if isinstance(event, Delta) and event.index == index
            for chance in event.logprobs
        ]

    def text(self, index: int = 0) -> str:
        return "".join(
            event.text for event in self.events if isinstance(event, Delta) and event.index == index
        )


class Stage:
    """Everything but the thread; `seconds` is the clock, a millisecond further at each look."""

    def __init__(
        self,
        network: FakeNetwork,
        *,
        limits: Limits = DEFAULTS,
        queue: int = 1000,
        context: int = 200,
        shares: Shares | None = None,
        host_bytes: int = 0,
        tree: PrefixTree | None = None,
    ):
        self.network = network
        self.seconds = 100.0
        self.model = FakeModel(network, context)
        self.allocator = RunAllocator(network.slots)
        self.tree = tree or hybrid_tree(network.slots, shares)
        tier = SecondTier(HostTier(host_bytes), network) if host_bytes else None
        self.slots = Slots(self.allocator, self.tree, shares, self._clock, tier)
        self.users, self.background = WaitingQueue(queue), WaitingQueue(queue)
        self.warmed: list[int] = []
        parts = Parts(
            self.model,
            self.slots,
            self.tree,
            self.users,
            self.background,
            self.warmed.append,
            tier,
            self._clock,
        )
        self.scheduler = Scheduler(parts, limits)

    def _clock(self) -> float:
        self.seconds += 0.001
        return self.seconds

    def submit(self, request: GenerationRequest) -> Asked:
        asked = Asked(request)
        queue = self.background if request.background else self.users
        asked.job = Job(request, asked.events.append, self._clock(), queue.remove)
        queue.push(asked.job)
        return asked

    def step(self) -> None:
        self.scheduler.step()
        self.check()

    def check(self) -> None:
        self.scheduler.check_integrity()
        assert self.allocator.free + self.tree.tokens + self.slots.running == self.network.slots
        assert self.network.left_dirty() == 0

    def run(self, most: int = 5000) -> None:
        """Step until nothing is left to do."""
        while self.scheduler.has_work:
            self.step()
            most -= 1
            assert most, "no end"
        assert self.slots.running == 0
        assert self.tree.evictable == self.tree.tokens

    def answer(self, request: GenerationRequest) -> Asked:
        asked = self.submit(request)
        self.run()
        return asked

    def expected(self, request: GenerationRequest, index: int = 0) -> list[int]:
        """What a choice must say, as if nothing were ever cached."""
        generator = sampling.new_generator(request.sampling.seed, index)

        def pick(logits: Any) -> int:
            return sampling.distribution(logits, request.sampling).draw(generator)

        most = min(request.max_tokens, self.model.context - len(request.prompt))
        said = self.network.truth(request.prompt, most, pick)
        return [token for token in said if token != END]

    def assert_true(self, asked: Asked) -> None:
        """An answer must be complete and what it would be without any cache."""
        assert asked.error is None, asked.error
        for index in range(asked.request.choices):
            assert sum(isinstance(event, Finished) and event.index == index for event in asked.events) == 1
            assert asked.said(index) == self.expected(asked.request, index)
        assert asked.done.prompt_tokens == len(asked.request.prompt)


def hybrid_tree(slots: int, shares: Shares | None = None) -> PrefixTree:
    """The tree as it is served, with an edge between shallow and deep that small tests cross."""
    policy = HybridPolicy(slots, EvictionRules(shallow=16), shares)
    return PrefixTree(slots, policy.order, policy)
