"""Requests for embeddings, read into chat's words as far as those go. Pure.

The input is what a user says, as it came: never a text of its own, since two texts of one meaning have two embeddings and
even a blank more is another one. So it is found again by equal bytes alone.
"""

from __future__ import annotations

from typing import Any

from semcache.dialects.closing import EMBEDDING
from semcache.dialects.dialect import Translated

PATH = "/v1/embeddings"
_ALIKE = frozenset(("model", "user", "safety_identifier"))


def read(body: dict[str, Any], query: bytes) -> Translated:
    """Read a request; no model of chat can answer it."""
    given = body.get("input")
    asked = {"role": "user", "content": given if isinstance(given, list) else [given]}
    chat = {name: value for name, value in body.items() if name in _ALIKE}
    extra = {name: value for name, value in body.items() if name not in _ALIKE and name != "input"}
    return Translated(
        # Nothing is sampled: what a policy says of temperatures does not close the cache.
        chat={**chat, "messages": [asked], "temperature": 0},
        extra=extra,
        unsayable=("input",),
        stream=False,
        include_usage=False,
        path=PATH,
        exact_only=EMBEDDING,
        query=query,
    )
