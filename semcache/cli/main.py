"""The way into the command line, and the way out of it.

Exit codes: 0 well, 1 a named error (told in one line on stderr), 2 wrong usage, 130 Ctrl-C, 143 told
to end before the start was complete.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from semcache.errors import SemcacheError

if TYPE_CHECKING:
    import typer

_NO_REPORTS = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")
"""Read by libraries when they are imported: onnxruntime else keeps a device id and reports to its maker."""


def main() -> None:
    """Run the command line; named errors end with one clear line instead of a traceback."""
    for variable in _NO_REPORTS:
        os.environ.setdefault(variable, "1")
    try:
        _app()()
    except SemcacheError as error:
        sys.stderr.write(_red(f"semcache: {error}") + "\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _app() -> typer.Typer:
    """Load the command that was called, or all of them to tell which there are: takes seconds, in which Ctrl-C may come."""
    from semcache.cli.registry import PLACES, app_of  # noqa: PLC0415 - takes a while

    called = sys.argv[1:2]
    return app_of(called if called and called[0] in PLACES else PLACES)


def _red(text: str) -> str:
    return f"\x1b[31m{text}\x1b[0m" if sys.stderr.isatty() else text
