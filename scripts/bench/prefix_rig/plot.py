"""Hit rate over capacity as a small SVG: one panel for each trace, written by hand."""

from __future__ import annotations

from html import escape
from math import log

COLOURS = {
    "LRU": "#b07d2b",
    "LFU": "#7a5ea8",
    "plain rule": "#9a9a9a",
    "hybrid": "#1667c4",
    "optimum": "#2f2f2f",
}
_DASHES = {"optimum": "2 3", "plain rule": "5 3"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 210, 130, 44, 62, 46
_COLUMNS = 3

Means = dict[tuple[str, str, float], float]
"""Mean hit rate (0 to 1) by trace, order and capacity (a share of the distinct tokens)."""


def draw(means: Means) -> str:
    """Give the drawing as text."""
    traces = list(dict.fromkeys(trace for trace, _, _ in means))
    rows = -(-len(traces) // _COLUMNS)
    width = _LEFT + _COLUMNS * (_WIDTH + _GAP)
    height = _TOP + rows * (_HEIGHT + _GAP + 10)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="18" font-size="13">Prompt tokens found in the prefix cache, by pool size</text>',
        *_legend(),
    ]
    for number, trace in enumerate(traces):
        left = _LEFT + number % _COLUMNS * (_WIDTH + _GAP)
        top = _TOP + number // _COLUMNS * (_HEIGHT + _GAP + 10)
        panel = {(series, share): rate for (name, series, share), rate in means.items() if name == trace}
        parts += _panel(trace, panel, left, top)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend() -> list[str]:
    parts, at = [], _LEFT
    for series in COLOURS:
        parts.append(_line([(at, 36), (at + 18, 36)], series))
        parts.append(f'<text x="{at + 23}" y="39">{escape(series)}</text>')
        at += 50 + 6 * len(series)
    return parts


def _panel(trace: str, panel: dict[tuple[str, float], float], left: float, top: float) -> list[str]:
    shares = sorted({share for _, share in panel})
    low, high = log(shares[0]), log(shares[-1])
    ceiling = min(1.0, 1.1 * max(panel.values()))

    def place(share: float, rate: float) -> tuple[float, float]:
        across = 0.5 if low == high else (log(share) - low) / (high - low)
        return left + across * _WIDTH, top + _HEIGHT * (1 - rate / ceiling)

    parts = [f'<text x="{left}" y="{top - 6}" font-weight="bold">{escape(trace)}</text>']
    for step in range(5):
        rate = ceiling * step / 4
        y = place(shares[0], rate)[1]
        parts.append(f'<line x1="{left}" x2="{left + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(
            f'<text x="{left - 5}" y="{y + 3:.1f}" text-anchor="end" fill="#666">{100 * rate:.0f} %</text>'
        )
    for share in shares:
        x = place(share, 0)[0]
        parts.append(
            f'<text x="{x:.1f}" y="{top + _HEIGHT + 13}" text-anchor="middle" fill="#666">{100 * share:g} %</text>'
        )
    for series in COLOURS:
        points = [place(share, panel[series, share]) for share in shares if (series, share) in panel]
        if points:
            parts.append(_line(points, series))
    return parts


def _line(points: list[tuple[float, float]], series: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = f' stroke-dasharray="{_DASHES[series]}"' if series in _DASHES else ""
    weight = 2.2 if series == "hybrid" else 1.4
    return f'<polyline points="{path}" fill="none" stroke="{COLOURS[series]}" stroke-width="{weight}"{dash}/>'
