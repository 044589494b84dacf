"""Curves and bars as PNG or SVG. The only door to matplotlib, which is imported when a plot is drawn.

No window and no global state: figures are drawn straight into files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semcache.errors import SemcacheError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_WIDTH, _HEIGHT = 7.0, 4.8
_COLUMNS = 2
_LONGEST_NAME = 28
DARK, BLUE, ORANGE, GREEN, PINK, SKY = "#3c4650", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#8ccbf0"
"""Colours that people who see few of them can tell apart, by their lightness too (after Okabe and Ito)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, or (`mark`) single points; `dashed` belongs to the drawn-through one before it, in its colour."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    mark: bool = False
    dashed: bool = False
    colour: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram of lines.

    `ticks` are places and names for the x axis, () for numbers; a `share` runs from 0 to 1 and is written in per cent.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    ticks: Sequence[tuple[float, str]] = ()
    share: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of each bar, in one colour; negative parts hang below zero."""

    label: str
    values: Sequence[float]
    colour: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One diagram of bars: at each place the layers upon each other.

    `ticks` are places (from 0) and their names, as many as there is room for. `lying`: bars lie, and the first is on top.
    `unit` stands before the numbers (`$`).
    """

    title: str
    label: str
    layers: Sequence[Layer]
    ticks: Sequence[tuple[float, str]]
    lying: bool = False
    unit: str = ""


def check_target(path: Path) -> None:
    """Refuse a file that cannot be drawn into, before anything is measured.

    Raises:
        SemcacheError: another ending than .png or .svg, or no such directory.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise SemcacheError(f"{path}: a plot ends in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise SemcacheError(f"{path}: there is no directory {path.parent}")


def draw(path: Path, panels: Sequence[Panel | Bars]) -> None:
    """Draw the panels into one file.

    Raises:
        SemcacheError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - half a second, plots only
        from matplotlib.figure import Figure  # noqa: PLC0415 - as above
        from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415 - as above
    except ImportError:
        raise SemcacheError("plots need matplotlib: pip install matplotlib") from None
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    layout = ConstrainedLayoutEngine(h_pad=0.15, w_pad=0.15)
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout=layout)
    FigureCanvasAgg(figure)
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, number)
        match panel:
            case Panel():
                _panel(axes, panel)
            case Bars():
                _bars(axes, panel)
    with warnings.catch_warnings():
        # A file's name may hold letters that the font lacks; they are shown as boxes.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        _written(path, lambda: figure.savefig(path, format=path.suffix[1:].lower(), dpi=144))


def _written(path: Path, save: Callable[[], Any]) -> None:
    try:
        save()
    except OSError as error:
        raise SemcacheError(f"{path}: cannot be written: {error.strerror or error}") from None


def _panel(axes: Axes, panel: Panel) -> None:
    colour: Any = None
    for line in panel.lines:
        if line.mark:
            axes.plot(line.x, line.y, linestyle="none", marker="o", label=line.label, color=line.colour)
        elif line.dashed:
            axes.plot(line.x, line.y, linestyle="--", color=line.colour or colour, label=line.label)
        else:
            colour = axes.plot(line.x, line.y, label=line.label, color=line.colour)[0].get_color()
    axes.set_title(panel.title, parse_math=False)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_ylim(bottom=0, top=1 if panel.share else None)
    axes.set_xlim(left=0)
    if panel.share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    if panel.ticks:
        axes.set_xticks([at for at, _ in panel.ticks], [name for _, name in panel.ticks], parse_math=False)
        axes.set_xlim(*_room(max((len(line.x) for line in panel.lines), default=0)))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


def _bars(axes: Axes, panel: Bars) -> None:
    places = range(max((len(layer.values) for layer in panel.layers), default=0))
    up, down = [0.0] * len(places), [0.0] * len(places)
    for layer in panel.layers:
        starts = [up[at] if value >= 0 else down[at] for at, value in enumerate(layer.values)]
        if panel.lying:
            axes.barh(places, layer.values, left=starts, color=layer.colour, label=layer.label)
        else:
            axes.bar(places, layer.values, bottom=starts, color=layer.colour, label=layer.label)
        for at, value in enumerate(layer.values):
            up[at] += max(value, 0.0)
            down[at] += min(value, 0.0)
    axes.set_title(panel.title, parse_math=False)
    (axes.set_ylim if panel.lying else axes.set_xlim)(*_room(len(places)))
    _named(axes, panel)
    if any(down):
        (axes.axvline if panel.lying else axes.axhline)(0, color="black", linewidth=0.8)
    axes.set_axisbelow(True)
    # Below the diagram, where it covers no bar.
    axes.legend(
        fontsize="small",
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=len(panel.layers),
        frameon=False,
    )


def _room(places: int) -> tuple[float, float]:
    """Give where an axis of places begins and ends: as if there were five at least, so that one bar is no wall."""
    middle, half = (places - 1) / 2, max(places, 5) / 2
    return middle - half - 0.1, middle + half + 0.1


def _named(axes: Axes, panel: Bars) -> None:
    at, names = [at for at, _ in panel.ticks], [_short(name) for _, name in panel.ticks]
    numbers = axes.xaxis if panel.lying else axes.yaxis
    numbers.set_major_formatter(lambda value, _: _with_unit(value, panel.unit))
    if panel.lying:
        axes.set_yticks(at, names, parse_math=False)
        axes.invert_yaxis()
        axes.set_xlabel(panel.label)
        axes.grid(visible=True, axis="x", alpha=0.3)
    else:
        axes.set_xticks(at, names, parse_math=False)
        axes.set_ylabel(panel.label)
        axes.grid(visible=True, axis="y", alpha=0.3)


def _with_unit(value: float, unit: str) -> str:
    sign = "\u2212" if value < 0 else ""
    size = abs(value)
    number = f"{size / 1e6:,.6g}M" if size >= 1e6 else f"{size:,.6g}"
    return f"{sign}{unit}{number}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}\u2026"
