"""The one error of this room: files that people hand in or take away are no part of a request."""

from __future__ import annotations

from semcache.errors import SemcacheError


class ArchiveError(SemcacheError):
    """An export, backup, journal or receipt is refused or cannot be written; says why and where, and what to do next.

    `line` is the number of the line at fault, 0 where it is about the whole.
    """

    status = 422
    code = "archive_error"

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
