"""From an encoder's own cosine to the reference scale, by a table.

The reference scale is the cosine of all-MiniLM-L6-v2 in fp32 on English questions: policy
thresholds are numbers on it. A table maps a raw cosine to the reference cosine that lets the
same share of different-answer pairs through (`scripts/calibrate_encoder.py` makes it). Tables
belong to weights, so each carries anchors: sentence pairs with the raw cosines that its encoder
gave them (`acceptance` compares them with the loaded model's).
Knows nothing of loaded models, threads or routing.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from semcache.errors import EncoderError

LOCAL_FILE_NAME = "semcache-calibration.json"
"""Where a model folder may keep a table of its own."""

Cosine = Annotated[float, Field(ge=-1.0, le=1.0)]


class Anchor(BaseModel):
    """One sentence pair and the raw cosine that the table's encoder gave it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    a: str = Field(min_length=1)
    b: str = Field(min_length=1)
    cosine: Cosine


class CalibrationTable(BaseModel):
    """The file. `knots` are (raw, reference) pairs, both rising, from (-1, -1) to (1, 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1]
    encoder: str = Field(min_length=1)
    runtime: str
    weights: str = Field(pattern=r"^[0-9a-f]{64}$")
    dim: int
    prefix: str
    method: str
    knots: tuple[tuple[Cosine, Cosine], ...] = Field(min_length=2)
    anchors: tuple[Anchor, ...] = Field(min_length=10)
    unrelated: dict[str, Cosine] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _knots_rise(self) -> Self:
        if self.knots[0] != (-1.0, -1.0) or self.knots[-1] != (1.0, 1.0):
            raise ValueError("knots must run from (-1, -1) to (1, 1)")
        if any(left[0] >= right[0] or left[1] >= right[1] for left, right in pairwise(self.knots)):
            raise ValueError("knots must rise strictly on both sides")
        return self


@dataclass(frozen=True, slots=True)
class Scale:
    """A monotone, piecewise linear map between two cosine scales."""

    raw: tuple[float, ...]
    reference: tuple[float, ...]

    def to_reference(self, cosine: float) -> float:
        """Map a raw cosine; values outside [-1, 1] count as the nearest end."""
        return _interpolate(self.raw, self.reference, cosine)

    def from_reference(self, threshold: float) -> float:
        """Map a reference threshold back to the raw cosine that means it."""
        return _interpolate(self.reference, self.raw, threshold)


def scale_of(table: CalibrationTable) -> Scale:
    """Give the map of a table."""
    return Scale(tuple(raw for raw, _ in table.knots), tuple(reference for _, reference in table.knots))


def read_table(path: Path) -> CalibrationTable:
    """Read and check a table file.

    Raises:
        EncoderError: unreadable or not a valid table.
    """
    try:
        return CalibrationTable.model_validate_json(path.read_bytes())
    except OSError as error:
        raise EncoderError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise EncoderError(f"{path}: {where}: {first['msg']}") from error


def find_tables(encoder: str, folder: Path | None) -> list[CalibrationTable]:
    """Give the tables made for an encoder: the folder's own one, else all that are shipped.

    Raises:
        EncoderError: a table is there and broken.
    """
    if folder is not None and (folder / LOCAL_FILE_NAME).is_file():
        return [read_table(folder / LOCAL_FILE_NAME)]
    shipped = Path(str(files("semcache.embed"))) / "calibration"
    # Names of hub models hold slashes; those of shipped tables are plain.
    return [
        read_table(path) for path in sorted(shipped.glob("*.json")) if path.name.startswith(f"{encoder}.")
    ]


def _interpolate(xs: tuple[float, ...], ys: tuple[float, ...], x: float) -> float:
    if not x > xs[0]:  # also NaN: the lowest similarity, never a hit
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    i = bisect_right(xs, x)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])
