"""Curves as PNG or SVG. The only door to matplotlib, which is imported when a plot is drawn.

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


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, or (`mark`) single points; `dashed` belongs to the drawn-through one before it, in its colour."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    mark: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]


def check_target(path: Path) -> None:
    """Refuse a file that cannot be drawn into, before anything is measured.

    Raises:
        SemcacheError: another ending than .png or .svg, or no such directory.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise SemcacheError(f"{path}: a plot ends in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise SemcacheError(f"{path}: there is no directory {path.parent}")


def draw(path: Path, panels: Sequence[Panel]) -> None:
    """Draw the panels into one file.

    Raises:
        SemcacheError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - half a second, plots only
        from matplotlib.figure import Figure  # noqa: PLC0415 - as above
    except ImportError:
        raise SemcacheError("plots need matplotlib: pip install matplotlib") from None
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for number, panel in enumerate(panels, 1):
        _panel(figure.add_subplot(rows, columns, number), panel)
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
            axes.plot(line.x, line.y, linestyle="none", marker="o", label=line.label)
        elif line.dashed:
            axes.plot(line.x, line.y, linestyle="--", color=colour, label=line.label)
        else:
            colour = axes.plot(line.x, line.y, label=line.label)[0].get_color()
    axes.set_title(panel.title, parse_math=False)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
