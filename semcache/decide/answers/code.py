"""Code and commands in two answers: do they do the same?

Compares names that mean something (commands, methods, keywords, options), not those that an author makes
up. Knows no grammar of any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_COMMENT = re.compile(r"(?m)(?:#|//|--\s)[^\n]*$")
_STRING = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'")
_TOKEN = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]{0,30}|[A-Za-z_][A-Za-z0-9_]{0,40}")
_PROMPT = re.compile(r"(?m)^\s*(?:\$|>|>>>)\s+")
_DO = 0.5
_DIFFER = 0.34


def tokens_of(pieces: Iterable[str]) -> frozenset[str]:
    """Give the words and options of pieces of code, in lower case, without comments and strings."""
    found: set[str] = set()
    for piece in pieces:
        bare = _STRING.sub(" ", _COMMENT.sub("", piece))
        for token in _TOKEN.findall(bare):
            found |= _options(token) if _is_bundle(token) else {token.lower()}
    return frozenset(found)


def _is_bundle(token: str) -> bool:
    return token.startswith("-") and not token.startswith("--") and 1 < len(token) <= 4


def _options(token: str) -> set[str]:
    """`-la` is `-l` and `-a`."""
    return {f"-{letter}" for letter in token[1:]}


def verdict(one: Sequence[str], other: Sequence[str]) -> bool | None:
    """Compare the code of two answers: True much the same, False something else, None when one has none.

    Commands of one program with other options are something else, however much they share.
    """
    left, right = tokens_of(one), tokens_of(other)
    if not left or not right:
        return None
    if _programs(one) and _programs(other) and not _programs(one) & _programs(other):
        return False
    if _long_options(left - right) and _long_options(right - left):
        return False
    share = len(left & right) / min(len(left), len(right))
    return True if share >= _DO else False if share < _DIFFER else None


def _long_options(tokens: frozenset[str]) -> bool:
    return any(token.startswith("-") for token in tokens)


def _programs(pieces: Sequence[str]) -> frozenset[str]:
    """Give the first words of what look like commands: a program, a blank, arguments."""
    found = set()
    for piece in pieces:
        for line in _PROMPT.sub("", piece).splitlines():
            words = line.removeprefix("sudo ").split()
            plain = (
                len(words) > 1
                and words[0].isalpha()
                and words[0].islower()
                and not re.search(r"[=({:]", line)
            )
            if plain:
                found.add(words[0].rstrip("3"))
    return frozenset(found)
