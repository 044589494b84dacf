"""What every Python program of the clients shares: jobs come in as lines of JSON, and what was seen goes out as lines.

Runs inside the client's own environment, so it may import the standard library only.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Any

TOOL = "look_up"
TOOL_WORDS = "Looks a subject up."
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"subject": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["subject", "limit"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "days": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["place", "days", "text"],
    "additionalProperties": False,
}


GIVEN = {"subject": "France", "limit": 3}
RESULT = "It is done."


class Job(dict[str, Any]):
    """One thing to do; see `tests/clients/running.py` for its fields."""

    __getattr__ = dict.__getitem__


def chat_messages(job: Job) -> list[dict[str, Any]]:
    """Give the conversation in chat's words."""
    user = {"role": "user", "content": job.question}
    if not job.told:
        return [user]
    call = {"id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(GIVEN)}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [user, said, {"role": "tool", "tool_call_id": "call_1", "content": RESULT}]


def response_items(job: Job) -> list[dict[str, Any]]:
    """Give the conversation in the words of responses."""
    user = {"role": "user", "content": job.question}
    if not job.told:
        return [user]
    call = {"type": "function_call", "call_id": "call_1", "name": TOOL, "arguments": json.dumps(GIVEN)}
    return [user, call, {"type": "function_call_output", "call_id": "call_1", "output": RESULT}]


def message_turns(job: Job) -> list[dict[str, Any]]:
    """Give the conversation in Anthropic's words."""
    user = {"role": "user", "content": job.question}
    if not job.told:
        return [user]
    call = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": GIVEN}
    given = {"type": "tool_result", "tool_use_id": "toolu_1", "content": RESULT}
    return [user, {"role": "assistant", "content": [call]}, {"role": "user", "content": [given]}]


def ollama_messages(job: Job) -> list[dict[str, Any]]:
    """Give the conversation in Ollama's words."""
    user = {"role": "user", "content": job.question}
    if not job.told:
        return [user]
    call = {"function": {"name": TOOL, "arguments": GIVEN}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    return [user, said, {"role": "tool", "tool_name": TOOL, "content": RESULT}]


def gemini_contents(job: Job) -> list[dict[str, Any]]:
    """Give the conversation in Gemini's words."""
    user = {"role": "user", "parts": [{"text": job.question}]}
    if not job.told:
        return [user]
    call = {"functionCall": {"name": TOOL, "args": GIVEN}}
    given = {"functionResponse": {"name": TOOL, "response": {"result": RESULT}}}
    return [user, {"role": "model", "parts": [call]}, {"role": "user", "parts": [given]}]


class Seen(dict[str, Any]):
    """What a client showed."""

    def __init__(self) -> None:
        super().__init__(
            text="",
            pieces=0,
            finish=None,
            usage=None,
            calls=[],
            parsed=None,
            error=None,
            headers={},
            left=False,
        )

    def piece(self, text: str | None) -> None:
        """Take a piece of a streamed text."""
        if text:
            self["text"] += text
            self["pieces"] += 1

    def used(self, given: int | None, made: int | None, saved: Any = None) -> None:
        self["usage"] = {"input": given, "output": made, "saved": bool(saved)}

    def called(self, name: str, arguments: Any) -> None:
        self["calls"].append(
            {"name": name, "arguments": json.loads(arguments) if isinstance(arguments, str) else arguments}
        )

    def headed(self, headers: Any) -> None:
        """Take what the SDK shows of the reply's headers."""
        self["headers"] = {str(name).lower(): str(value) for name, value in dict(headers).items()}

    def leaves(self, job: Job) -> bool:
        """Whether it is time to leave the stream."""
        self["left"] = bool(job.leave_after) and self["pieces"] >= job.leave_after
        return bool(self["left"])


def failure(error: BaseException) -> dict[str, Any]:
    """Describe an exception by what its users would look at."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    inner = inner if isinstance(inner, dict) else {}
    return {
        "class": type(error).__name__,
        "status": getattr(error, "status_code", None) or getattr(error, "code", None),
        "type": getattr(error, "type", None) or inner.get("type"),
        "code": getattr(error, "code", None) or inner.get("code"),
        "param": getattr(error, "param", None) or inner.get("param"),
        "message": str(error),
        "causes": _causes(error),
    }


def _causes(error: BaseException) -> list[str]:
    found = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(found) < 8:
        found.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return found


def serve(ask: Callable[[Job, Seen], None], *packages: str) -> None:
    """Say what versions these packages have, then do jobs."""
    run(ask, {name: importlib.metadata.version(name) for name in packages})


def run(ask: Callable[[Job, Seen], None], versions: dict[str, str]) -> None:
    """Say what versions these are, then do jobs until the input ends."""
    _say(versions)
    for line in sys.stdin:
        job, seen, begun = Job(json.loads(line)), Seen(), time.monotonic()
        try:
            ask(job, seen)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what we came to see
            seen["error"] = failure(error)
        seen["seconds"] = time.monotonic() - begun
        _say(seen)


def _say(found: Any) -> None:
    sys.stdout.write(json.dumps(found, default=str) + "\n")
    sys.stdout.flush()
