"""What to do about each cause, in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from semcache.cost_port import Cause

_FIXES: Mapping[Cause, str] = {
    Cause.TIME: "Move the time behind the stable part, best into the last user message, or round it to the day.",
    Cause.UUID: "Leave the UUID out of the prompt, or move it behind the stable part.",
    Cause.IDENTIFIER: "Leave the identifier out of the prompt, or move it behind the stable part.",
    Cause.COUNTER: "Move the number behind the stable part, best into the last user message.",
    Cause.TOOLS_CHANGED: "Send the same tools in every request, and say by tool_choice which of them may be used.",
    Cause.TOOLS_REORDERED: "Sort the tools by name before sending (prefix.rewrite.sort_tools does it for you).",
    Cause.SYSTEM_CHANGED: "Keep the system prompt the same, and put what changes behind it, best into the last user message.",
    Cause.MODEL_CHANGED: "Stay with one model for the whole of a conversation.",
    Cause.KEY_ORDER: "Write JSON with sorted keys, so that equal objects are equal texts.",
    Cause.WHITESPACE: "Build the prompt with the same white space, line ends and Unicode form (NFC) every time.",
    Cause.REORDERED: "Put the pieces in a fixed order, such as sorted by name.",
    Cause.HISTORY_REWRITTEN: "Only append to the history: do not change messages that were sent before.",
    Cause.HISTORY_WINDOW: "Drop old messages seldom and many at a time, so that the window begins at the same message for many turns.",
    Cause.USER_TEXT: "Put what all requests share first, and what differs behind it.",
    Cause.OTHER: "Put what differs behind the stable part.",
}
_IN_TOOLS = "Send tools whose JSON has sorted keys (prefix.rewrite.sort_keys does it for you)."
_IN_HISTORY = "Send earlier messages again word for word: write what changes into the last message only."


def fix_of(cause: Cause, where: str) -> str:
    """Say what to do about a cause in a part of the request."""
    if cause is Cause.KEY_ORDER and where == "tools":
        return _IN_TOOLS
    if cause in (Cause.TIME, Cause.UUID, Cause.IDENTIFIER, Cause.COUNTER) and _is_later(where):
        return _IN_HISTORY
    return _FIXES[cause]


def _is_later(where: str) -> bool:
    """Tell whether it is a message of the history, not the first."""
    name, _, place = where.rstrip("]").partition("[")
    return name in ("messages", "input") and place.isdigit() and int(place) > 1
