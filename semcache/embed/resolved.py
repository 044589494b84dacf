"""The namespace in which chats meet by what their last question comes to.

Everything that `fingerprint.namespace_of` counts counts here too, but for the history: where the
last question could be resolved, the history's place is taken by the word for how (`standalone`
or `bound`), and what it says is compared by record instead. System messages in front, their
number and their every field stay part of the digest; so do the shape and the further fields of the
last message. A chat that could not be resolved stays in the namespace of its whole history.
Knows nothing of how chats are read.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from semcache.core import ChatRequest, Namespace
from semcache.embed.fingerprint import Partition, namespace_of

_FORMAT = b"semcache-resolved-1"
_INSTRUCTIONS = ("system", "developer")
RESOLVED = frozenset(("standalone", "bound"))
"""Kinds of reading for which the record of the history stands for the history."""


def resolved_namespace(request: ChatRequest, partition: Partition, kind: str) -> Namespace:
    """Give the namespace in which this chat is searched by meaning.

    Args:
        request: Its `prompt` must be a text for any kind but `opaque`.
        partition: What separates callers.
        kind: The reading's kind. Kinds other than `standalone` and `bound`, and requests without
            a prompt, keep the whole history.

    Returns:
        A namespace that no exact key is made of: that one keeps the whole history.
    """
    if kind not in RESOLVED or request.prompt is None:
        return namespace_of(request, partition)
    bare = namespace_of(_without_history(request), partition)
    digest = hashlib.sha256()
    for part in (_FORMAT, kind.encode(), bytes.fromhex(bare.digest)):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return Namespace(bare.tenant, digest.hexdigest())


def _without_history(request: ChatRequest) -> ChatRequest:
    messages: list[Any] = request.body["messages"]
    leading = 0
    while leading < len(messages) - 1 and messages[leading].get("role") in _INSTRUCTIONS:
        leading += 1
    kept = [*messages[:leading], messages[-1]]
    body = {**request.body, "messages": kept}
    # The memo of keys belongs to the whole request.
    return replace(request, body=body, keys={})
