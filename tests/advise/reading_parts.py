"""Reading in tests: files written, rows and what was skipped."""

from __future__ import annotations

from pathlib import Path

from semcache.advise.findings import Reading
from semcache.advise.reading import opened_logs
from semcache.advise.rows import LogRow, Watcher
from semcache.dialects.closing import last_text


def read(*files: Path, form: str = "", limit: int = 0) -> tuple[list[LogRow], Reading]:
    """Read files; gives the rows, read twice to see that they can be."""
    with opened_logs(files, Watcher(), form=form, limit=limit) as logs:
        rows = list(logs.rows(Watcher()))
        assert list(logs.rows(Watcher())) == rows
        return rows, logs.reading


def written(folder: Path, name: str, data: bytes | str) -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def row_line(at: float | str | None, text: str) -> str:
    """Give a line of a log."""
    from json import dumps

    time = {} if at is None else {"ts": at}
    return dumps({**time, "model": "m", "messages": [{"role": "user", "content": text}]}) + "\n"


def text_of(row: LogRow) -> str:
    """Give the last message's text."""
    return str(last_text(row.body["messages"][-1]))
