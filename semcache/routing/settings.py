"""The part of the configuration that is about upstreams, routes over them and names of models, checked at the border.

Says what each upstream speaks natively and where its paths begin. Knows no sockets and no secrets: a key is a
reference here. What one part says of another is checked in `routing.checks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from semcache.dialects.dialect import Family
from semcache.routing.base_url import checked

Seconds = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
"""Visible ASCII without spaces: it stands in headers and labels."""

Dialect = Literal[
    "openai.chat",
    "openai.completions",
    "openai.responses",
    "openai.embeddings",
    "anthropic.messages",
    "ollama.chat",
    "ollama.generate",
    "gemini.generate",
]
_CODES = {"late": "upstream_timeout", "disconnected": "upstream_disconnected"}
_SERVER_ERRORS = "5xx"


def _failure(value: int | str) -> int | str:
    known = value in (_SERVER_ERRORS, *_CODES) if isinstance(value, str) else 400 <= value <= 599
    if not known:
        raise ValueError("must be a status from 400 to 599, 5xx, late or disconnected")
    return value


Failure = Annotated[int | str, AfterValidator(_failure)]
"""A status, all server errors, no head in time, a connection closed without an answer."""

ENGINE_SPEAKS: frozenset[str] = frozenset({"openai.chat"})
"""What the local engine is told natively."""

SALTED: frozenset[str] = frozenset({"openai.chat", "openai.completions", "openai.responses"})
"""Dialects in which a node can be told whose a prompt is."""

CHAT = "openai.chat"
TRANSLATED: frozenset[str] = frozenset({"anthropic.messages", "ollama.chat", "gemini.generate"})
"""Dialects into which chat can be put: upstreams that speak one of them can be asked in chat's words too."""

_SPEAKS: dict[str, frozenset[str]] = {
    "openai": frozenset({"openai.chat", "openai.completions", "openai.responses", "openai.embeddings"}),
    "anthropic": frozenset({"anthropic.messages"}),
    "ollama": frozenset(
        {"ollama.chat", "ollama.generate", "openai.chat", "openai.completions", "openai.embeddings"}
    ),
    "gemini": frozenset({"gemini.generate"}),
}
_HOSTS: dict[str, Family] = {
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
}
_OLLAMA_PORT = 11434
_VERSIONS = ("/v1", "/v1beta")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class UpstreamSettings(_Strict):
    """One API. `api_key` is a reference, else the client's key passes. Times in seconds.

    `protocol: auto` goes by host and port. The `base_url` of an OpenAI-shaped API ends in /v1; elsewhere a /v1 or
    /v1beta at its end says nothing, since paths come whole from the client. `speaks` names the dialects that go
    there as they come; None: those of its protocol.
    """

    protocol: Literal["auto", "openai", "anthropic", "ollama", "gemini"] = "auto"
    base_url: str
    speaks: Annotated[tuple[Dialect, ...], Field(min_length=1)] | None = None
    api_key: str | None = None
    connect_timeout: Seconds = 5.0
    first_byte_timeout: Seconds = 600.0
    idle_timeout: Seconds = 120.0
    stream_usage: bool = False
    predicted_outputs: bool = False
    max_connections: Annotated[int, Field(gt=0)] = 1000
    max_concurrent: Annotated[int, Field(gt=0)] | None = None
    max_queue: Annotated[int, Field(ge=0)] = 100
    queue_seconds: Annotated[float, Field(ge=0, le=3600)] = 5.0
    breaker_threshold: Annotated[int, Field(gt=0)] = 5
    breaker_pause: Seconds = 2.0
    breaker_on: tuple[Failure, ...] = ()
    cache_salt: bool = False

    @field_validator("base_url")
    @classmethod
    def _is_base_url(cls, value: str, info: ValidationInfo) -> str:
        return checked(value, _protocol(info.data.get("protocol", "auto"), value))

    @model_validator(mode="after")
    def _has_the_field(self) -> UpstreamSettings:
        if self.cache_salt and not self.native:
            raise ValueError(f"cache_salt goes with {', '.join(sorted(SALTED))}: it speaks none of them")
        return self

    @property
    def speech(self) -> Family:
        """The protocol, decided."""
        return _protocol(self.protocol, self.base_url)

    @property
    def native(self) -> frozenset[str]:
        """The dialects that go there as they come; with `cache_salt` those that have a field for it."""
        spoken = frozenset(self.speaks) if self.speaks is not None else _SPEAKS[self.speech]
        return spoken & SALTED if self.cache_salt else spoken

    @property
    def base(self) -> str:
        """What stands before the paths that clients ask for: the base URL without its version."""
        for version in _VERSIONS:
            if self.base_url.endswith(version):
                return self.base_url.removesuffix(version)
        return self.base_url


