"""What every dialect must hold to, told through its Protocol alone; `test_contract` runs it on all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from semcache.core import Completion
from semcache.dialects.chat.answer import complete
from semcache.dialects.chat.assemble import StreamAssembler
from semcache.dialects.chat.render import sse_parts
from semcache.dialects.dialect import Dialect, Incomplete, Layout, Wanted

ID, CREATED = b"0123456789abcdef01234567", b"1800000001"
OTHER_ID, LATER = b"fedcba9876543210fedcba98", b"1900000002"
_OF_THE_CALL = frozenset(("usage", "id", "created", "object", "system_fingerprint", "service_tier"))


@dataclass(frozen=True, slots=True)
class Nature:
    """What is so of one dialect and not of all.

    Attributes:
        says: features of chat answers that it has words for (`answers.FEATURES`); all others it must refuse to replay.
        has_ids: its replies have an id.
        has_call_ids: its tool calls have ids of their own.
        refuses: it has a word for answers in which a model refuses; else they are texts like any other.
        no_identity: names of top-level fields of requests that cannot change an answer, beside those of chat.
    """

    says: frozenset[str]
    has_ids: bool = True
    has_call_ids: bool = True
    refuses: bool = True
    no_identity: frozenset[str] = frozenset()


def stored(document: dict[str, Any]) -> Completion:
    """Keep a chat answer as the cache does."""
    outcome = complete(document)
    assert isinstance(outcome, Completion), outcome
    return outcome


def wanted(*, stream: bool, usage: str = "original") -> Wanted:
    return Wanted(stream, include_usage=True, usage="zero" if usage == "zero" else "original")


def media_type(dialect: Dialect, *, stream: bool) -> str:
    return dialect.stream_type.decode().partition(";")[0] if stream else "application/json"


def parts(data: bytes, size: int) -> Iterator[bytes]:
    """Cut bytes as a network might: the first part is short, so that cuts fall everywhere."""
    first = size % 7 + 1
    yield data[:first]
    for start in range(first, len(data), size):
        yield data[start : start + size]


def assembled(dialect: Dialect, data: bytes, *, stream: bool, size: int = 1 << 20) -> Completion | Incomplete:
    """Put an answer together by the dialect's own assembler."""
    assembler = dialect.assembler(media_type(dialect, stream=stream))
    assert assembler is not None
    for part in parts(data, size):
        assembler.feed(part)
    return assembler.finish()


def chat_stream(completion: Completion) -> list[dict[str, Any]]:
    """Give the chunks by which a chat upstream would stream an answer."""
    stream = sse_parts(completion, include_usage=True, usage="original", piece=16).whole(ID, CREATED)
    events = stream.decode().split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events if event and "[DONE]" not in event]
    return [{key: value for key, value in chunk.items() if key not in ("id", "created")} for chunk in chunks]


def of_chunks(chunks: list[dict[str, Any]]) -> Completion | Incomplete:
    """Put chat chunks together that came to their end."""
    assembler = StreamAssembler()
    for chunk in chunks:
        assembler.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    assembler.feed(b"data: [DONE]\n\n")
    return assembler.finish()


def answer_of(completion: Completion | Incomplete, nature: Nature | None = None) -> Any:
    """Give what an answer says, in one spelling: without what is empty, of the call alone, or only written differently."""
    assert isinstance(completion, Completion), completion
    return said(json.loads(completion.body), nature)


def said(document: Mapping[str, Any], nature: Nature | None = None) -> Any:
    answer = {key: value for key, value in document.items() if key not in _OF_THE_CALL}
    keeps_ids = nature is None or nature.has_call_ids
    return _plain(answer, keeps_ids=keeps_ids)


def _plain(value: Any, *, keeps_ids: bool) -> Any:
    match value:
        case dict():
            out: dict[str, Any] = {}
            for key, item in value.items():
                if key == "id" and not keeps_ids:
                    continue
                if key == "arguments" and isinstance(item, str):
                    out[key] = json.loads(item or "{}")
                    continue
                plain = _plain(item, keeps_ids=keeps_ids)
                if plain not in (None, "", [], {}):
                    out[key] = plain
            return out
        case list():
            return [_plain(item, keeps_ids=keeps_ids) for item in value]
        case _:
            return value


def used(completion: Completion | Incomplete) -> tuple[int, int] | None:
    """Give the tokens that an answer tells of: read and written."""
    usage = completion.usage
    return None if usage is None else (usage.prompt_tokens, usage.completion_tokens)


def whole_of(dialect: Dialect, completion: Completion) -> dict[str, Any]:
    """Give the native answer of a replay, without what is fresh in it."""
    layout: Layout = dialect.layout(completion, wanted(stream=False))
    return dialect.bare(json.loads(layout.whole(ID, CREATED)))


def escaped(data: bytes) -> bytes:
    """Write everything outside ASCII as JSON's escapes, as many servers do."""
    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], data.decode()).encode()


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Give every object inside a JSON value with its place, but for those that count tokens."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        yield path, value
    for key, item in items:
        if key not in ("usage", "usageMetadata", "arguments", "input", "args"):
            yield from objects(item, (*path, key))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Give every plain value inside a JSON value with its place."""
    match value:
        case dict():
            for key, item in value.items():
                yield from leaves(item, (*path, key))
        case list():
            for number, item in enumerate(value):
                yield from leaves(item, (*path, number))
        case _:
            yield path, value


def mutated(value: Any, path: tuple[Any, ...]) -> Any:
    """Give a copy in which the plain value at a place is another one."""
    copy = json.loads(json.dumps(value))
    place = copy
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    match old:
        case bool():
            place[path[-1]] = not old
        case int() | float():
            place[path[-1]] = old + 1
        case str():
            place[path[-1]] = old + "~"
        case _:
            place[path[-1]] = "~"
    return copy


def events_of(data: bytes) -> list[dict[str, Any]]:
    """Give the JSON objects of a stream, whatever frames them."""
    found: list[dict[str, Any]] = []
    for line in data.decode().split("\n"):
        text = line.removeprefix("data: ")
        if text.startswith("{"):
            found.append(json.loads(text))
    return found


def with_event(data: bytes, number: int, event: dict[str, Any]) -> bytes:
    """Give a stream in which one of its JSON objects is replaced."""
    lines = data.decode().split("\n")
    places = [place for place, line in enumerate(lines) if line.removeprefix("data: ").startswith("{")]
    place = places[number]
    lead = "data: " if lines[place].startswith("data: ") else ""
    lines[place] = lead + json.dumps(event)
    return "\n".join(lines).encode()
