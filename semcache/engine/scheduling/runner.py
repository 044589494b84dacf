"""The engine's own thread: it turns the scheduler while there is work, sleeps when there is none.

The only part of this room that knows threads. Others' questions are answered between two passes.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import TypeVar

from semcache.engine.generation import Failed, GenerationRequest, RunnerStats, Sink
from semcache.engine.memory.allocator import SlotError
from semcache.engine.prefix.faults import TreeError
from semcache.engine.prefix.shares import Shares
from semcache.engine.report import EngineReport, TopPrefix, TreeNode
from semcache.engine.runs import Run
from semcache.engine.scheduling.books import Books, Site, open_books
from semcache.engine.scheduling.counters import Counters
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Keeping
from semcache.engine.scheduling.ports import Model
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.reporting import report, top_prefixes
from semcache.errors import EngineError

_log = logging.getLogger(__name__)

T = TypeVar("T")

ASK_SECONDS = 10.0
"""How long a question about the engine may wait for the end of a pass."""


class PagedRunner:
    """`generation.Runner` on a pool of KV slots and a prefix tree.

    A fault inside the engine that nobody foresaw fails the requests that run and costs all
    prefixes, but not the engine: it begins again with new books, and with those who wait.

    Args:
        model: What was loaded; its network's pool belongs to this runner from now on.
        limits: How much a step may take on.
        keeping: Which prefixes are kept, and for whom.
        max_queue: How many requests may wait; as many background ones may wait beside them.
        checks: Compare all books whenever the engine falls idle; an error ends the engine (for tests).
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
        self._shares = keeping.shares or Shares(model.network.slots)
        self._counters = Counters()
        self._site = Site(model, limits, keeping, self._users, self._background, self._counters, clock)
        self._books = open_books(self._site)
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
        return RunnerStats(self._books.scheduler.choices, len(self._users), self._counters.generated)

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
        return self._ask(lambda books: books.tree.snapshot(self._clock(), limit))

    def top_prefixes(self, count: int) -> tuple[TopPrefix, ...]:
        """Give the `count` prefixes most worth keeping, best first.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(lambda books: top_prefixes(books.tree, count, self._clock()))

    def clear(self) -> int:
        """Forget every computed prefix that nobody holds; gives the number of tokens.

        Raises:
            EngineError: the engine is closed, or too busy to answer in time.
        """
        return self._ask(lambda books: books.slots.evict_all())

    def check_integrity(self) -> None:
        """Compare all books between two passes.

        Raises:
            EngineError: they disagree; or the engine is closed, or too busy to answer in time.
        """
        self._ask(lambda books: books.scheduler.check_integrity())

    def _report(self, books: Books) -> EngineReport:
        stats = self.stats()
        return report(
            self._model.network,
            books.allocator,
            books.tree,
            self._shares,
            self._counters,
            active=stats.active,
            queued=stats.queued,
            host_tokens=0 if books.tier is None else books.tier.tokens,
        )

    def _ask(self, question: Callable[[Books], T]) -> T:
        """Have the engine's thread answer a question."""
        answer: Future[T] = Future()

        def reply(refusal: EngineError | None) -> None:
            try:
                if refusal is not None:
                    raise refusal
                answer.set_result(question(self._books))
            except EngineError as error:
                answer.set_exception(error)
                if isinstance(error, TreeError | SlotError):
                    raise
            except Exception:
                answer.set_exception(EngineError("the engine cannot tell about itself now"))
                raise

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
        while True:
            try:
                reply = self._questions.popleft()
            except IndexError:
                return
            reply(refusal)

    def _work(self) -> None:
        try:
            while not self._closing:
                self._turn()
        finally:
            self._closing = True
            error = EngineError("the engine is shutting down")
            self._books.scheduler.abandon(error)
            self._answer(error)
            for job in [*self._users.drain(), *self._background.drain()]:
                job.send([Failed(error)])

    def _turn(self) -> None:
        """Answer questions, then do one step or sleep."""
        try:
            self._answer()
            if self._books.scheduler.has_work:
                self._books.scheduler.step()
                return
        except Exception as error:  # noqa: BLE001 - boundary: no fault of one part may end all others
            self._begin_again(error)
            return
        if self._checks:
            self._books.scheduler.check_integrity()
        self._wake.wait()
        self._wake.clear()

    def _begin_again(self, fault: Exception) -> None:
        """Fail what runs, and drop all prefixes: nobody knows any more which slot holds what.

        The slots are cleared, since anything may be in them. Who waits is served from the new books.
        """
        # The fault's own words may hold anything, so only its kind and place are told.
        *_, (frame, line) = traceback.walk_tb(fault.__traceback__)
        place = f"{frame.f_globals.get('__name__')}:{line}"
        _log.error(
            "a fault inside the engine, all prefixes are dropped: %s at %s", type(fault).__name__, place
        )
        self._counters.recoveries += 1
        books = self._books
        books.scheduler.abandon(EngineError("the generation failed inside the engine"))
        books.close(self._counters)
        self._model.network.clear((Run(0, self._model.network.slots),))
        self._books = open_books(self._site)
