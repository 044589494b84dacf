"""Canonical text: one spelling for texts that no reader would tell apart.

Unicode is composed (NFC), line ends become LF, blanks at the ends go, and runs of blanks inside
a line shrink to one. Case, punctuation, compatibility characters and zero-width characters stay:
they can carry meaning. So does white space where it can: inside fenced code, in indented lines,
and in lines that quote something. Knows nothing of requests, tokens or models.
"""

from __future__ import annotations

import re
import unicodedata

_BLANKS = re.compile(r"[ \t]+")
_FENCES = ("```", "~~~")
_LITERAL = frozenset("`\"'“”‘’«»")


def canonical_text(text: str) -> str:
    """Give the canonical spelling of a text. Idempotent."""
    if text.isascii() and "\n" not in text and "\r" not in text and "\t" not in text and "  " not in text:
        return text.strip(" ")
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    while lines and not lines[0].strip(" \t"):
        del lines[0]
    while lines and not lines[-1].strip(" \t"):
        del lines[-1]
    if len(lines) <= 1:
        return _one_line(lines[0]) if lines else ""
    return "\n".join(_many_lines(lines))


def _one_line(line: str) -> str:
    """Strip a text of one line; shrink its blanks unless it quotes something."""
    line = line.strip(" \t")
    return line if _LITERAL.intersection(line) else _BLANKS.sub(" ", line)


def _many_lines(lines: list[str]) -> list[str]:
    """Shrink blanks in prose lines only; leave code, indentation and quotations alone."""
    fenced = False
    out: list[str] = []
    for line in lines:
        if line.lstrip(" ").startswith(_FENCES):
            fenced = not fenced
            out.append(line.rstrip(" \t"))
        elif fenced:
            out.append(line)
        elif line.startswith(("  ", "\t", " ")) or _LITERAL.intersection(line):
            out.append(line.rstrip(" \t"))
        else:
            out.append(_BLANKS.sub(" ", line).rstrip(" "))
    return out
