"""A revised answer in the shape that the client asked for. Pure.

Its frame is that of the answer it was made from; id, time and usage are its own. What was said beside the text
(reasoning, fingerprints of the serving system) belongs to the old answer and is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from semcache.core import Completion, Usage
from semcache.dialects.dialect import Dialect, Wanted


def revised(old: Completion, text: str, used: Usage | None) -> Completion:
    """Give the answer that says `text`.

    Args:
        old: the answer it was made from; a plain one (see `source.text_of`).
        text: what it says now.
        used: tokens that revising took.
    """
    document = orjson.loads(old.body)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if "refusal" in document["choices"][0]["message"]:
        message["refusal"] = None
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body: dict[str, Any] = {"object": "chat.completion", "model": document.get("model"), "choices": [choice]}
    if used is not None:
        body["usage"] = _usage(used)
    return Completion(orjson.dumps(body), used)


def written(
    answer: Completion, dialect: Dialect, id: str, now: float, *, stream: bool, with_usage: bool
) -> Iterator[bytes]:
    """Give the parts of a reply's body.

    Args:
        answer: what it says.
        dialect: in whose words.
        id: a fresh one, in hex digits.
        now: Unix seconds.
        stream: it was asked for as a stream.
        with_usage: a stream ends with its usage.
    """
    wanted = Wanted(stream, with_usage, "original")
    return dialect.layout(answer, wanted).events(id.encode(), b"%d" % int(now))


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }
