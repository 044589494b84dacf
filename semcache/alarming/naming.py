"""Names as they may be shown: those of models and tasks come from clients. Pure."""

from __future__ import annotations

import re

_LONGEST = 96
_LOUD = re.compile(r"[^\w .:/+,()%~-]")


def quiet(name: str) -> str:
    """Give a name without anything that a chat tool, terminal or metric could take for more than a name.

    At most 96 characters: letters and digits of any script and some punctuation; every other character becomes `_`.
    """
    return _LOUD.sub("_", name[:_LONGEST])
