"""What every benchmark says about itself: machine, versions, load, date; and its figures as a file."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.console import Console

from rig.serving import ROOT


def console() -> Console:
    """A console wide enough for the tables, also where it is no terminal."""
    return Console(width=160)


def circumstances() -> dict[str, object]:
    """Describe machine, versions and moment."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 2),
    }


def headline(facts: dict[str, object]) -> str:
    """Give the circumstances as one line."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def save(path: Path | None, figures: dict[str, object]) -> None:
    """Write the figures as JSON, if a file was named."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=1) + "\n")


def quantile(times: list[float], share: float) -> float:
    """Give a quantile (nearest rank) of times; NaN of none."""
    if not times:
        return math.nan
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle(values: list[float]) -> float:
    """Give the median of what is a number; NaN of none."""
    numbers = [value for value in values if not math.isnan(value)]
    return median(numbers) if numbers else math.nan


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Give the 95 % interval of a share (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    share = hits / total
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (centre - half) / (1 + z * z / total)), min(1.0, (centre + half) / (1 + z * z / total))


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def _commit() -> str:
    told = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"
