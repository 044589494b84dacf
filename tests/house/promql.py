"""Reads PromQL far enough to check shipped rules: tokens, brackets, names of metrics with the labels they are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<duration>\d+[smhdwy])
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<operator>=~|!~|!=|==|<=|>=|[-+*/%^<>=,(){}\[\]])
)""",
    re.VERBOSE,
)
FUNCTIONS = frozenset(("rate", "increase", "max_over_time", "avg_over_time", "histogram_quantile", "vector"))
AGGREGATES = frozenset(("sum", "max", "min", "avg", "count", "topk"))
WORDS = frozenset(("by", "without", "and", "or", "unless", "offset", "on", "ignoring", "bool"))
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


def tokens(expression: str) -> list[Token]:
    """Give the tokens; ValueError where a character begins none."""
    found, at, text = [], 0, expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ValueError(f"no token at {text[at : at + 20]!r}")
        found.append(Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def check_brackets(expression: str) -> None:
    """ValueError where brackets do not match."""
    open_: list[str] = []
    for token in tokens(expression):
        if token.text in _CLOSING:
            open_.append(_CLOSING[token.text])
        elif token.text in _CLOSING.values() and (not open_ or open_.pop() != token.text):
            raise ValueError(f"{token.text} closes nothing")
    if open_:
        raise ValueError(f"{open_} is missing")


def metrics(expression: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each metric with the labels that its selector names."""
    found = tokens(expression)
    inside = ""
    for at, token in enumerate(found):
        if token.text in "{[":
            inside = token.text
        elif token.text in "}]":
            inside = ""
        if token.kind != "name" or inside or token.text in FUNCTIONS | AGGREGATES | WORDS:
            continue
        if not _in_grouping(found, at):
            yield token.text, frozenset(_selector(found, at + 1))


def groupings(expression: str) -> Iterator[frozenset[str]]:
    """Yield the labels of each `by (...)`."""
    found = tokens(expression)
    for at, token in enumerate(found):
        if token.text == "by":
            end = next(place for place in range(at, len(found)) if found[place].text == ")")
            yield frozenset(one.text for one in found[at:end] if one.kind == "name") - {"by"}


def _in_grouping(found: list[Token], at: int) -> bool:
    while at > 0 and (found[at].kind == "name" or found[at].text == ","):
        at -= 1
    return at > 0 and found[at].text == "(" and found[at - 1].text in ("by", "without")


def _selector(found: list[Token], at: int) -> Iterator[str]:
    if at >= len(found) or found[at].text != "{":
        return
    while found[at].text != "}":
        if found[at].kind == "name":
            yield found[at].text
        at += 1
