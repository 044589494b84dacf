"""The engine's own thread: it turns the scheduler while there is work, sleeps when there is none.

The only part of this room that knows threads. Others' questions are answered between two passes.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import TypeVar

from semcache.engine.generation import Failed, GenerationRequest, RunnerStats, Sink
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.memory.host import HostTier
from semcache.engine.prefix.eviction import HybridPolicy
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.report import EngineReport, TopPrefix, TreeNode
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Keeping
from semcache.engine.scheduling.ports import Model
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.reporting import report, top_prefixes
from semcache.engine.scheduling.scheduler import Parts, Scheduler
from semcache.engine.scheduling.slots import Slots
from semcache.engine.scheduling.tier import SecondTier
from semcache.errors import EngineError

_log = logging.getLogger(__name__)

T = TypeVar("T")

ASK_SECONDS = 10.0
"""How long a question about the engine may wait for the end of a pass."""


class PagedRunner:
    """`generation.Runner` on a pool of KV slots and a prefix tree.

    Args:
        model: What was loaded; its network's pool belongs to this runner from now on.
        limits: How much a step may take on.
        keeping: Which prefixes are kept, and for whom.
        max_queue: How many requests may wait; as many background ones may wait beside them.
        checks: Compare all books whenever the engine falls idle; an error ends the engine.
    """

    def __init__(
        self,
        model: Model,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        keeping: Keeping = Keeping(),  # noqa: B008 - frozen
        max_queue: int = 64,
        checks: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._checks = checks
        self._users = WaitingQueue(max_queue)
        self._background = WaitingQueue(max_queue)
        self._model = model
        capacity = model.network.slots
        policy = HybridPolicy(capacity, keeping.rules, keeping.shares)
        self._shares = keeping.shares or Shares(capacity)
        self._tree = PrefixTree(capacity, policy.order, policy, (("model", model.fingerprint),))
        self._allocator = RunAllocator(capacity)
        self._tier: SecondTier | None = None
        if keeping.host_bytes:
            self._tier = SecondTier(HostTier(keeping.host_bytes), model.network)
        self._slots = Slots(self._allocator, self._tree, keeping.shares, clock, self._tier)
        parts = Parts(
            model=model,
            slots=self._slots,
            tree=self._tree,
            users=self._users,
            background=self._background,
            warm=lambda node: policy.warm(node, clock() + keeping.warm_seconds),
            tier=self._tier,
            clock=clock,
        )
        self._scheduler = Scheduler(parts, limits)
        self._questions: deque[Callable[[EngineError | None], None]] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="engine-runner", daemon=True)
        self._thread.start()

    def submit(self, request: GenerationRequest, sink: Sink) -> Job:
        """Queue a generation; constant work, however many wait.

        Raises:
            RequestError: the queue is full (503 `overloaded`).
            EngineError: the runner is closed or has died.
        """
        if not self.is_alive:
            raise EngineError("the engine is shutting down")
        queue = self._background if request.background else self._users
        job = Job(request, sink, self._clock(), queue.remove)
        queue.push(job)
        self._wake.set()
        if not self.is_alive and queue.remove(job):  # it closed in this very moment
            raise EngineError("the engine is shutting down")
        return job

    def stats(self) -> RunnerStats:
        """Give present figures; costs nothing."""
        scheduler = self._scheduler
        return RunnerStats(scheduler.choices, len(self._users), scheduler.counters.generated)

    @property
    def is_alive(self) -> bool:
        """False once the runner can never answer again."""
        return self._thread.is_alive() and not self._closing

    def close(self) -> None:
        """End the thread after its present pass; waiting and running requests fail. Idempotent."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    def report(self) -> EngineReport:
        """Give counters since the start and present sizes.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(self._report)

    def tree_view(self, limit: int) -> tuple[TreeNode, ...]:
        """Show at most `limit` nodes of the tree, the most valuable ones, parents before children.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(lambda: self._tree.snapshot(self._clock(), limit))

    def top_prefixes(self, count: int) -> tuple[TopPrefix, ...]:
        """Give the `count` prefixes most worth keeping, best first.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(lambda: top_prefixes(self._tree, count, self._clock()))

    def clear(self) -> int:
        """Forget every computed prefix that nobody holds; gives the number of tokens.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(self._slots.evict_all)

    def check_integrity(self) -> None:
        """Compare all books between two passes.

        Raises:
            EngineError: they disagree; or the engine is closed, or too busy to answer in time.
        """
        self._ask(self._scheduler.check_integrity)

    def _report(self) -> EngineReport:
        stats = self.stats()
        return report(
            self._model.network,
            self._allocator,
            self._tree,
            self._shares,
            self._scheduler.counters,
            active=stats.active,
            queued=stats.queued,
            host_tokens=0 if self._tier is None else self._tier.tokens,
        )

    def _ask(self, question: Callable[[], T]) -> T:
        """Have the engine's thread answer a question."""
        answer: Future[T] = Future()

        def reply(refusal: EngineError | None) -> None:
            try:
                if refusal is not None:
                    raise refusal
                answer.set_result(question())
            except EngineError as error:
                answer.set_exception(error)

        self._questions.append(reply)
        self._wake.set()
        if not self.is_alive:
            self._answer(EngineError("the engine is shutting down"))
        try:
            return answer.result(ASK_SECONDS)
        except LateError:
            raise EngineError("the engine is too busy to tell about itself") from None

    def _answer(self, refusal: EngineError | None = None) -> None:
        """Answer, or refuse, all that was asked."""
        with contextlib.suppress(IndexError):
            while True:
                self._questions.popleft()(refusal)

    def _work(self) -> None:
        try:
            while not self._closing:
                self._turn()
        finally:
            self._closing = True
            error = EngineError("the engine is shutting down")
            self._scheduler.end(error)
            self._answer(error)
            for job in [*self._users.drain(), *self._background.drain()]:
                job.send([Failed(error)])

    def _turn(self) -> None:
        """Answer questions, then do one step or sleep."""
        self._answer()
        if not self._scheduler.has_work:
            if self._checks:
                self._scheduler.check_integrity()
            self._wake.wait()
            self._wake.clear()
            return
        self._scheduler.step()
