"""What is drawn: hits and wrong hits against queries; good pairs served against traps served. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semcache.evaluate.pairs import Seen
from semcache.evaluate.plot import Line, Panel
from semcache.evaluate.streams import Course
from semcache.evaluate.sweeps import Place, bare, by_score, by_threshold, has_scores, served
from semcache.evaluate.tally import OURS


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
    whole = served(seen, lambda _: True)
    lines = [_curve(f"{OURS}, threshold", by_threshold(seen), whole)]
    if has_scores(seen):
        lines.append(_curve(f"{OURS}, least score", by_score(seen), whole))
    lines.append(_curve("threshold alone", bare(seen), whole))
    lines.append(_point(f"{OURS}, as the policy says", served(seen, lambda one: one.kind.is_served), whole))
    for number, name in enumerate(peers):
        lines.append(_point(name, served(seen, _by_peer(number)), whole))
    return Panel(file, "traps served, %", "good pairs served, %", lines)


def _by_peer(number: int) -> Callable[[Seen], bool]:
    return lambda one: one.peers[number]


def _curve(label: str, places: Sequence[Place], whole: tuple[int, int]) -> Line:
    points = [_percent((good, traps), whole) for _, good, traps in places]
    span = f" {places[0][0]:g} to {places[-1][0]:g}"
    return Line(label + span, [x for x, _ in points], [y for _, y in points])


def _point(label: str, counts: tuple[int, int], whole: tuple[int, int]) -> Line:
    x, y = _percent(counts, whole)
    return Line(label, [x], [y], mark=True)


def _percent(counts: tuple[int, int], whole: tuple[int, int]) -> tuple[float, float]:
    """Give percent of traps (x) and of good pairs (y)."""
    (good, traps), (all_good, all_traps) = counts, whole
    return 100 * traps / max(1, all_traps), 100 * good / max(1, all_good)
