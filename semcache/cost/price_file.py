"""An operator's own prices: a YAML file, read strictly. Knows neither the table nor who is asked.

A mistake is an error that names the file, the line and the setting.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from semcache.cost.price_table import long_write
from semcache.cost.tariff import Rate, Tariff, rate_of
from semcache.errors import PolicyError

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6, allow_inf_nan=False)]
"""USD for a million tokens."""
_LARGEST = 1 << 20


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_truth(cls, value: Any, info: Any) -> Any:
        """YAML reads `yes` as True, which counts as 1 where a number stands."""
        if isinstance(value, bool) and info.field_name != "local":
            raise ValueError("must be a number of USD for a million tokens")
        return value


class _Prices(_Strict):
    """Prices of one pattern of models. See docs/prices.md for what stands where one is left out."""

    input: Dollars
    output: Dollars | None = None
    cached: Dollars | None = None
    written: Dollars | None = None
    written_long: Dollars | None = None
    local: bool = False


class _PriceFile(_Strict):
    models: dict[Annotated[str, Field(min_length=1, max_length=200)], _Prices] = {}
    embedding: Dollars | None = None


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the file says. `embedding` is micro-USD for a million tokens, `digest` names the file's content."""

    digest: str
    entries: tuple[tuple[str, bool, Tariff], ...]
    embedding: int | None

    def tariff(self, model: str, *, is_local: bool) -> Tariff | None:
        """Give the tariff of the first pattern that covers a model, letters' case aside; None: there is none."""
        low = model.lower()
        for pattern, local, tariff in self.entries:
            if local == is_local and _covers(pattern, low):
                return tariff
        return None


NOTHING = Overrides("", (), None)


def read_prices(path: Path) -> Overrides:
    """Read a price file.

    Raises:
        PolicyError: unreadable, not YAML, an unknown name, or a number that is no price; with file and line.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"cannot be read: {error}", str(path)) from None
    if len(raw) > _LARGEST:
        raise PolicyError("is larger than 1 MiB", str(path))
    node, loaded = _parsed(text, path)
    try:
        read = _PriceFile.model_validate({} if loaded is None else loaded)
    except ValidationError as error:
        first = error.errors()[0]
        raise PolicyError(_told(first), f"{path}:{_line(node, first['loc'])}") from None
    entries = tuple(
        (pattern.lower(), one.local, _tariff(pattern, one)) for pattern, one in read.models.items()
    )
    embedding = None if read.embedding is None else rate_of(read.embedding)
    return Overrides(hashlib.sha256(raw).hexdigest()[:12], entries, embedding)


def _covers(pattern: str, model: str) -> bool:
    return model.startswith(pattern[:-1]) if pattern.endswith("*") else model == pattern


def _tariff(pattern: str, one: _Prices) -> Tariff:
    paid = Rate(rate_of(one.input))
    free = Rate(0) if one.local else paid
    written = paid if one.written is None else Rate(rate_of(one.written))
    return Tariff(
        input=paid,
        cached=free if one.cached is None else Rate(rate_of(one.cached)),
        written=written,
        written_long=long_write(pattern, paid, written)
        if one.written_long is None
        else Rate(rate_of(one.written_long)),
        output=None if one.output is None else Rate(rate_of(one.output)),
    )


def _parsed(text: str, path: Path) -> tuple[yaml.Node | None, Any]:
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        _refuse_doubles(node, path)
        return node, yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise PolicyError(f"is not valid YAML: {getattr(error, 'problem', error)}", where) from None
    except RecursionError:
        raise PolicyError("is nested too deeply", str(path)) from None


def _refuse_doubles(node: yaml.Node | None, path: Path) -> None:
    """A name that stands twice would silently win over the first."""
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if str(key.value) in seen:
            raise PolicyError(f"{key.value}: stands there twice", f"{path}:{key.start_mark.line + 1}")
        seen.add(str(key.value))
        _refuse_doubles(value, path)


def _line(node: yaml.Node | None, place: tuple[int | str, ...]) -> int:
    """Give the line of a setting, or of what it would stand in."""
    line = 1
    for name in place:
        if not isinstance(node, yaml.MappingNode):
            break
        pair = next(((key, value) for key, value in node.value if key.value == str(name)), None)
        if pair is None:
            break
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line


def _told(error: Any) -> str:
    name = ".".join(map(str, error["loc"])) or "the file"
    if error["type"] == "extra_forbidden":
        return f"{name}: there is no such setting"
    if not error["loc"]:
        return f"{name}: should hold settings, such as models:"
    return f"{name}: {error['msg'].removeprefix('Value error, ')}"