class TargetSettings(_Strict):
    """One upstream of a route, by name.

    `weight` 0: drained, asked only when nobody else can be. `model`: under which name it knows the model that was
    asked for. `stored`: whether its answers count as the route's own and may be kept; None: those of `upstreams`
    that answer under the same name as the first do, fallbacks do not.
    """

    name: str
    weight: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    model: Annotated[str, Field(min_length=1)] | None = None
    stored: bool | None = None


class RouteSettings(_Strict):
    """Several upstreams under one name.

    `balance: weighted` shares conversations out by weight; `prefix` is for nodes that hold computed prompts: it
    bounds their load more tightly, and keeps the conversations of one system prompt on `nodes_per_prompt` of them
    (`auto`: as many as its share of the traffic is worth). A node takes a conversation that is not its own while
    its own node has `spread_above` calls under way and more than `load_factor` times its fair share. `client_keys`:
    who gets a client's own key.
    """

    upstreams: Annotated[tuple[TargetSettings, ...], Field(min_length=1)]
    fallback: tuple[TargetSettings, ...] = ()
    balance: Literal["weighted", "prefix"] = "weighted"
    load_factor: Annotated[float, Field(ge=1, le=100)] = 1.25
    spread_above: Annotated[int, Field(ge=1)] | None = None
    nodes_per_prompt: Literal["auto", "all"] | Annotated[int, Field(ge=1)] = "auto"
    retry_on: tuple[Failure, ...] = (429, "5xx")
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    client_keys: Literal["first", "all"] = "first"

    @field_validator("upstreams", "fallback", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        """A bare name is a target with nothing said about it."""
        return (
            [{"name": item} if isinstance(item, str) else item for item in value] if _many(value) else value
        )

    @field_validator("nodes_per_prompt")
    @classmethod
    def _is_for_prefixes(cls, value: int | str, info: ValidationInfo) -> int | str:
        if value != "auto" and info.data.get("balance") != "prefix":
            raise ValueError("goes with balance: prefix")
        return value

    @property
    def floor(self) -> int:
        """Calls under way on a node below which it is never too busy for its own conversations."""
        if self.spread_above is not None:
            return self.spread_above
        return 4 if self.balance == "prefix" else 32


class AliasSettings(_Strict):
    """What a model's name stands for: another name (None: the same) at an upstream or route (None: as without)."""

    model: Annotated[str, Field(min_length=1)] | None = None
    upstream: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        """A bare name is the model it stands for."""
        return {"model": value} if isinstance(value, str) else value


def statuses_of(failures: Iterable[int | str]) -> frozenset[int]:
    """Give the statuses among failures."""
    found: set[int] = set()
    for failure in failures:
        if failure == _SERVER_ERRORS:
            found |= set(range(500, 600))
        elif isinstance(failure, int):
            found.add(failure)
    return frozenset(found)


def codes_of(failures: Iterable[int | str]) -> frozenset[str]:
    """Give the codes of `UpstreamError` among failures."""
    return frozenset(_CODES[failure] for failure in failures if failure in _CODES)


def _many(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _protocol(said: str, base_url: str) -> Family:
    parts = urlsplit(base_url)
    match said:
        case "openai" | "anthropic" | "ollama" | "gemini":
            return said
        case _ if parts.hostname in _HOSTS:
            return _HOSTS[parts.hostname]
        case _ if parts.port == _OLLAMA_PORT:
            return "ollama"
        case _:
            return "openai"
