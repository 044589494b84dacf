"""What Ollama answers to a request without a question, which loads a model or lets it go. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.ollama.request import CHAT_PATH

_NEVER = (0, "0", "0s", "0m", "0h")


def loaded(path: str, body: JsonObject, now: float) -> bytes:
    """Give the reply: one document, or one line of a stream.

    Args:
        path: which of the two endpoints was asked.
        body: the request; one that keeps the model no longer lets it go.
        now: Unix seconds.
    """
    said: dict[str, Any] = {"message": {"role": "assistant", "content": ""}}
    return (
        orjson.dumps(
            {
                "model": body.get("model"),
                "created_at": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                **(said if path == CHAT_PATH else {"response": ""}),
                "done": True,
                "done_reason": "unload" if _lets_go(body.get("keep_alive")) else "load",
            }
        )
        + b"\n"
    )


def _lets_go(kept: Any) -> bool:
    return kept in _NEVER and not isinstance(kept, bool)
