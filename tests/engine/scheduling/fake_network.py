"""A network whose answers depend on every slot that it is given, and on nothing else.

The value written for a token is a hash of the token, its place, and of what stands in all slots
before it, read from the slots that the pass names. So one wrong, stale, swapped or missing slot
changes every later token of the answer. It also refuses what no network could take: slots named
twice, written by two sequences, or read while another writes them; and it sees whether values that
are not finite are left behind. `truth` says what comes out when nothing is ever cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from semcache.engine.forward import Exactness, Piece
from semcache.engine.runs import Run, total
from semcache.engine.vocabulary import Vocabulary

ANY_CUT = Exactness()
VOCABULARY = 48
END = VOCABULARY - 1
POISON = 46
"""A token whose values are not finite; like the next one it is never said."""
GUILTY = 45
"""A token that tests let a pass fail for."""

_ODD = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_EMPTY, _NAN = 0, 1  # what a slot may hold beside values


def _mix(*numbers: int) -> int:
    state = 0x243F6A8885A308D3
    for number in numbers:
        state = ((state ^ number) * _ODD) & _MASK
        state ^= state >> 29
    return state | 2  # never one of the two marks


def _best(logits: Tensor) -> int:
    return int(logits.argmax())


class FakeNetwork:
    """`before` runs ahead of each pass and may raise; `passes` keeps the pieces of all passes."""

    def __init__(self, slots: int = 256, exactness: Exactness = ANY_CUT, end_every: int = 17) -> None:
        self.exactness = exactness
        self.slots = slots
        self.bytes_per_slot = 8
        self.before: Callable[[Sequence[Piece]], None] = lambda _: None
        self.passes: list[tuple[Piece, ...]] = []
        self.cleared = 0
        self._values = np.zeros(slots, dtype=np.uint64)
        self._end_every = end_every

    @property
    def computed(self) -> int:
        """Tokens that went through, over all passes."""
        return sum(len(piece.tokens) for pieces in self.passes for piece in pieces)

    def forward(self, pieces: Sequence[Piece]) -> list[Tensor]:
        self._check(pieces)
        self.passes.append(tuple(pieces))
        try:
            self.before(pieces)
        except MemoryError:
            for piece in pieces:  # anything may stand there now
                self._values[_slots(piece.runs)[piece.position :]] = _NAN
            raise
        return [self._run(piece) for piece in pieces]

    def clear(self, runs: Sequence[Run]) -> None:
        self.cleared += total(list(runs))
        self._values[_slots(tuple(runs))] = _EMPTY

    def read(self, run: Run) -> Tensor:
        values = self._values[run.start : run.end].view(np.int64).copy()
        return torch.from_numpy(values).reshape(1, 1, 1, run.length, 1).repeat(2, 1, 1, 1, 1)

    def write(self, run: Run, values: Tensor) -> None:
        self._values[run.start : run.end] = values[0].reshape(-1).numpy().view(np.uint64)

    def left_dirty(self) -> int:
        """Slots that hold what is not finite."""
        return int((self._values == _NAN).sum())

    def truth(self, prompt: Sequence[int], most: int, pick: Callable[[Tensor], int] = _best) -> list[int]:
        """The answer without any cache, end token included."""
        grid = self.exactness.grid
        values: list[int] = []
        for start in range(0, len(prompt), grid if grid > 1 else len(prompt)):
            end = min(start + grid, len(prompt)) if grid > 1 else len(prompt)
            self._extend(values, prompt[start:end])
        said: list[int] = []
        while len(said) < most:
            said.append(pick(self._logits(_sum(values))))
            if said[-1] == END:
                break
            self._extend(values, said[-1:])
        return said

    def _check(self, pieces: Sequence[Piece]) -> None:
        assert pieces
        written: list[int] = []
        read: list[int] = []
        grid = self.exactness.grid
        for piece in pieces:
            slots = _slots(piece.runs).tolist()
            assert len(slots) == piece.position + len(piece.tokens)
            assert len(set(slots)) == len(slots), "a slot twice in one sequence"
            assert all(0 <= slot < self.slots for slot in slots)
            assert 0 <= piece.logits <= len(piece.tokens)
            written += slots[piece.position :]
            read += slots[: piece.position]
            if grid > 1 and len(piece.tokens) > 1:
                assert len(pieces) == 1
                assert piece.position % grid == 0
                assert len(piece.tokens) <= grid
        assert len(set(written)) == len(written), "two sequences write one slot"
        assert not set(written) & set(read), "a slot is read while it is written"

    def _run(self, piece: Piece) -> Tensor:
        slots = _slots(piece.runs)
        values: list[int] = self._values[slots[: piece.position]].tolist()
        assert _EMPTY not in values, "a slot is read that was never written"
        rows = self._extend(values, piece.tokens)
        self._values[slots[piece.position :]] = np.array(values[piece.position :], dtype=np.uint64)
        wanted = rows[len(rows) - piece.logits :]
        return torch.stack([self._logits(row) for row in wanted]) if wanted else torch.zeros(0, VOCABULARY)

    def _extend(self, values: list[int], tokens: Sequence[int]) -> list[int]:
        """Append the values of tokens; give what the logits of each are made of."""
        cut = (len(values), len(values) + len(tokens)) if self.exactness.grid > 1 else (0, 0)
        state = _sum(values)
        rows = []
        for token in tokens:
            is_lost = token == POISON or state == _NAN
            place = len(values)
            values.append(_NAN if is_lost else _mix(token, place, state, *cut))
            state = _NAN if is_lost else _add(state, values[-1], place)
            rows.append(state)
        return rows

    def _logits(self, state: int) -> Tensor:
        if state == _NAN:
            return torch.full((VOCABULARY,), float("nan"))
        generator = np.random.default_rng(state)
        row = torch.from_numpy(generator.normal(size=VOCABULARY).astype(np.float32))
        row[POISON] = row[GUILTY] = -1e9
        row[END] = 1e9 if state // 4 % self._end_every == 0 else -1e9
        return row


def _add(state: int, value: int, place: int) -> int:
    return (state + value * (2 * place + 3)) & _MASK | 2


def _sum(values: list[int]) -> int:
    state = 0
    for place, value in enumerate(values):
        if value == _NAN:
            return _NAN
        state = _add(state, value, place)
    return state


def _slots(runs: Sequence[Run]) -> np.ndarray:
    return np.concatenate([np.arange(run.start, run.end) for run in runs] or [np.zeros(0, dtype=int)])


class FakeModel:
    """A loaded model around a fake network: token n is the byte n + 48."""

    def __init__(self, network: FakeNetwork, context: int = 200) -> None:
        self.network = network
        self.vocabulary = Vocabulary(
            tuple(bytes((48 + token,)) for token in range(VOCABULARY)), frozenset({END})
        )
        self.ends = frozenset({END})
        self.context = context
        self.vocabulary_size = VOCABULARY
        self.fingerprint = "fp_fake"
