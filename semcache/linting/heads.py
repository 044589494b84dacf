"""What stands before the messages: tools and the system prompt, as one text that two requests share or part in. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import orjson

from semcache.cost_port import Cause
from semcache.linting.compare import common_head, pieces_of
from semcache.linting.parting import Parting, made, part
from semcache.linting.prompt import Prompt, Tool

TOOLS = "tools"
SYSTEM = "system"


@dataclass(frozen=True)
class Head:
    """Tools and system prompt of a request, cut at `longest` characters; `mark` is the same for equal ones, in this process."""

    tools: tuple[Tool, ...]
    system: str
    longest: int

    @cached_property
    def mark(self) -> int:
        """Tell heads apart."""
        return hash((self.tools, self.system))

    @cached_property
    def catalogue(self) -> str:
        """The tools, one a line."""
        return "".join(f"{tool.text}\n" for tool in self.tools)

    @cached_property
    def text(self) -> str:
        """All of it, as far as it is compared."""
        return (self.catalogue + self.system)[: self.longest]

    @cached_property
    def pieces(self) -> frozenset[str]:
        """Its lines and sentences."""
        return frozenset(pieces_of(self.text))


def head_of(prompt: Prompt, longest: int) -> Head:
    """Give a prompt's head."""
    return Head(prompt.tools, prompt.system, longest)


def where_of(head: Head, at: int) -> str:
    """Name the part of the request that a character of the head lies in."""
    return TOOLS if at < len(head.catalogue) else SYSTEM


def part_heads(one: Head, other: Head) -> Parting | None:
    """Compare a head with an earlier one; None where one of them is the beginning of the other."""
    if one.tools == other.tools:
        return part(one.text, other.text)
    at = common_head(one.text, other.text)
    if at in (len(one.text), len(other.text)):
        return None
    names = [tool.name for tool in one.tools], [tool.name for tool in other.tools]
    if _bag(one.tools) == _bag(other.tools):
        # Of tools that are equal in all but the order of keys, the order of keys is what differs.
        cause = Cause.TOOLS_REORDERED if names[0] != names[1] else Cause.KEY_ORDER
        return _tools(cause, one, other, at, other.catalogue[at:])
    found = part(one.text, other.text) if names[0] == names[1] else None
    if found is not None and found.cause not in (Cause.USER_TEXT, Cause.REORDERED, Cause.HISTORY_WINDOW):
        return found
    known = {tool.text for tool in one.tools}
    place = _first_changed(one.tools, other.tools)
    return _tools(
        Cause.TOOLS_CHANGED, one, other, at, "\n".join(t.text for t in other.tools[place:] if t.text in known)
    )


def _tools(cause: Cause, one: Head, other: Head, at: int, shared: str) -> Parting:
    """Put a parting within the tools together; what the system prompts begin with is shared, too."""
    system = other.system[: common_head(one.system, other.system)]
    longest = max(len(one.text), len(other.text))
    parting = made(
        cause, other.text, at, at, shared + system, overlap=(at + len(shared) + len(system)) / longest
    )
    return replace(parting, label="", site="")


def _first_changed(one: Sequence[Tool], other: Sequence[Tool]) -> int:
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)


def _bag(tools: Sequence[Tool]) -> Counter[bytes]:
    return Counter(_canonical(tool.text) for tool in tools)


def _canonical(text: str) -> bytes:
    try:
        return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return text.encode("utf-8", "surrogatepass")
