"""What came of one client in one scenario, state by state; and where clients cannot do what others can."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STATES = ("miss", "exact", "semantic", "draft")
"""What the cache makes of a request."""


@dataclass
class Sheet:
    """The cells of one lane in one scenario."""

    lane: str
    backend: str
    scenario: str
    faults: dict[str, str]
    """Known ones: by state, why."""
    report: Path | None
    right: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def cell(self, state: str) -> Iterator[None]:
        """Try one state; what fails there is written down, and the next state is tried all the same."""
        assert state in STATES
        try:
            yield
        except Exception as error:  # noqa: BLE001 - an SDK may raise anything; close() tells
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = str(error).strip() or type(error).__name__
            self.wrong[state] = (
                f"{said[:1500]} [{place.filename.rpartition('/')[2]}:{place.lineno} {place.line}]"
            )
        else:
            self.right.append(state)

    def close(self) -> None:
        """Write the cells down and say what is wrong without anybody having known; or right, with a fault on record."""
        if self.report is not None:
            row = {
                "lane": self.lane,
                "backend": self.backend,
                "scenario": self.scenario,
                "right": self.right,
                "wrong": sorted(self.wrong),
            }
            with self.report.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        surprises = {state: said for state, said in self.wrong.items() if state not in self.faults}
        mended = [state for state in self.right if state in self.faults]
        told = "".join(f"\n{state}: {said}" for state, said in surprises.items())
        assert not surprises, f"{self.lane} at {self.backend}, {self.scenario}:{told}"
        assert not mended, f"{self.lane}, {self.scenario}: mended, take it from the known faults: {mended}"
