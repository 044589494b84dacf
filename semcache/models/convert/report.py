"""What a converter says while it works, and what it gives at the end."""

from __future__ import annotations

from typing import Any, Protocol

Details = dict[str, Any]
"""The part of a manifest that only the converter knows: `{"encoder": {...}}` or `{"lm": {...}}`."""


class Report(Protocol):
    """Hears the progress of one conversion."""

    def __call__(self, step: str, fraction: float) -> None:
        """`fraction` of `step` is done (0 to 1)."""
        ...
