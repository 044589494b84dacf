"""Chats from the tables' notation."""

from __future__ import annotations

from collections.abc import Iterator

from semcache.decide.context import Reading, read, settle


def turns(line: str) -> list[dict[str, str]]:
    return [
        {"role": "user" if i % 2 == 0 else "assistant", "content": text.strip()}
        for i, text in enumerate(line.split(" | "))
    ]


def reading(line: str, system: str = "", apart: float | None = None) -> Reading:
    return settle(read(turns(line), system), apart)


def pairs(tables: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for name, table in tables.items():
        for block in table.strip().split("\n\n"):
            one, other = block.split("\n")
            yield name, one, other
