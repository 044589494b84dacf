"""What is drawn: hits and wrong hits against queries; good pairs served against traps served. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semcache.evaluate.domains import Variation
from semcache.evaluate.pairs import Seen
from semcache.evaluate.plot import Line, Panel
from semcache.evaluate.streams import Course
from semcache.evaluate.tally import OURS

OUR_THRESHOLDS = (0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
OUR_SCORES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
VARIATIONS = (
    *(Variation(threshold=at) for at in OUR_THRESHOLDS),
    *(Variation(min_score=at) for at in OUR_SCORES),
)
"""Under which our own decision is asked for a plot; each costs one more decision a pair."""
_STATIC = tuple(i / 200 for i in range(100, 200))


def stream_panel(file: str, courses: Sequence[Course], peers: Sequence[str]) -> Panel:
    """Draw through hits, and dashed wrong hits, of every judge."""
    lines: list[Line] = []
    for name, course in zip((OURS, *peers), courses, strict=True):
        queries = [n for n, _, _ in course.curve]
        lines.append(Line(f"{name}, hits", queries, [hits for _, hits, _ in course.curve]))
        wrong = [wrong for _, _, wrong in course.curve]
        lines.append(Line(f"{name}, wrong", queries, wrong, dashed=True))
    return Panel(file, "queries", "hits; dashed: wrong hits", lines)


def pair_panel(file: str, seen: Sequence[Seen], peers: Sequence[str]) -> Panel:
    """Sweep our threshold, our least score, and a bare threshold; what policy and baselines really do as points."""
    swept = [_point(seen, _by_variation(number)) for number in range(len(VARIATIONS))]
    static = [_point(seen, _from(threshold)) for threshold in _STATIC]
    lines = [_line(f"{OURS}, threshold{_span(OUR_THRESHOLDS)}", swept[: len(OUR_THRESHOLDS)])]
    if any(one.score is not None for one in seen):
        lines.append(_line(f"{OURS}, least score{_span(OUR_SCORES)}", swept[len(OUR_THRESHOLDS) :]))
    lines.append(_line(f"threshold alone{_span(_STATIC)}", static))
    lines.append(
        _line(f"{OURS}, as the policy says", [_point(seen, lambda one: one.kind.is_served)], mark=True)
    )
    for number, name in enumerate(peers):
        lines.append(_line(name, [_point(seen, _by_peer(number))], mark=True))
    return Panel(file, "traps served, %", "good pairs served, %", lines)


def _span(values: Sequence[float]) -> str:
    return f" {values[0]:g} to {values[-1]:g}"


def _by_variation(number: int) -> Callable[[Seen], bool]:
    return lambda one: one.swept[number]


def _from(threshold: float) -> Callable[[Seen], bool]:
    return lambda one: one.similarity is not None and one.similarity >= threshold


def _by_peer(number: int) -> Callable[[Seen], bool]:
    return lambda one: one.peers[number]


def _point(seen: Sequence[Seen], served: Callable[[Seen], bool]) -> tuple[float, float]:
    """Give percent of traps and percent of good pairs served."""
    traps = [served(one) for one in seen if not one.pair.same]
    good = [served(one) for one in seen if one.pair.same]
    return _percent(traps), _percent(good)


def _percent(values: Sequence[bool]) -> float:
    return 100 * sum(values) / len(values) if values else 0.0


def _line(label: str, points: Sequence[tuple[float, float]], *, mark: bool = False) -> Line:
    return Line(label, [x for x, _ in points], [y for _, y in points], mark=mark)
