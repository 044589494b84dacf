"""How a whole answer of any dialect is kept: in chat's words, and in its own too where those say less.

Pure. Whether an answer is whole and good is judged on its chat form, by the same rules for all dialects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from semcache.core import Completion, JsonObject, Usage
from semcache.dialects.chat.answer import complete
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.dialects.usage import read_any


def kept(
    dialect: Dialect, answer: Any, events: Sequence[JsonObject] | None = None
) -> Completion | Incomplete:
    """Judge an answer and give the form it is kept in.

    Args:
        dialect: whose words it is in.
        answer: the whole answer, as received or put together from a stream.
        events: the stream's own events, without what is fresh in every replay, if putting them together lost something.
    """
    try:
        document = dialect.read_answer(answer) if isinstance(answer, dict) else None
        found = complete(document)
        found = replace(found, usage=found.usage or _billed(answer))
        if isinstance(found, Incomplete):
            return found
        bare = dialect.bare(answer)
        native = None if _says_all(dialect, found, bare) else orjson.dumps(bare)
        chunks = None if events is None else orjson.dumps(events)
    except (ValueError, TypeError, RecursionError):
        return Incomplete("shape", _billed(answer))
    return replace(found, native=native, chunks=chunks)


def _billed(answer: Any) -> Usage | None:
    """Read what was billed for an answer that is none."""
    if not isinstance(answer, dict):
        return None
    return read_any(answer.get("usage") or answer.get("usageMetadata") or answer)


def _says_all(dialect: Dialect, found: Completion, bare: JsonObject) -> bool:
    try:
        return dialect.bare(dialect.write_answer(orjson.loads(found.body))) == bare
    except ValueError:
        return False
