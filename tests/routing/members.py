"""Upstreams of routes without sockets, as busy and as broken as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.errors import UpstreamError
from semcache.ports import UpstreamCall
from semcache.routing.balance import Balance
from semcache.routing.route import Retrying, Route
from semcache.routing.sharing import Sharing
from semcache.routing.target import Target
from tests.fakes.generator import FakeReply

CHAT = frozenset({"openai.chat"})
OPENAI = frozenset({"openai.chat", "openai.completions", "openai.responses", "openai.embeddings"})


def gone(name: str) -> UpstreamError:
    return UpstreamError(f"upstream '{name}' could not be reached", untouched=True)


def late(name: str) -> UpstreamError:
    return UpstreamError(f"upstream '{name}' did not answer in time", status=504, code="upstream_timeout")


@dataclass
class FakeMember:
    """Answers as `outcomes` say, the last one again and again: a status, or an error."""

    name: str
    outcomes: Sequence[int | UpstreamError] = (200,)
    active: int = 0
    waiting: int = 0
    is_full: bool = False
    refuses: bool = False
    calls: list[UpstreamCall] = field(default_factory=list)
    replies: list[FakeReply] = field(default_factory=list)

    async def open(self, call: UpstreamCall) -> FakeReply:
        self.calls.append(call)
        outcome = self.outcomes[min(len(self.calls), len(self.outcomes)) - 1]
        if isinstance(outcome, UpstreamError):
            raise outcome
        self.replies.append(FakeReply(outcome, parts=[self.name.encode()]))
        return self.replies[-1]

    async def aclose(self) -> None:
        pass

    def body(self) -> Any:
        sent = self.calls[-1].body
        assert isinstance(sent, bytes)
        return json.loads(sent)

    def header(self, name: bytes) -> bytes | None:
        return dict(self.calls[-1].headers).get(name)


@dataclass
class Ears:
    """Keeps what was heard."""

    heard: list[tuple[str, str, str]] = field(default_factory=list)

    def routed(self, route: str, upstream: str, result: str) -> None:
        self.heard.append((route, upstream, result))


def target(member: FakeMember, **given: Any) -> Target:
    return Target(member, **{"speaks": OPENAI, "takes_client_keys": True, **given})


def route(*targets: Target, **given: Any) -> Route:
    return Route(
        "pool",
        targets,
        Sharing(given.pop("balance", Balance(floor=10_000))),
        given.pop("retrying", Retrying()),
        **given,
    )


def chat(
    body: Any = None, *, affinity: bytes = b"k" * 32, path: str = "/v1/chat/completions", **given: Any
) -> UpstreamCall:
    document = {"model": "m", "messages": []} if body is None else body
    sent = document if not isinstance(document, dict) else json.dumps(document).encode()
    headers = given.pop("headers", ((b"content-type", b"application/json"),))
    return UpstreamCall(given.pop("method", "POST"), path, headers, sent, affinity=affinity, **given)
