"""What our own paths take and give, as the OpenAPI document at `/semcache/openapi.json` tells it.

Words for readers and programs only: what is taken is checked where it is read, and nothing here is run by a request.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

DOCUMENT = "/semcache/openapi.json"


class Alive(BaseModel):
    """A process that lives."""

    status: Literal["alive"]


class Ready(BaseModel):
    """Whether requests are served; all but `status` is for callers of this machine, or with the metrics token."""

    model_config = ConfigDict(extra="allow")

    status: Literal["ready", "degraded", "starting"]
    degraded: list[str] = Field([], description="Parts that are not as they should be.")
    starting: list[str] = Field([], description="Parts that are on their way.")


class Explained(BaseModel):
    """Why a request would be decided as it would."""

    model_config = ConfigDict(extra="allow")

    decision: Literal["bypass", "hit", "draft", "miss"]
    reason: str
    similarity: float | None
    score: float | None
    vetoes: list[str]
    entry: str | None
    tenant: str
    domain: str
    mode: str
    threshold: float


class FeedbackGiven(BaseModel):
    """What a caller says of an answer that it got from the cache; exactly one of `entry` and `request`."""

    model_config = ConfigDict(extra="forbid")

    verdict: Literal["right", "wrong"]
    entry: str | None = Field(None, max_length=128, description="Semcache-Entry of the reply.")
    request: str | None = Field(None, max_length=128, description="X-Request-Id of the reply.")
    note: str | None = Field(None, max_length=200, description="Kept for reviewers.")


class FeedbackTaken(BaseModel):
    """What became of it."""

    object: Literal["semcache.feedback"]
    counted: bool = Field(description="False: it was known.")
    verdict: Literal["right", "wrong"]
    entry: str
    request: str
    barred: bool = Field(description="This answer will not be given to this question again.")
    reason: str | None = None


_NAME = {"type": ["string", "null"]}
_REFUSAL: dict[str, Any] = {
    "type": "object",
    "description": "What is wrong, in the words of OpenAI's API.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code", "param"],
            "properties": {"message": {"type": "string"}, "type": _NAME, "code": _NAME, "param": _NAME},
        }
    },
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Give the `responses` of a route that refuses with these statuses."""
    content = {"application/json": {"schema": _REFUSAL}}
    return {status: {"description": "Refused; `error` says why.", "content": content} for status in statuses}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the `openapi_extra` of a route that reads its body by itself."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


CHAT_BODY: dict[str, Any] = {
    "type": "object",
    "description": "A request as the API at `path` takes it; what only its upstream can judge is not judged here.",
    "examples": [{"model": "local", "messages": [{"role": "user", "content": "What is a semantic cache?"}]}],
}
