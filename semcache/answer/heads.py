"""The heads of a chat request: beginnings that other requests may share, and that could be computed beforehand.

A head is what the engine renders of it: leading messages, tools, and whatever else its template
reads; never what only steers the answer. Knows nothing of owners' names, counting or the engine. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.answer.owners import leading_system
from semcache.core import TenantId

RENDERED = (
    "model", "tools", "tool_choice", "functions", "documents", "chat_template_kwargs", "reasoning_effort",
)  # fmt: skip
"""Fields beside the messages that may shape the prompt; the rest cannot change what is computed for a head."""

LEAST = 128
"""Bytes as JSON; computing less again costs less than remembering it."""
LONGEST = 256 << 10
"""Bytes as JSON of a head that is remembered."""
_MOST_MESSAGES = 512


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a body's messages may be remembered, and whose they are.

    Up to `public` they are everybody's, from there up to `end` those of `owner` ("": the tenant's).
    """

    end: int
    public: int = 0
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a request of `tenant`; `key` tells it from all others, `size` is bytes as JSON.

    `owner` is the engine's name of a caller who shares it with nobody else ("": the tenant does).
    """

    tenant: TenantId
    owner: str
    key: bytes
    size: int
    fields: Mapping[str, Any]
    messages: Sequence[Any]

    def dumps(self) -> bytes:
        """Give it as the JSON of a chat body."""
        return orjson.dumps({**self.fields, "messages": self.messages})


def heads_of(tenant: TenantId, body: Mapping[str, Any], reach: Reach) -> Iterator[Head]:
    """Give the heads of a body worth counting, the shortest first.

    They end behind the system messages, behind the first message after those (a document, often), and
    before the last message (what a conversation has said).

    Args:
        tenant: whose request it is.
        body: a chat body; its text is whole Unicode.
        reach: no head is longer.
    """
    messages: Sequence[Any] = body["messages"]
    if len(messages) > _MOST_MESSAGES:
        return
    system = leading_system(messages)
    last = min(len(messages) - 1, reach.end)
    cuts = {cut for cut in (system, system + 1, len(messages) - 1) if 0 < cut <= last}
    if not cuts:
        return
    fields = {name: body[name] for name in RENDERED if body.get(name) is not None}
    opening = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    digest, size = hashlib.blake2b(opening, digest_size=16), len(opening)
    for number, message in enumerate(messages[: max(cuts)], 1):
        text = orjson.dumps(message, option=orjson.OPT_SORT_KEYS)
        digest.update(len(text).to_bytes(4, "big") + text)
        size += len(text)
        if size > LONGEST:
            return
        if number in cuts and size >= LEAST:
            owner = reach.owner if number > reach.public else ""
            key = hashlib.blake2b(digest.digest(), digest_size=16, key=owner.encode()[:64]).digest()
            yield Head(tenant, owner, key, size, fields, messages[:number])
