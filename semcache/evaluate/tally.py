"""What was seen, counted: one record a file and category, with intervals. Pure.

The records are what `--json` prints; docs/evaluation.md explains every key, and they do not change.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from semcache.evaluate.pairs import Kind, Seen
from semcache.evaluate.streams import Course
from semcache.evaluate.sweeps import bare, by_score, by_threshold, has_scores

Record = dict[str, Any]
OURS = "semcache"
_WORD = re.compile(r"[\w-]+")
_Z95 = 1.959963984540054


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Give the 95 % interval of a share (Wilson 1927), to six digits."""
    if total == 0:
        return 0.0, 1.0
    share, z2 = hits / total, _Z95 * _Z95
    centre = share + z2 / (2 * total)
    half = _Z95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    low, high = (centre - half) / (1 + z2 / total), (centre + half) / (1 + z2 / total)
    return round(max(0.0, low), 6), round(min(1.0, high), 6)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Give a quantile (nearest rank); None of nothing."""
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def pair_records(file: str, seen: Sequence[Seen], peers: Sequence[str]) -> list[Record]:
    """Count pairs: for us, then for each baseline, all of the file ("") and then each category."""
    groups = {"": list(seen)}
    for one in seen:
        if one.pair.category:
            groups.setdefault(one.pair.category, []).append(one)
    ordered = sorted(groups.items())
    records = [_ours(file, category, group) for category, group in ordered]
    for number, name in enumerate(peers):
        records += [_peer(name, number, file, category, group) for category, group in ordered]
    return records


def stream_records(file: str, seed: int, courses: Sequence[Course], peers: Sequence[str]) -> list[Record]:
    """Put courses into records: ours, then each baseline's."""
    return [
        {
            "judge": name,
            "file": file,
            "n": course.n,
            "hits": course.hits,
            "wrong": course.wrong,
            "seed": seed,
            "exact": course.exact,
            "drafts": course.drafts,
            "hit_rate_interval": wilson(course.hits, course.n),
            "wrong_per_hit": course.wrong / course.hits if course.hits else None,
            "wrong_per_hit_interval": wilson(course.wrong, course.hits),
            "wrong_per_request": course.wrong / course.n if course.n else None,
            "decision_ms": _latency(course.seconds, course.cpu),
            "curve": course.curve,
        }
        for name, course in zip((OURS, *peers), courses, strict=True)
    ]


def _ours(file: str, category: str, group: Sequence[Seen]) -> Record:
    drafts = _by_side(group, lambda one: one.kind is Kind.DRAFT)
    exact = _by_side(group, lambda one: one.kind is Kind.EXACT)
    sides = {name: [one for one in group if one.pair.same is same] for name, same in _SIDES}
    return {
        **_counts(OURS, file, category, group, lambda one: one.kind.is_served),
        **{f"draft_{name}": drafts[name] for name, _ in _SIDES},
        **{f"exact_{name}": exact[name] for name, _ in _SIDES},
        **{f"reasons_{name}": _count(one.reason for one in sides[name] if one.reason) for name, _ in _SIDES},
        **{
            f"vetoes_{name}": _count(w for one in sides[name] for w in words(one.vetoes))
            for name, _ in _SIDES
        },
        "decision_ms": _latency([one.seconds for one in group], [one.cpu for one in group]),
        **({"sweep": _sweep(group)} if any(one.swept for one in group) else {}),
    }


def _sweep(group: Sequence[Seen]) -> Record:
    return {
        "threshold": by_threshold(group),
        "min_score": by_score(group) if has_scores(group) else [],
        "bare": bare(group),
    }


def _peer(name: str, number: int, file: str, category: str, group: Sequence[Seen]) -> Record:
    return {
        **_counts(name, file, category, group, lambda one: one.peers[number]),
        "draft_same": 0,
        "draft_trap": 0,
    }


_SIDES = (("same", True), ("trap", False))


def _counts(
    judge: str, file: str, category: str, group: Sequence[Seen], served: Callable[[Seen], bool]
) -> Record:
    hits = _by_side(group, served)
    totals = _by_side(group, lambda _: True)
    return {
        "judge": judge,
        "file": file,
        "category": category,
        **{f"n_{name}": totals[name] for name, _ in _SIDES},
        **{f"served_{name}": hits[name] for name, _ in _SIDES},
        **{f"served_{name}_interval": wilson(hits[name], totals[name]) for name, _ in _SIDES},
    }


def _by_side(group: Iterable[Seen], holds: Callable[[Seen], bool]) -> Mapping[str, int]:
    found = Counter(one.pair.same for one in group if holds(one))
    return {name: found[same] for name, same in _SIDES}


def words(vetoes: Iterable[str]) -> list[str]:
    """Give the rules' names from a decision's vetoes, each once, without what a rule may say beside its name."""
    found = [match[0] if (match := _WORD.match(veto)) else veto for veto in vetoes]
    return list(dict.fromkeys(found))


def _count(items: Iterable[str]) -> dict[str, int]:
    return dict(Counter(items).most_common())


def _latency(seconds: Sequence[float], cpu: Sequence[float]) -> Record:
    def milli(values: Sequence[float], share: float) -> float | None:
        value = quantile(values, share)
        return None if value is None else round(1000 * value, 4)

    return {
        "p50": milli(seconds, 0.5),
        "p99": milli(seconds, 0.99),
        "cpu_p50": milli(cpu, 0.5),
        "cpu_p99": milli(cpu, 0.99),
    }
