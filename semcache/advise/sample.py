"""Which rows of a long log are replayed, so that repeats and neighbours stay together.

Never single rows by chance: that would tear repeats apart. Three ways, the first that fits:

- `all` of it, where the time is enough;
- `places`: all requests of places drawn by chance (a place is where questions can meet at all: owner, model, system prompt,
  parameters), where no place is too large for that;
- `windows`: stretches of the log, each with a beginning as long as an answer's life that only fills the cache; where the log is
  too short for that, its `beginning`, cold, which serves less than a cache that runs on.

Knows no pipeline.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from semcache.advise.findings import Interval
from semcache.advise.telling import share as percent

_PLACES = 200_000
"""Places remembered; of more, a part drawn by their numbers."""
_TEXTS = 400_000
"""Different questions remembered, to know how many must be embedded."""
_NUMBERS = 1 << 60
_WINDOWS = 4
_BLOCKS = 24
_T95 = (
    12.71,
    4.30,
    3.18,
    2.78,
    2.57,
    2.45,
    2.36,
    2.31,
    2.26,
    2.23,
    2.20,
    2.18,
    2.16,
    2.14,
    2.13,
    2.12,
    2.11,
    2.10,
)


class Part(Enum):
    """What is done with a row."""

    SKIP = 0
    WARM = 1
    """Asked, but not counted: it fills the cache."""
    COUNT = 2


@dataclass(slots=True)
class _Place:
    rows: int = 0
    text: int = 0
    is_lonely: bool = True


class Survey:
    """Looks at all rows once: how many there are where, and how many different questions.

    Args:
        seed: of what is left to chance.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rows = 0
        self._looked = 0
        self._placed = 0
        self.texts: list[str] = []
        self._turn = random.Random(seed).randrange(_NUMBERS)  # noqa: S311 - an experiment, repeatable by its seed
        self._coin = random.Random(seed)  # noqa: S311 - as above
        self._places: dict[int, _Place] = {}
        self._below = _NUMBERS
        self._seen: set[int] = set()
        self._told = 0
        self._new = 0

    def see(self, place: int | None, text: int, prompt: str | None) -> None:
        """Take note of a row: where it stands, a number for its question, and the question."""
        self.rows += 1
        self._looked += 1
        if place is None:
            return
        self._placed += 1
        self._distinct(place, text)
        self._remember(prompt)
        if self.lot(place) >= self._below:
            return
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = _Place(text=text)
        known.rows += 1
        known.is_lonely = known.is_lonely and known.text == text
        if len(self._places) > _PLACES:
            self._below //= 2
            self._places = {each: kept for each, kept in self._places.items() if self.lot(each) < self._below}

    def count(self) -> None:
        """Count a row that there is no time to look at: then nothing is known of places."""
        self.rows += 1

    @property
    def is_partial(self) -> bool:
        """True where some rows were only counted."""
        return self._looked < self.rows

    def lot(self, place: int) -> int:
        """Give a place's lot, in [0, 2^60): the same in every run of this seed."""
        return (place ^ self._turn) * 0x9E3779B97F4A7C15 % _NUMBERS

    @property
    def distinct(self) -> float:
        """About how many questions must be embedded: different ones, each in its place."""
        if not self._told:
            return 0.0
        return self._new / self._told * self._placed / self._looked * self.rows

    def lonely(self) -> frozenset[int]:
        """Give the places that only ever see one question: nothing can be found there by meaning."""
        if self.is_partial:
            return frozenset()
        return frozenset(place for place, known in self._places.items() if known.is_lonely)

    def places(self) -> list[tuple[int, int]]:
        """Give (place, rows) by lot."""
        return sorted(
            ((place, known.rows) for place, known in self._places.items()), key=lambda one: self.lot(one[0])
        )

    def _distinct(self, place: int, text: int) -> None:
        if len(self._seen) >= _TEXTS:
            return
        self._told += 1
        key = (place * 31 + text) % _NUMBERS
        if key not in self._seen:
            self._seen.add(key)
            self._new += 1

    def _remember(self, prompt: str | None) -> None:
        """Keep some questions, to see how long embedding takes."""
        if not prompt:
            return
        if len(self.texts) < 64:
            self.texts.append(prompt)
        elif self._coin.randrange(self.rows) < 64:
            self.texts[self._coin.randrange(64)] = prompt


