"""How tests are spread over processes (pytest-xdist): by file, those that start programs first, and what shares a program together.

A long file at the end would keep one core busy while the others wait.
"""

from __future__ import annotations

from typing import Any

TOGETHER = ("tests/e2e/local/",)
"""Folders whose files share a program that takes long to start: all of them go to one process."""

FIRST = (
    *TOGETHER,
    "tests/e2e/",
    "tests/engine/",
    "tests/review_web/",
    "tests/cli/",
    "tests/advise/",
    "tests/models/",
)
"""Folders whose files take long, longest first."""


def scope_of(nodeid: str) -> str:
    """Name what goes to one process as a whole: a file, or one of the folders that share something."""
    path = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if path.startswith(folder)), path)


def rank_of(nodeid: str) -> int:
    """Number a test by when its file is to begin; what takes long begins early."""
    return next((at for at, folder in enumerate(FIRST) if nodeid.startswith(folder)), len(FIRST))


def scheduler_of(config: Any, log: Any) -> Any:
    """Make the scheduler for `--dist loadfile`; None for any other."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Spreading(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    # The order is ours: the number of tests in a file says nothing of how long it takes.
    config.option.loadscopereorder = False
    return Spreading(config, log)
