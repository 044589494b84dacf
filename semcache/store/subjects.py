"""Texts that carry the digest of whose they are, so that they are found when somebody is to be erased (pure).

A text is kept as `<mark><digest><mark><text>`, the mark being a control character that no printable text holds. One of
nobody in particular is kept as it is, unless it begins like a marked one. Releases that know nothing of this show a digest
before a text, and lose nothing.
"""

from __future__ import annotations

MARK = "\x1e"
_LONGEST = 64


def marked(subject: str, text: str) -> str:
    """Give a text together with whose it is; an empty text stays empty."""
    if not text or not (subject or text.startswith(MARK)):
        return text
    return f"{mark_of(subject)}{text}"


def unmarked(stored: str) -> tuple[str, str]:
    """Give whose a text is ("" for nobody in particular), and the text."""
    if not stored.startswith(MARK):
        return "", stored
    subject, found, text = stored[1 : _LONGEST + 2].partition(MARK)
    if not found:
        return "", stored
    return subject, text + stored[_LONGEST + 2 :]


def mark_of(subject: str) -> str:
    """Give what a text of somebody begins with."""
    return f"{MARK}{subject}{MARK}"