@dataclass(frozen=True, slots=True)
class Sample:
    """Which rows are asked: `kind` as the module says, `places` or `windows` (begin, first counted, end).

    `share` of the rows is counted, about. `lonely` places need no vectors.
    """

    kind: str
    share: float
    places: frozenset[int] = frozenset()
    windows: tuple[tuple[int, int, int], ...] = ()
    lonely: frozenset[int] = frozenset()

    def may_count(self, number: int) -> bool:
        """Tell whether the row of this number is worth reading: where places decide, each is."""
        return self.kind in ("all", "places") or self.part(number, None) is not Part.SKIP

    def part(self, number: int, place: int | None) -> Part:
        """Say what is done with the row of this number (from 0) and place."""
        match self.kind:
            case "all":
                return Part.COUNT
            case "places":
                # What has no place costs nothing and meets nobody.
                return Part.COUNT if place is None or place in self.places else Part.SKIP
            case _:
                for begin, counted, end in self.windows:
                    if begin <= number < end:
                        return Part.WARM if number < counted else Part.COUNT
                return Part.SKIP

    def told(self, counted: float, *, is_cut: bool = False) -> str:
        """Say which rows were asked.

        Args:
            counted: the share of all rows that was counted in the end.
            is_cut: the time was up before the sample was through.
        """
        share = percent(counted)
        match self.kind:
            case "all" if not is_cut:
                return "all requests"
            case "places":
                places = f"{share} of the requests, all from {len(self.places):,} places drawn by chance (a place is where questions can meet)"
                return f"{places}, up to a point in time" if is_cut else places
            case "windows":
                return f"{share} of the requests: {len(self.windows)} stretches of time at most, each after a warm-up as long as an answer lives"
            case _:
                return f"the first {share} of the requests, from an empty cache: one that runs on serves more"


def choose(survey: Survey, allowed: int, life: float | None, span: float | None) -> Sample:
    """Choose the rows to ask.

    Args:
        survey: what was seen.
        allowed: rows that the time is enough for.
        life: seconds that an answer lives.
        span: seconds from the first row to the last; None: no times.
    """
    lonely = survey.lonely()
    if allowed >= survey.rows:
        return Sample("all", 1.0, lonely=lonely)
    allowed = max(1, allowed)
    places = [] if survey.is_partial else survey.places()
    held = sum(rows for _, rows in places)
    # One that holds more than a quarter of what may be asked would decide everything by its lot alone.
    if places and max(rows for _, rows in places) * 4 <= allowed and len(places) >= 30:
        return _by_place(survey, places, held, allowed, lonely)
    return _by_time(survey.rows, allowed, life, span, lonely)


def _by_place(
    survey: Survey, places: Sequence[tuple[int, int]], held: int, allowed: int, lonely: frozenset[int]
) -> Sample:
    chosen: set[int] = set()
    taken = 0
    for place, rows in places:
        if taken + rows > allowed:
            break
        chosen.add(place)
        taken += rows
    # Places may themselves be a part, drawn by the same lots.
    return Sample("places", taken / max(1, survey.rows, held), frozenset(chosen), lonely=lonely & chosen)


def _by_time(
    rows: int, allowed: int, life: float | None, span: float | None, lonely: frozenset[int]
) -> Sample:
    warm = rows if not span or life is None else math.ceil(rows * min(1.0, life / span))
    count = min(_WINDOWS, allowed // (3 * warm)) if warm else _WINDOWS
    if count < 1:
        return Sample("beginning", allowed / rows, windows=((0, 0, allowed),), lonely=lonely)
    length, gap = allowed // count, rows // count
    windows = tuple(
        (begin, begin + warm, begin + length)
        for begin in (number * gap + (gap - length) // 2 for number in range(count))
    )
    return Sample("windows", count * (length - warm) / rows, windows=windows, lonely=lonely)


@dataclass(slots=True)
class Units:
    """Requests and hits by the units that a sample was drawn in: places, or blocks of time.

    Args:
        block: rows of a block, where the sample is stretches of time; 0: units are places.
    """

    block: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)

    def add(self, number: int, place: int | None, *, hit: bool) -> None:
        """Count a request."""
        unit = number // self.block if self.block else (place if place is not None else -1)
        both = self.counts.setdefault(unit, [0, 0])
        both[0] += 1
        both[1] += hit

    def interval(self, share: float) -> Interval:
        """Give the 95 % interval of the share of hits in the whole log, when `share` of it was drawn.

        A ratio estimate over units (Cochran 1977, 6.3): requests of a unit belong together, so that units are what is
        counted. (0, 1) where there are fewer than two.
        """
        units = list(self.counts.values())
        total, hits = sum(n for n, _ in units), sum(hit for _, hit in units)
        if len(units) < 2 or not total:
            return 0.0, 1.0
        rate = hits / total
        k = len(units)
        spread = sum((hit - rate * n) ** 2 for n, hit in units) * k / (k - 1) / total**2
        # No unit differing says little where there are few: as if one request of each were unsure.
        spread = max(spread, rate * (1 - rate) / total, 1.0 / (4 * total**2)) * max(0.0, 1.0 - share)
        half = (_T95[k - 2] if k - 2 < len(_T95) else 1.96) * math.sqrt(spread)
        return max(0.0, rate - half), min(1.0, rate + half)


def units_for(sample: Sample, rows: int) -> Units:
    """Give what counts by the units of this sample."""
    if sample.kind == "places":
        return Units()
    counted = sum(end - first for _, first, end in sample.windows) or rows
    return Units(block=max(1, counted // _BLOCKS))
