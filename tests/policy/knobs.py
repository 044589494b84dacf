"""Writes the tables of docs/policies.md from the schema: `python -m tests.policy.knobs` prints them."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from pydantic.fields import FieldInfo

from semcache.core import UntilProven
from semcache.cost_rules import Counts, HitCharge, OnHard, OnUnknownPrice, Trimming
from semcache.policy.parts import Knobs
from semcache.policy.schema import DomainKnobs, PolicyFile
from semcache.review_rules import DraftWay

BY_HAND = {
    "hash": "`sha256:` and 64 hex digits",
    "tenant": "`a-z`, `0-9`, `.`, `_`, `-`; up to 64",
    "routes": "paths, or one",
    "models": "names, or one",
    "contains": "texts, or one",
    "regex": "a pattern",
    "exemplars": "texts by class",
    "encoder_thresholds": "by encoder name",
    "domains": "by domain name",
    "keys": "a list",
    "rules": "a list",
    "tests": "a list",
    "public": "a list",
    "sha256": "`sha256:` and 64 hex digits",
    "scope": "`user`, `tenant`",
    "schema_version": "`1`",
    "mode": "`off`, `shadow`, `exact`, `semantic`",
    "budgets": "a list",
    "soft_usd": "US dollars, or null",
    "hard_usd": "US dollars, or null",
    "hit_usd": "US dollars",
    "project": "text up to 64",
    "environment": "text up to 64",
    "business_line": "text up to 64",
    "task": "text up to 64",
}


@dataclass(frozen=True, slots=True)
class Row:
    path: str
    allowed: str
    default: str
    meaning: str

    def __str__(self) -> str:
        return f"| `{self.path}` | {self.allowed} | {self.default} | {self.meaning} |"


def part_of(annotation: object) -> type[Knobs] | None:
    """Find the part (a model of its own) that a field holds, alone, in a list or by name."""
    if isinstance(annotation, type) and issubclass(annotation, Knobs):
        return annotation
    return next((found for arg in typing.get_args(annotation) if (found := part_of(arg))), None)


def rows(model: type[Knobs], prefix: str = "") -> Iterator[Row]:
    for name, field in model.model_fields.items():
        part = part_of(field.annotation)
        yield Row(prefix + name, allowed(name, field, part), default(field, part), str(field.description))
        if part is None or part is DomainKnobs:
            continue
        kind = str(field.annotation)
        between = ".NAME." if "Mapping" in kind else "[]." if "tuple" in kind else "."
        yield from rows(part, prefix + name + between)


def allowed(name: str, field: FieldInfo, part: type[Knobs] | None) -> str:
    if name in BY_HAND:
        return BY_HAND[name]
    if part is not None:
        return "a mapping"
    hints = typing.get_args(field.annotation)
    literals = [value for value in hints if isinstance(value, str)]
    if literals:
        return ", ".join(f"`{value}`" for value in literals)
    return _kind(str(field.annotation), field)


def _kind(annotation: str, field: FieldInfo) -> str:
    if "parse_duration" in f"{annotation}{field.metadata}":
        return 'seconds, or "15m", "24h", "7d"' + _null(annotation)
    if "parse_size" in f"{annotation}{field.metadata}":
        return 'bytes, or "64KiB", "1MiB", "2GiB"' + _null(annotation)
    if "Effect" in annotation:
        return "`veto`, `raise`, `off`"
    for words in (UntilProven, DraftWay, HitCharge, Counts, OnHard, OnUnknownPrice, Trimming):
        if words.__name__ in annotation:
            return ", ".join(f"`{word}`" for word in words)
    if "bool" in annotation:
        return "`true`, `false`"
    if "float" in annotation or "int" in annotation:
        return _range(_limits(annotation, field)) + _said_null(field)
    return "text" + _said_null(field)


def _range(limits: Mapping[str, str]) -> str:
    """Say a range in words; `over` and `under` leave the number itself out."""
    low = f"over {limits['gt']}" if "gt" in limits else limits["ge"]
    if "lt" in limits:
        return f"{low}, under {limits['lt']}" if "gt" in limits else f"from {low}, under {limits['lt']}"
    if "le" in limits:
        return f"{low}, up to {limits['le']}" if "gt" in limits else f"{low} to {limits['le']}"
    return f"from {low}"


def _null(annotation: str) -> str:
    return ", or null" if "None" in annotation else ""


def _said_null(field: FieldInfo) -> str:
    return ", or null" if "null:" in str(field.description) else ""


def _limits(annotation: str, field: FieldInfo) -> Mapping[str, str]:
    text = f"{annotation}{field.metadata}"
    found = re.findall(r"\b(ge|gt|le|lt)=(-?[\d.]+(?:e\+?\d+)?)", text)
    return {key: f"{float(value):.10g}" for key, value in found}


def default(field: FieldInfo, part: type[Knobs] | None) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if part is not None or value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, Enum):
        value = value.value
    shown = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
    return f"`{shown:.10g}`" if isinstance(shown, float) else f"`{shown}`"


def tables() -> dict[str, list[Row]]:
    return {"File": list(rows(PolicyFile)), "Domain": list(rows(DomainKnobs))}


if __name__ == "__main__":
    for title, found in tables().items():
        print(f"## {title}\n\n| knob | allowed | default | meaning |\n|---|---|---|---|")  # noqa: T201 - its purpose
        print("\n".join(map(str, found)), "\n")  # noqa: T201 - its purpose
