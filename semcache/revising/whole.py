"""Asking a model for a short whole text, with a deadline: the answer, or why there is none.

Every fault of the upstream becomes a word; none is raised. Knows nothing of what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from semcache.asking.exchange import body_of, completion_of, exchange
from semcache.core import Completion, Usage
from semcache.dialects.dialect import Incomplete
from semcache.errors import SemcacheError
from semcache.journey import Backend
from semcache.ports import UpstreamCall, UpstreamReply

LONGEST = 1 << 20
"""Bytes of an answer that are read."""
_REFUSED = (400, 422)


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer.

    `reason` is a closed word: `late`, `upstream` (unreachable, an error, no valid reply), `refused` (400 or 422),
    `incomplete` (cut, refused by the model, or no text). `param` names the field that was refused, where the
    upstream says so; `usage` is what was billed all the same, where that is known.
    """

    reason: str
    param: str = ""
    usage: Usage | None = None


async def ask(backend: Backend, call: UpstreamCall, deadline: float) -> Completion | Failed:
    """Send a call and read its whole answer within `deadline` seconds."""
    try:
        return await exchange(backend, call, deadline, _read)
    except TimeoutError:
        return Failed("late")
    except SemcacheError:
        return Failed("upstream")


async def _read(reply: UpstreamReply) -> Completion | Failed:
    if reply.status in _REFUSED:
        return Failed("refused", _param(await body_of(reply, LONGEST)))
    if reply.status != 200:
        return Failed("upstream")
    found = await completion_of(reply, LONGEST)
    return Failed("incomplete", usage=found.usage) if isinstance(found, Incomplete) else found


def _param(body: bytes) -> str:
    """Give the name of the field that an error in the protocol's shape complains of; never its message."""
    try:
        document: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    error = document.get("error") if isinstance(document, dict) else None
    param = error.get("param") if isinstance(error, dict) else None
    return param.partition(".")[0] if isinstance(param, str) else ""
