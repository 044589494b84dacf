"""Who revises, and the call that asks them: a backend, a model, and what that model does not take.

A caller's own key goes to the caller's own backend and nowhere else; another upstream is asked under the configured
key alone. Knows nothing of edits: messages and schema are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from semcache.calling import call_of
from semcache.core import Completion, JsonObject
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.request import in_chat
from semcache.journey import Backend, Step
from semcache.ports import Clock, UpstreamCall
from semcache.revising.memory import Refusals
from semcache.revising.whole import Failed, ask

_JSON = (b"content-type", b"application/json")
_OF_THE_CALL = frozenset(
    (b"content-type", b"content-length", b"content-encoding", b"accept", b"idempotency-key")
)
"""Headers of a request that belong to its own body: a revision is another call."""
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_DROPPABLE = ("response_format", "temperature", _LIMIT)
"""What a model may refuse and a revision can do without (a limit: under its newer name)."""
_ALL = "*"
_ATTEMPTS = 2
_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Reviser:
    """A model that revises; `is_own`: behind the request's own backend."""

    backend: Backend
    model: str
    is_own: bool

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.backend.generator.name


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a reviser: `messages`, the form of the reply (None: text), and its most tokens."""

    messages: tuple[JsonObject, ...]
    response_format: JsonObject | None
    max_tokens: int


def reviser_of(step: Step, backends: Mapping[str, Backend]) -> Reviser | None:
    """Give who revises for a request, as its policy says; None when that upstream is not configured."""
    upstream, _, model = step.policy.drafts.reviser.partition("/")
    own = step.backend
    if upstream in ("", own.generator.name):
        return Reviser(own, model or step.asked.request.model, is_own=True)
    backend = backends.get(upstream)
    return None if backend is None else Reviser(backend, model or step.asked.request.model, is_own=False)


async def ask_reviser(
    step: Step, reviser: Reviser, wanted: Wanted, refusals: Refusals, clock: Clock, deadline: float
) -> Completion | Failed:
    """Ask, and once more without the field that was refused; what a model refuses is remembered.

    Args:
        step: the request whose draft is revised.
        reviser: who is asked.
        wanted: for what.
        refusals: what models are known not to take.
        clock: time.
        deadline: seconds for both calls together.
    """
    until = clock.monotonic() + deadline
    found: Completion | Failed = Failed("refused")
    for _ in range(_ATTEMPTS):
        left = until - clock.monotonic()
        if _refused(_ALL, reviser, refusals, clock):
            return found
        if left <= 0:
            return Failed("late")
        body = _body(step, reviser, wanted, refusals, clock)
        found = await ask(reviser.backend, _call(step, reviser, body), left)
        if not isinstance(found, Failed) or found.reason != "refused":
            return found
        if found.param and found.param not in _DROPPABLE:
            return found
        _learn(found.param or "response_format", body, reviser, refusals, clock)
    return found


def _learn(word: str, body: Mapping[str, Any], reviser: Reviser, refusals: Refusals, clock: Clock) -> None:
    """Remember what was refused; a model that refuses what cannot be spared is left alone for a while.

    Not for long: it may have been this one request, too long for its context.
    """
    now = clock.monotonic()
    if word in body:
        refusals.note(reviser.name, reviser.model, word, now)
    else:
        refusals.note(reviser.name, reviser.model, _ALL, now, _PAUSE)


def _body(step: Step, reviser: Reviser, wanted: Wanted, refusals: Refusals, clock: Clock) -> dict[str, Any]:
    def refused(word: str) -> bool:
        return _refused(word, reviser, refusals, clock)

    newer = refused(_LIMIT) or (reviser.is_own and _NEW_LIMIT in step.asked.request.body)
    body: dict[str, Any] = {
        "model": reviser.model,
        "messages": list(wanted.messages),
        (_NEW_LIMIT if newer else _LIMIT): wanted.max_tokens,
    }
    if not refused("temperature"):
        body["temperature"] = 0
    if wanted.response_format is not None and not refused("response_format"):
        body["response_format"] = wanted.response_format
    return body


def _refused(word: str, reviser: Reviser, refusals: Refusals, clock: Clock) -> bool:
    return refusals.holds(reviser.name, reviser.model, word, clock.monotonic())


def _call(step: Step, reviser: Reviser, body: dict[str, Any]) -> UpstreamCall:
    """Give the call as `journey.call_of` would: the engine is told whose prompt this is."""
    asked = step.asked
    headers: tuple[tuple[bytes, bytes], ...] = (_JSON,)
    caller = replace(asked.caller, authorization=None)
    if reviser.is_own:
        own = (pair for pair in asked.headers if pair[0].lower() not in _OF_THE_CALL)
        headers, caller = (*own, _JSON), asked.caller
    request = replace(
        in_chat(asked.request), body=body, model=reviser.model, stream=False, include_usage=False, keys={}
    )
    revision = replace(asked, dialect=CHAT, request=request, caller=caller, headers=headers)
    return call_of(revision, reviser.backend, step.policy, step.snapshot)
