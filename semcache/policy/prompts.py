"""Reads the files that hold public messages, and everything else of a policy directory, with suspicion.

Only regular files (a FIFO or device behind a link is refused without being read), never more of
them than allowed. Blocks on the file system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from semcache.policy.checks import PolicySource
from semcache.policy.prefix_knobs import PROMPT_SUFFIXES
from semcache.policy.problems import Problem

MAX_PROMPT_BYTES = 1 << 20
MAX_PROMPTS = 2000
MAX_TOTAL = 16 << 20
"""Bytes of all public messages' files together."""


def prompt_names(path: Path) -> list[str]:
    """Give the visible .txt and .md files of a directory and of the folders in it, sorted, the first 2,000.

    Raises:
        OSError: it is no readable directory.
    """
    return sorted(_names(path))[:MAX_PROMPTS]


def _names(path: Path) -> Iterator[str]:
    for entry in os.scandir(path):
        if entry.name.startswith("."):
            continue
        if entry.name.endswith(PROMPT_SUFFIXES):
            yield entry.name
        elif entry.is_dir():
            yield from (f"{entry.name}/{name}" for name in _prompts_in(path / entry.name))


def _prompts_in(folder: Path) -> list[str]:
    try:
        found = (entry.name for entry in islice(folder.iterdir(), 4 * MAX_PROMPTS))
        return [name for name in found if name.endswith(PROMPT_SUFFIXES) and not name.startswith(".")]
    except OSError:
        return []  # not ours to read, and then nothing of it can be named either


def read_prompts(source: PolicySource, folder: Path | None) -> tuple[dict[str, str], list[Problem]]:
    """Read the files that a policy names as public messages; gives their texts by name, and what is wrong."""
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    named = [(number, entry.file) for number, entry in enumerate(source.policy.prefix.public) if entry.file]
    known = frozenset(prompt_names(folder)) if named and folder is not None else frozenset()
    total = 0
    for number, name in named:
        try:
            text = _text(folder, name, known)
            total += len(text.encode())
            if total > MAX_TOTAL:
                raise ValueError(f"makes public messages longer than {MAX_TOTAL >> 20} MiB together")
            texts[name] = text
        except (OSError, ValueError) as error:
            words = f"cannot be read: {reason(error)}" if isinstance(error, OSError) else str(error)
            problems.append(source.problem(("prefix", "public", number, "file"), words))
    return texts, problems


def _text(folder: Path | None, name: str, known: frozenset[str]) -> str:
    """Read one file.

    Raises:
        OSError: gone, unreadable, or not a regular file.
        ValueError: too large, not UTF-8, empty, or not where the directory is watched.
    """
    if folder is None or name not in known:
        raise ValueError("there is no such .txt or .md file in the policy directory")
    data = bounded_bytes(folder / name, MAX_PROMPT_BYTES)
    if len(data) > MAX_PROMPT_BYTES:
        raise ValueError(f"is larger than {MAX_PROMPT_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    if not text.strip():
        raise ValueError("is empty")
    return text


def bounded_bytes(path: Path, limit: int) -> bytes:
    """Read a regular file, and at most one byte more than allowed.

    Raises:
        OSError: gone, unreadable, or not a regular file.
    """
    # Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(limit + 1)


def reason(error: OSError) -> str:
    """Give an error of the file system in its own words, without names of files."""
    return (error.strerror or "error").lower()
