"""Asking a backend once more what a hit answered, whole and with a deadline.

The request goes out as the client's own would have, without streaming. Knows nothing of comparing, labels
or money.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from semcache.asking.exchange import completion_of, exchange
from semcache.calling import call_of
from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.dialects.table import BY_NAME
from semcache.errors import UpstreamError
from semcache.journey import Asked, Backend, Step
from semcache.ports import UpstreamCall, UpstreamReply

_NOBODY = frozenset(("upstream_unreachable", "upstream_unavailable", "upstream_busy"))
"""Codes of `UpstreamError` where nobody was reached."""
LONGEST = 4 << 20
"""Bytes of an answer that are read."""


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer to compare with; `reason` is a closed word."""

    reason: str

    @property
    def is_refused(self) -> bool:
        """True where no model can have worked: nobody was reached, or an error came back. One that was late may have."""
        return self.reason.startswith("status-") or self.reason in _NOBODY


def unstreamed(asked: Asked, temperature: float | None = None) -> Asked:
    """Give the same request for a whole answer, at least as warm as `temperature` if that is given."""
    dialect = BY_NAME[asked.request.dialect]
    return replace(asked, dialect=dialect, request=dialect.unstreamed(asked.request, temperature))


async def ask_again(step: Step, deadline: float, temperature: float | None = None) -> Completion | Failed:
    """Have the backend of a request answer it once more.

    Args:
        step: the request, with its backend and policy.
        deadline: seconds for the whole answer.
        temperature: as for `unstreamed`.
    """
    asked = unstreamed(step.asked, temperature)
    call = call_of(asked, step.backend, step.policy, step.snapshot)
    return await ask(step.backend, call, deadline, asked.dialect)


async def ask(
    backend: Backend, call: UpstreamCall, deadline: float, dialect: Dialect = CHAT
) -> Completion | Failed:
    """Send a call and read its whole answer, in `dialect`; every fault of the upstream is a `Failed`."""
    try:
        return await exchange(backend, call, deadline, partial(_read, dialect))
    except TimeoutError:
        return Failed("late")
    except UpstreamError as error:
        return Failed(error.code or "upstream")


async def _read(dialect: Dialect, reply: UpstreamReply) -> Completion | Failed:
    if reply.status != 200:
        return Failed(f"status-{reply.status}")
    found = await completion_of(reply, LONGEST, dialect)
    return Failed(found.reason) if isinstance(found, Incomplete) else found


def text_of(completion: Completion) -> str:
    """Give what an answer says: the text of its choices, and the calls that it makes as JSON."""
    try:
        document = orjson.loads(completion.body)
    except orjson.JSONDecodeError:
        return ""
    choices = document.get("choices") if isinstance(document, dict) else None
    parts = [
        part for choice in choices or () if isinstance(choice, dict) for part in _said(choice.get("message"))
    ]
    return "\n".join(parts)


def _said(message: Any) -> Iterator[str]:
    if not isinstance(message, Mapping):
        return
    content = message.get("content")
    if isinstance(content, str) and content:
        yield content
    elif isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        yield from (text for text in texts if isinstance(text, str))
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield f'{{"{function.get("name")}": {function.get("arguments") or "{}"}}}'
