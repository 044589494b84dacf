"""What goes into the next pass: a token of every answer, and pieces of prompts under a budget.

Takes the slots that the pass writes, and takes them from the youngest when there are not enough.
Knows no logits. The region map of a sequence is in `sequence.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.engine.forward import Exactness, Piece
from semcache.engine.layers import owner_at
from semcache.engine.scheduling.pool import Pool
from semcache.engine.scheduling.roster import Roster
from semcache.engine.scheduling.sequence import Sequence
from semcache.errors import EngineError

CRUMB = 8
"""What is left of a budget is not worth a piece below this many tokens, unless they end the prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a step may take on. Token counts; `active` counts choices.

    `chunk` is the most that one prompt gets in a pass and `budget` what all prompts get together:
    the delay between two tokens of an answer. `draft` is the longest guess verified in one pass.
    Slots for answers are taken `tail` at a time: rarely, and not many in vain.
    """

    active: int = 16
    chunk: int = 64
    budget: int = 64
    draft: int = 16
    tail: int = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """One sequence's part in a pass: a piece of a prompt, or an answer's token and `draft` guesses."""

    sequence: Sequence
    piece: Piece
    reads: bool
    draft: int = 0


class Planner:
    """Chooses; fair between prompts, since the one that was read least lately comes first."""

    def __init__(self, pool: Pool, roster: Roster, limits: Limits, exactness: Exactness) -> None:
        self._pool = pool
        self._roster = roster
        self._limits = limits
        self._exactness = exactness
        self._turn = 0

    def plan(self) -> list[list[Entry]]:
        """Give the passes of one step; each writes into slots that its sequences hold already.

        With a grid, answers and prompts go apart, and one prompt at a time.
        """
        answers = [entry for one in list(self._roster.running) if (entry := self._answer(one))]
        prompts = self._prompts()
        # Whoever came later may have taken the slots of one that was planned before.
        passes = [answers, prompts] if self._exactness.grid > 1 else [answers + prompts]
        kept = [[entry for entry in one if self._roster.is_running(entry.sequence)] for one in passes]
        return [entries for entries in kept if entries]

    def _answers_next(self, sequence: Sequence) -> bool:
        """Tell whether a sequence goes on token by token, not in pieces.

        Without shared answers it repeats even what it said before a preemption in this way, since
        other bits would come of reading it in pieces.
        """
        if sequence.answer is None:
            return False
        replays = not self._exactness.shares_generated and sequence.computed >= sequence.prompt
        return sequence.pending == 1 or replays

    def _answer(self, sequence: Sequence) -> Entry | None:
        if not self._roster.is_running(sequence) or not self._answers_next(sequence):
            return None
        draft: tuple[int, ...] = ()
        if sequence.pending == 1 and sequence.answer is not None and self._may_draft():
            draft = sequence.answer.propose(self._limits.draft)
        if draft and not self._pool.secure(sequence, 1 + len(draft)):
            draft = ()  # a guess is not worth another's slots
        if not self._secure(sequence, 1 + len(draft)):
            return None
        at = sequence.computed
        tokens = (sequence.ids[at], *draft)
        runs = sequence.runs_to(at + len(tokens))
        return Entry(sequence, Piece(tokens, at, runs, logits=len(tokens)), reads=False, draft=len(draft))

    def _may_draft(self) -> bool:
        return self._exactness.grid == 1 and self._exactness.shares_generated

    def _prompts(self) -> list[Entry]:
        """Give pieces of prompts, at most `budget` tokens together."""
        reading = [one for one in self._roster.running if not self._answers_next(one)]
        for sequence in reading:
            if sequence.turn == 0:  # new ones stand behind those that wait for their next piece
                self._put_last(sequence)
        reading.sort(key=lambda one: one.turn)
        left = self._limits.budget
        entries: list[Entry] = []
        for sequence in reading:
            if left <= 0 or (entries and self._exactness.grid > 1):
                break
            if not self._roster.is_running(sequence):
                continue
            entry = self._piece(sequence, left, entries)
            if entry is not None:
                entries.append(entry)
                left -= len(entry.piece.tokens)
        return entries

    def _piece(self, sequence: Sequence, left: int, planned: list[Entry]) -> Entry | None:
        """Give the next piece of a prompt, unless another one computes the same in this pass."""
        self._advance(sequence)
        if any(_same_next(sequence, other.sequence) for other in planned):
            return None
        whole = self._length(sequence)
        if not whole:  # an answer whose prompt was found whole goes on token by token
            return None
        count = whole if self._exactness.grid > 1 else min(whole, left)
        if count < min(whole, CRUMB) or not self._secure(sequence, count):
            return None
        if count == whole:  # who got only what others left keeps its place in the line
            self._put_last(sequence)
        at = sequence.computed
        tokens = tuple(sequence.ids[at : at + count])
        return Entry(sequence, Piece(tokens, at, sequence.runs_to(at + count)), reads=True)

    def _put_last(self, sequence: Sequence) -> None:
        self._turn += 1
        sequence.turn = self._turn

    def _advance(self, sequence: Sequence) -> None:
        """Skip what others computed since this sequence last read."""
        start = sequence.computed
        if sequence.lease is None and self._pool.look_up(sequence):
            sequence.skipped(start)

    def _length(self, sequence: Sequence) -> int:
        """Give the length of a sequence's next piece, should it have the pass to itself."""
        grid = self._exactness.grid
        pending = sequence.pending
        if not self._exactness.shares_generated:
            pending = sequence.prompt - sequence.computed
        if grid == 1:
            return min(pending, self._limits.chunk, self._limits.budget)
        return min(pending, grid - sequence.computed % grid)

    def _secure(self, sequence: Sequence, count: int) -> bool:
        """Get slots for the next tokens; False when the sequence has to wait, or failed."""
        while not self._pool.secure(sequence, count):
            if self._pool.trim(self._roster.running):
                continue
            youngest = self._roster.running[-1]
            if youngest is sequence and len(self._roster.running) == 1:
                if self._secure_alone(sequence, count):
                    break
                return False
            self._roster.preempt(youngest)
            if youngest is sequence:
                return False
        sequence.planned = count
        return True

    def _secure_alone(self, sequence: Sequence, count: int) -> bool:
        """Get slots for the only one that runs, from tenants' floors if need be; False when it failed.

        A floor is a promise about what was computed, and here a user waits. In the background nobody does.
        """
        if sequence.generation.request.background:
            error = EngineError(
                "work in the background needs more memory for keys and values than the engine can spare"
            )
        elif self._pool.secure(sequence, count, floors=False):
            return True
        else:
            error = EngineError("the request needs more memory for keys and values than the engine has")
        self._roster.fail(sequence.generation, error)
        return False


def _same_next(one: Sequence, other: Sequence) -> bool:
    """Tell whether both would compute the same token next, for the same owner."""
    at = one.computed
    if at != other.computed or owner_at(one.layers, at) != owner_at(other.layers, at):
        return False
    end = 4 * (at + 1)
    return one.data[:end] == other.data[:end]
