"""Budgets before the paths that are passed through: the body is read only where a budget may hold for it.

What is read goes on byte for byte; everything else streams by untouched. Knows no budgets, only who stands before a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

from semcache.budgeting.gate import Call
from semcache.budgeting.matching import may_hold_for
from semcache.core import Caller, Labels
from semcache.cost_rules import CostPolicy
from semcache.errors import RequestError
from semcache.journey import Backend
from semcache.policy.snapshot import PolicySnapshot
from semcache.proxy.body import parse_object, read_body
from semcache.proxy.headers import RequestHeaders
from semcache.proxy.types import Receive, Scope

_FREE = frozenset(("files", "uploads", "moderations", "vector_stores"))
"""First words of paths that no provider bills by the token; the call that uses what is sent comes later."""
_COUNTING = ("/count_tokens", "/tokenize", "/detokenize")
_READING = frozenset(("GET", "HEAD", "OPTIONS", "DELETE"))


class CallGate(Protocol):
    """Who stands before a call (`budgeting.gate.Gate`)."""

    async def on_call(self, policy: CostPolicy, call: Call) -> str:
        """Set aside what it may cost; gives the name of that, "" for nothing.

        Raises:
            RequestError: a budget is used up, or nobody can tell.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlainBudget:
    """Sets aside what a passed-through call may cost.

    Args:
        gate: who stands before calls.
        policies: gives the policies in force.
        body_limit: bytes of a body that is read.
        body_deadline: seconds for it to arrive.
    """

    gate: CallGate
    policies: Callable[[], PolicySnapshot]
    body_limit: int
    body_deadline: float

    async def enter(
        self,
        scope: Scope,
        receive: Receive,
        headers: RequestHeaders,
        caller: Caller,
        labels: Labels,
        backend: Backend,
    ) -> tuple[Receive, str]:
        """Give what the request is to be read from now on, and the name of what was set aside ("" for nothing).

        Raises:
            RequestError: as `Gate.on_call`; 413 and 408 for a body that has to be read and cannot.
            ClientGone: the client hung up.
        """
        path: str = scope["path"]
        policy = self.policies().costs(caller.tenant)
        if not policy.budgets or not _is_call(scope["method"], path):
            return receive, ""
        if not may_hold_for(policy, labels, caller.key_name):
            return receive, ""
        body: Mapping[str, Any] = {}
        raw: bytes | None = None
        if _is_json(scope) and headers.content_encoding is None:
            raw = await read_body(receive, headers.content_length, self.body_limit, self.body_deadline)
            receive = again(raw, receive)
            body = _object(raw)
        call = Call(
            tenant=caller.tenant,
            labels=labels,
            model=_model(body),
            key_name=caller.key_name,
            backend=backend.generator.name,
            is_local=backend.prefixes is not None,
            body=body,
            path=path,
            raw=raw,
        )
        return receive, await self.gate.on_call(policy, call)


def _is_call(method: str, path: str) -> bool:
    """Tell what may cost something: whatever is sent, but for what is known to be free."""
    if method in _READING:
        return False
    first, *_ = path.removeprefix("/v1").strip("/").split("/")
    return first not in _FREE and not path.endswith(_COUNTING)


def _is_json(scope: Scope) -> bool:
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"application/json")
    return kind.partition(b";")[0].strip().lower().endswith(b"json")


def _object(raw: bytes) -> Mapping[str, Any]:
    """Give a JSON object; what is none names no model, and goes on as it is for the upstream to refuse."""
    try:
        return parse_object(raw)[0]
    except RequestError:
        return {}


def _model(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    return model if isinstance(model, str) else ""


def again(body: bytes, receive: Receive) -> Receive:
    """Give a receive callable that begins with a body that was read, and goes on with what comes after it."""
    waiting: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return received
