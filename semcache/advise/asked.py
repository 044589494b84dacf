"""A row of a log becomes a request as a client sends it, and what the model answered then becomes the answer of a miss.

Knows no pipeline.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from semcache.advise.chains import tokens_in
from semcache.advise.rows import NOTHING, LogRow
from semcache.core import CachePolicy, Caller, Directives, Namespace, Scope, TenantId, Usage
from semcache.decide import admission
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition
from semcache.embed.resolved import resolved_namespace
from semcache.errors import RequestError
from semcache.evaluate.asking import UPSTREAM
from semcache.journey import Asked
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import UpstreamCall
from semcache.tokens import tokens_of

_PATH = "/v1/chat/completions"
NO_ANSWER = "(The log holds no answer to this request.)"
"""Stands for an answer that the log does not hold."""
EXACTLY = Directives(mode="exact")
_JSON = ((b"content-type", b"application/json"),)


def asked_of(row: LogRow, tenant: TenantId) -> Asked | None:
    """Make the request of a row; None where it is no chat request. Owners of the log never share anything."""
    body: dict[str, Any] = dict(row.body)
    if row.user and not body.get("user"):
        body["user"] = row.user
    try:
        request = parse_chat(body, _PATH)
    except RequestError:
        return None
    if row.beside is not NOTHING:
        request = replace(
            request,
            extra=row.beside.extra,
            exact_only=row.beside.exact_only or request.exact_only,
            uncacheable=row.beside.uncacheable or request.uncacheable,
        )
    owner = hashlib.blake2b(row.tenant.encode("utf-8", "replace"), digest_size=12).hexdigest()
    caller = Caller(tenant, principal=owner if row.tenant else "")
    return Asked(request, caller, Directives(), upstream=UPSTREAM, raw_body=_unwritable(body))


def exactly(asked: Asked) -> Asked:
    """Give the request as one that asks for equal ones only."""
    return replace(asked, directives=EXACTLY)


def _unwritable(body: dict[str, Any]) -> bytes | None:
    """Give the bytes of a body that holds half a letter (a lone surrogate): the pipeline never keeps such a one."""
    try:
        orjson.dumps(body)
    except (TypeError, ValueError):
        return json.dumps(body, default=str).encode()
    return None


def place_of(asked: Asked, snapshot: PolicySnapshot) -> int | None:
    """Give a number for where the request could meet others by meaning; None where it cannot be cached at all.

    What is told apart here never shares an answer, whatever the conversations were.
    """
    try:
        policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
    except RequestError:
        return None
    if asked.raw_body is not None or admission.bypass(policy, asked.request, asked.directives) is not None:
        return None
    namespace = resolved_namespace(asked.request, _partition(asked, policy), "standalone")
    return _number(namespace)


def is_matched(asked: Asked, snapshot: PolicySnapshot) -> bool:
    """Tell whether a request with a place is matched by meaning at all, so that it needs a vector."""
    policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
    return admission.may_match(policy, asked.request, asked.directives) is None


def _partition(asked: Asked, policy: CachePolicy) -> Partition:
    owner = asked.caller.principal
    if policy.scope is Scope.USER:
        owner = f"{owner}\x00{asked.request.end_user}"
    return Partition(policy.tenant, policy.scope, owner, "", UPSTREAM)


def _number(namespace: Namespace) -> int:
    return int(namespace.digest[:15], 16)


def text_number(text: str) -> int:
    """Give a number for a text, for sets that must not hold texts."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big"
    )


def usage_of(row: LogRow) -> Usage:
    """Give what a request used: as the log says, else guessed from its text and the answer's."""
    if row.usage is not None:
        return row.usage
    return Usage(tokens_in(row.body), tokens_of(row.response) if row.response else 0)


class LoggedGenerator:
    """A `ports.Generator` that gives each miss what the log says was answered; one request at a time."""

    name = UPSTREAM

    def __init__(self) -> None:
        self._row: LogRow | None = None

    def say(self, row: LogRow) -> None:
        """Let the next call be answered as this row was."""
        self._row = row

    async def open(self, call: UpstreamCall) -> LoggedReply:
        """Answer."""
        del call
        return LoggedReply(self._row)

    async def aclose(self) -> None:
        """Have nothing to close."""


class LoggedReply:
    """The answer of a row as a chat completion; a failure where the log says that there was none."""

    headers: Sequence[tuple[bytes, bytes]] = _JSON

    def __init__(self, row: LogRow | None) -> None:
        self._row = row
        self.status = 500 if row is None or row.failed else 200

    async def body(self) -> AsyncIterator[bytes]:
        """Give the whole answer in one piece."""
        yield b"{}" if self._row is None else _completion(self._row)

    async def aclose(self) -> None:
        """Have nothing to close."""


def _completion(row: LogRow) -> bytes:
    used = usage_of(row)
    message, reason = _message(row)
    return orjson.dumps(
        {
            "id": "chatcmpl-log",
            "object": "chat.completion",
            "created": 0,
            "model": row.model or UPSTREAM,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": used.prompt_tokens,
                "completion_tokens": used.completion_tokens,
                "total_tokens": used.total_tokens,
            },
        }
    )


def _message(row: LogRow) -> tuple[dict[str, Any], str]:
    """Say what was answered. A request with tools whose answer has no text was answered by calls of them, most likely."""
    if row.response is None and (row.body.get("tools") or row.body.get("functions")):
        call = {"id": "call_log", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    text = NO_ANSWER if row.response is None else row.response
    return {"role": "assistant", "content": text.encode("utf-8", "replace").decode()}, "stop"
