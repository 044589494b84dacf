"""The parts of a chat body: messages, tools, output forms, and what this engine adds to the protocol.

Shapes only; which of them can be honoured together is checked in `schema`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Border(BaseModel):
    """What all parts share: no conversions, unknown fields ignored, nothing changed later."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


Key = Annotated[str, Field(min_length=1, max_length=128)]
"""An opaque name of an owner; compared as it is."""


class Part(Border):
    """A piece of a message's content; only text can be read."""

    type: str
    text: str | None = None


class CalledFunction(Border):
    """What an earlier answer asked to be called; `arguments` is JSON as text."""

    name: str
    arguments: str = "{}"


class ToolCall(Border):
    """A tool call in an earlier answer."""

    id: str = ""
    type: Literal["function"] = "function"
    function: CalledFunction


class Message(Border):
    """One turn."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class Function(Border):
    """A function that the model may ask for; `parameters` is a JSON schema."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Border):
    """A tool on offer."""

    type: Literal["function"]
    function: Function


class StreamOptions(Border):
    """How a stream is to look."""

    include_usage: bool | None = None


class JsonSchema(Border):
    """A JSON schema to keep to. `strict` refuses what cannot be enforced, else that is left out."""

    name: str | None = None
    strict: bool | None = None
    schema_: dict[str, Any] = Field(alias="schema")


class ResponseFormat(Border):
    """The form that the answer is to have."""

    type: str
    json_schema: JsonSchema | None = None


class Prediction(Border):
    """What the answer will probably be; changes how fast it comes, not what it says."""

    type: Literal["content"]
    content: str | list[Part]


class PrefixCache(Border):
    """Who may reuse which part of this prompt's computed state.

    The first `public_messages` messages (with the tools, where the template prints them first)
    are for everybody who sends the same, those up to `tenant_messages` for all users of
    `tenant`, the rest for `user`, or for the tenant when there is none. Keys are taken at their
    word: whoever reaches this server can name any tenant, so only a trusted proxy should.
    """

    tenant: Key
    user: Key | None = None
    public_messages: int = Field(0, ge=0)
    tenant_messages: int = Field(0, ge=0)
