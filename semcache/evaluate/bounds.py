"""What a gate in continuous integration holds an evaluation to. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from semcache.evaluate.tally import OURS, Record


@dataclass(frozen=True, slots=True)
class Bound:
    """A share that must not be passed.

    Args:
        what: the share in words.
        part, whole: keys of the counts that make it.
        limit: the share.
        most: True for at most, False for at least.
    """

    what: str
    part: str
    whole: str
    limit: float
    most: bool

    def broken_by(self, record: Record) -> str | None:
        """Say how a record breaks it, or None; where there is nothing to count, nothing is broken."""
        part, whole = record[self.part], record[self.whole]
        if not whole:
            return None
        share = part / whole
        if share <= self.limit if self.most else share >= self.limit:
            return None
        where = record["file"] + (f", category {record['category']}" if record.get("category") else "")
        sign = ">" if self.most else "<"
        return f"{where}: {self.what} {share:.2%} ({part} of {whole}) {sign} {self.limit:.2%}"


def pair_bounds(max_trap_rate: float | None, min_good_rate: float | None) -> list[Bound]:
    """Give the bounds of pairs and conversations that were asked for."""
    return _given(
        (max_trap_rate, lambda x: Bound("traps served", "served_trap", "n_trap", x, most=True)),
        (min_good_rate, lambda x: Bound("good pairs served", "served_same", "n_same", x, most=False)),
    )


def stream_bounds(max_wrong_rate: float | None, min_hit_rate: float | None) -> list[Bound]:
    """Give the bounds of streams that were asked for."""
    return _given(
        (max_wrong_rate, lambda x: Bound("wrong per hit", "wrong", "hits", x, most=True)),
        (min_hit_rate, lambda x: Bound("hits", "hits", "n", x, most=False)),
    )


def _given(*asked: tuple[float | None, Callable[[float], Bound]]) -> list[Bound]:
    return [make(limit) for limit, make in asked if limit is not None]


def broken(records: Iterable[Record], bounds: Sequence[Bound], *, by_category: bool) -> list[str]:
    """Say what our own records break: whole files, and with `by_category` each category too."""
    ours = (r for r in records if r["judge"] == OURS and (by_category or not r.get("category")))
    return [told for record in ours for bound in bounds if (told := bound.broken_by(record)) is not None]
