"""What is read, as texts; and rows that are good."""

from __future__ import annotations

from pathlib import Path

from tests.advise.reading_parts import read, row_line, text_of

NOON = 1767355200


def texts(*files: Path, form: str = "") -> list[str]:
    return [text_of(row) for row in read(*files, form=form)[0]]


GOOD = row_line(NOON, "good")
