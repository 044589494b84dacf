"""After a pass: logits become tokens, computed tokens become the tree's, faults become one failure.

The last look at logits before anything is shared: values that are not finite never get into the
tree, since a row's logits depend on the keys and values of all tokens before it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from semcache.engine import sampling
from semcache.engine.drafting.draft import Draft
from semcache.engine.drafting.judge import Verdict, judge
from semcache.engine.generation import Event, Finished, FinishReason
from semcache.engine.memory.allocator import SlotError
from semcache.engine.prefix.faults import TreeError
from semcache.engine.scheduling.answer import Answer
from semcache.engine.scheduling.counters import Counters
from semcache.engine.scheduling.passes import Outcome
from semcache.engine.scheduling.pool import Pool
from semcache.engine.scheduling.ports import Model
from semcache.engine.scheduling.roster import Roster
from semcache.engine.scheduling.sequence import Sequence
from semcache.errors import EngineError

_log = logging.getLogger(__name__)


class Settler:
    """Turns the outcome of a pass into events and new states of its sequences.

    `is_in_doubt` after a fault that nobody foresaw: the books should be compared.
    """

    def __init__(
        self,
        model: Model,
        pool: Pool,
        roster: Roster,
        counters: Counters,
        clock: Callable[[], float],
        on_answer: Callable[[Sequence], None],
    ) -> None:
        self._model = model
        self._pool = pool
        self._roster = roster
        self._counters = counters
        self._clock = clock
        self._on_answer = on_answer
        self.is_in_doubt = False
        self._step = 0

    def settle(self, outcomes: list[Outcome], step: int) -> None:
        """Take the results of pass number `step`."""
        self._step = step
        for outcome in outcomes:
            generation = outcome.entry.sequence.generation
            outcome.entry.sequence.planned = 0
            if generation.is_over:
                continue
            if generation.job.is_cancelled:
                self._roster.drop(generation, dirty=True)  # nobody looked whether its values are finite
                continue
            try:
                self._settle(outcome)
            except EngineError as error:
                if isinstance(error, TreeError | SlotError):
                    _log.error("a generation failed: %s", type(error).__name__)
                    self.is_in_doubt = True
                self._roster.fail(generation, error, dirty=True)
            except Exception as error:  # noqa: BLE001 - boundary: sampling and forms are fed by one request
                _log.error("a generation failed: %s", type(error).__name__)
                self.is_in_doubt = True
                failure = EngineError("the generation failed inside the engine")
                self._roster.fail(generation, failure, dirty=True)

    def _settle(self, outcome: Outcome) -> None:
        entry, logits = outcome.entry, outcome.logits
        if logits is None:
            raise outcome.error or EngineError("the generation failed inside the engine")
        sequence = entry.sequence
        fed = len(entry.piece.tokens) - entry.draft
        if entry.reads or sequence.pending > fed:  # rows that are drawn from are looked at then
            sampling.check(logits[-1])
        self._count(sequence, fed)
        sequence.computed += fed
        sequence.furthest = max(sequence.furthest, sequence.computed)
        if entry.reads:
            self._pool.share(sequence)
        else:
            self._counters.decode_rows += len(logits)
        if sequence.pending:
            return
        if sequence.answer is None:
            self._begin(sequence, logits[-1])
        else:
            self._accept(sequence, logits[-1 - entry.draft :], entry.piece.tokens[fed:])

    def _count(self, sequence: Sequence, fed: int) -> None:
        """Book computed tokens that are background work or were computed before."""
        if sequence.generation.request.background:
            self._counters.background += fed
        else:
            self._counters.recomputed += min(max(sequence.furthest - sequence.computed, 0), fed)

    def _begin(self, stem: Sequence, logits: Tensor) -> None:
        """Make the choices of a request whose prompt was read, and give each its first token."""
        generation = stem.generation
        request = generation.request
        generation.job.prompt_read(self._clock())
        if not request.background:
            self._counters.prompt += len(request.prompt)
            self._counters.cached += generation.cached
        if request.max_tokens == 0:
            generation.job.send([Finished(index, FinishReason.LENGTH) for index in range(request.choices)])
            self._roster.finish(stem, request.choices)
            return
        choices = [stem.fork() for _ in range(request.choices)]
        for index, choice in enumerate(choices):
            draft = Draft(request.draft) if request.draft else None
            choice.answer = Answer(index, request, self._model, draft)
        self._roster.fork(stem, choices)
        for choice in choices:
            self._accept(choice, logits[None], ())

    def _accept(self, sequence: Sequence, rows: Tensor, guesses: tuple[int, ...]) -> None:
        """Draw tokens from consecutive rows, as long as each is the one that was guessed."""
        answer = sequence.answer
        if answer is None:
            return
        events: list[Event] = []

        def draw(row: int) -> int:
            events.extend(answer.accept(rows[row]))
            sequence.append(answer.last)
            return answer.last

        verdict = judge(guesses, draw, lambda: answer.is_finished)
        if verdict.rejected and not torch.isfinite(rows[1 + verdict.accepted :].amax(dim=1)).all():
            first = sequence.computed + verdict.accepted
            self._pool.wipe(sequence, first, first + verdict.rejected)
        sequence.computed = len(sequence.ids) - 1
        sequence.furthest = max(sequence.furthest, sequence.computed)
        self._book(sequence, verdict)
        sequence.generation.job.send(events)
        sequence.generation.job.answered(self._clock())
        if answer.is_finished:
            self._on_answer(sequence)
            self._roster.finish(sequence)

    def _book(self, sequence: Sequence, verdict: Verdict) -> None:
        generation, counters = sequence.generation, self._counters
        made = len(verdict.tokens)
        generation.made(made, self._step)
        generation.accepted += verdict.accepted
        generation.rejected += verdict.rejected
        counters.generated += made
        counters.accepted_draft += verdict.accepted
        counters.rejected_draft += verdict.rejected
