"""Events of a generation as the objects and lines of the OpenAI chat protocol.

Pure functions of their arguments; ids and times are the caller's. Source: OpenAI API
reference, chat completion object and chat completion chunk object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.engine.generation import Delta, Done, Finished, FinishReason, TokenChance, TokenLogprob
from semcache.errors import RequestError, SemcacheError

LEAST_LOGPROB = -9999.0
"""Stands for minus infinity, which JSON cannot say."""

END_OF_STREAM = b"data: [DONE]\n\n"
HEARTBEAT = b": waiting\n\n"


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What all objects of one answer share. `created` is in Unix seconds."""

    id: str
    created: int
    model: str
    fingerprint: str

    def fields(self, kind: str) -> dict[str, Any]:
        """Give the common fields of an object of this kind."""
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }


class WholeAnswer:
    """Gathers the events of a generation into one chat completion object."""

    def __init__(self, choices: int, with_logprobs: bool) -> None:
        self._texts: list[list[str]] = [[] for _ in range(choices)]
        self._logprobs: list[list[TokenLogprob]] = [[] for _ in range(choices)]
        self._reasons: list[FinishReason | None] = [None] * choices
        self._with_logprobs = with_logprobs

    def add(self, event: Delta | Finished) -> None:
        """Take one event."""
        match event:
            case Delta(index, text, logprobs):
                self._texts[index].append(text)
                self._logprobs[index].extend(logprobs)
            case Finished(index, reason):
                self._reasons[index] = reason

    def body(self, head: AnswerHead, done: Done) -> bytes:
        """Write the object as JSON."""
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": "".join(self._texts[index]), "refusal": None},
                "logprobs": _logprobs(self._logprobs[index]) if self._with_logprobs else None,
                "finish_reason": self._reasons[index],
            }
            for index in range(len(self._texts))
        ]
        return orjson.dumps(head.fields("chat.completion") | {"choices": choices, **account(done)})


def chunk(
    head: AnswerHead,
    index: int,
    delta: dict[str, str],
    *,
    logprobs: Sequence[TokenLogprob] = (),
    reason: FinishReason | None = None,
    with_usage: bool = False,
) -> bytes:
    """Write one event line of a stream; `usage` is null in all but the last when it was asked for."""
    choice = {
        "index": index,
        "delta": delta,
        "logprobs": _logprobs(logprobs) if logprobs else None,
        "finish_reason": reason,
    }
    document = head.fields("chat.completion.chunk") | {"choices": [choice]}
    if with_usage:
        document["usage"] = None
    return event_line(document)


def usage_chunk(head: AnswerHead, done: Done) -> bytes:
    """Write the last chunk of a stream that asked for usage."""
    return event_line(head.fields("chat.completion.chunk") | {"choices": [], **account(done)})


def event_line(document: dict[str, Any]) -> bytes:
    """Write one server-sent event."""
    return b"data: " + orjson.dumps(document) + b"\n\n"


def account(done: Done) -> dict[str, Any]:
    """Give what an answer cost and which computed prefix it reused, as the fields `usage` and `prefix`."""
    reused = {
        "cached_tokens": done.cached_tokens,
        "public_tokens": done.reuse.public_tokens,
        "age_seconds": round(done.reuse.age_seconds, 3),
        "digest": done.reuse.digest,
    }
    return {"usage": usage(done), "prefix": reused}


def usage(done: Done) -> dict[str, Any]:
    """Give the usage object."""
    return {
        "prompt_tokens": done.prompt_tokens,
        "completion_tokens": done.completion_tokens,
        "total_tokens": done.prompt_tokens + done.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": done.cached_tokens},
        "completion_tokens_details": {
            "accepted_prediction_tokens": done.accepted_draft,
            "rejected_prediction_tokens": done.rejected_draft,
        },
    }


def error_object(error: SemcacheError) -> dict[str, Any]:
    """Give the protocol's error object."""
    message, kind, param = str(error), "server_error", None
    if isinstance(error, RequestError):
        message, kind, param = error.message, error.type, error.param
    return {"error": {"message": message, "type": kind, "param": param, "code": error.code or None}}


def model_object(name: str, created: int) -> dict[str, Any]:
    """Give the model object."""
    return {"id": name, "object": "model", "created": created, "owned_by": "semcache"}


def _logprobs(tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
    content = [
        _chance(token.chosen) | {"top_logprobs": [_chance(other) for other in token.alternatives]}
        for token in tokens
    ]
    return {"content": content, "refusal": None}


def _chance(chance: TokenChance) -> dict[str, Any]:
    return {
        "token": chance.token.decode("utf-8", "backslashreplace"),
        "logprob": max(chance.logprob, LEAST_LOGPROB),
        "bytes": list(chance.token),
    }
