"""Whether an answer was cut off: it ends as no whole one does. Pure."""

from __future__ import annotations

import re

_END = re.compile(r"[.!?。！？…:：;；)\]}>\"'”’」』】》`*_|~]\s*\Z")
_LISTED = re.compile(r"(?:^|\n)\s*(?:[-*+•]|\d{1,3}[.)、])[^\n]*\Z")
_DANGLING = re.compile(
    r"(?i)(?:[,，、;(（\[{:]|\b(?:and|or|the|a|an|of|to|for|with|is|are|that|which|but))\s*\Z|[的和或与是在但]\Z"
)


def is_cut(before: str, after: str) -> bool:
    """True when `after` ends as no whole answer does, unless `before`, of which it was made, ended in the same way."""
    if after.count("```") % 2:
        return True
    if after.rstrip()[-12:] == before.rstrip()[-12:]:
        return False
    if _DANGLING.search(after[-40:]):
        return True
    return bool(_END.search(before[-8:])) and not _END.search(after[-8:]) and not _LISTED.search(after[-400:])
