"""How far a fetch is, and how it is stopped.

Does NOT know: who draws it.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Hears how far each model is; called from the thread that called `fetch`, never concurrently."""

    def __call__(self, model: str, step: str, fraction: float) -> None:
        """`fraction` (0 to 1) of `step` is done for `model`.

        Steps, in order: `wait` (another process is at it), `download`, `unpack`, `convert`, `check`,
        `ready`. A model that is there already only reports `ready`.
        """
        ...


class Tell(Protocol):
    """The same for one model inside its worker; raises `Stopped` when the fetch is being given up."""

    def __call__(self, step: str, fraction: float) -> None:
        """`fraction` (0 to 1) of `step` is done."""
        ...


class Stopped(Exception):  # noqa: N818 - not an error: the caller gave up, and the worker follows
    """The fetch is being given up (an interrupt in the calling thread); never leaves this room."""
