"""Does an answer hold something that is one person's, and that its request did not bring for everybody? Pure.

Read is all that a client would see: the texts of every choice, reasoning, the arguments of tool calls, and the answer in a native
dialect's own words. A stream that could not be put together is joined along its fields, since a number may be cut at any chunk. What
the system prompt or the tools of the request hold is known to all who send them, and nobody else is served. Work comes in pieces of
bounded size, so that whoever waits for it can let others in between.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from semcache.core import ChatRequest, Completion
from semcache.decide.identifiers import Sign
from semcache.decide.private_kinds import KINDS
from semcache.decide.text import fold

PIECE = 4_096
"""Characters that are searched at a time; values that stand across two pieces are found by the overlap."""
_OVERLAP = 512
_UNREAD = frozenset(
    (
        "id", "object", "created", "model", "role", "type", "finish_reason", "stop_reason", "system_fingerprint", "tool_call_id", "call_id",
        "item_id", "response_id", "signature", "thoughtSignature", "thought_signature", "encrypted_content", "data", "b64_json", "service_tier", "usage",
        "logprobs", "top_logprobs", "prompt_logprobs", "bytes", "token_ids", "timings", "metrics", "embedding",
    )
)  # fmt: skip
"""Fields in which nothing is said: names of things, signatures, bytes of pictures."""
_DEEPEST = 64

Value = tuple[Sign, str]


@lru_cache(maxsize=1)
def _unseen() -> re.Pattern[str]:
    return re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Cut texts into pieces for `values`."""
    for text in texts:
        for start in range(0, max(1, len(text)), PIECE):
            yield text[start : start + PIECE + _OVERLAP]


def values(piece: str) -> frozenset[Value]:
    """Give what a piece holds of the kinds in the table, what is everybody's left out. Linear, some milliseconds at most."""
    text = _unseen().sub("", fold(piece)).replace("%40", "@")
    if "&" in text:
        text = html.unescape(text)
    return frozenset(
        (kind.sign, value)
        for kind in KINDS
        if not kind.marks or any(mark in text for mark in kind.marks)
        for value in kind.values(text)
    )


def texts_of(completion: Completion) -> Iterator[str]:
    """Yield every text that a client sees of an answer."""
    for body in (completion.body, completion.native):
        yield from _texts(_loaded(body))
    chunks = _loaded(completion.chunks)
    if isinstance(chunks, list):
        joined: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for chunk in chunks:
            for path, text in _leaves(chunk, ()):
                joined[path].append(text)
        for parts in joined.values():
            yield from _opened("".join(parts))


def shared_texts(request: ChatRequest) -> Iterator[str]:
    """Yield what of a request is part of its namespace, so that everybody who could be served has sent it."""
    yield request.system
    for field in ("tools", "functions", "response_format"):
        yield from _texts(request.body.get(field))


def _texts(value: Any) -> Iterator[str]:
    for _, text in _leaves(value, ()):
        yield from _opened(text)


def _opened(text: str) -> Iterator[str]:
    """Give a text, and what stands in it where it is JSON, as the arguments of a tool call are."""
    yield text
    if text[:1] in ("{", "["):
        inner = _loaded(text.encode("utf-8", "surrogatepass"))
        yield from (told for _, told in _leaves(inner, ()) if "\\" in text)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif len(path) >= _DEEPEST:
        return
    elif isinstance(value, Mapping):
        index = str(value.get("index", ""))
        for name, inner in value.items():
            if name not in _UNREAD:
                yield from _leaves(inner, (*path, index, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, (*path, ""))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, str(value)


def _loaded(body: bytes | None) -> Any:
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")
