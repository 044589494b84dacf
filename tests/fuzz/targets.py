"""What is fuzzed: functions that take any bytes and must keep their promises, whatever the bytes say.

Each raises AssertionError, or whatever should not have been raised, where a promise is broken. The first bytes choose
among the ways in, so that one corpus serves them all. Used by the tests beside this and by scripts/trust/fuzz.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from semcache.core import ChatRequest, Completion, TenantId
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete, Wanted
from semcache.dialects.gemini.wire import GEMINI_ARRAY
from semcache.dialects.table import ALL
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError, StoreError
from semcache.policy.loader import read_file
from semcache.policy.snapshot import build_snapshot
from semcache.proxy.directives import directives_of
from semcache.proxy.headers import read_request_headers
from semcache.proxy.recent import read_request
from semcache.store.codec import decode, encode

TENANT = TenantId("acme")
PATHS = {
    "openai.chat": "/v1/chat/completions",
    "openai.completions": "/v1/completions",
    "openai.embeddings": "/v1/embeddings",
    "openai.responses": "/v1/responses",
    "anthropic.messages": "/v1/messages",
    "ollama.chat": "/api/chat",
    "ollama.generate": "/api/generate",
    "gemini.generate": "/v1beta/models/m:streamGenerateContent",
}
STREAMS: tuple[Dialect, ...] = (*(one for one in ALL if one.name != "openai.embeddings"), GEMINI_ARRAY)
WANTED = Wanted(stream=True, include_usage=True, usage="original")
PARTITION = Partition(TENANT, "tenant", "", "", "u")


def request(data: bytes) -> None:
    """A request is refused by name, or read as one that can be keyed, sent on and read again as the same."""
    if not data:
        return
    dialect, body = ALL[data[0] % len(ALL)], data[1:]
    try:
        parsed = read_request(dialect, body, PATHS[dialect.name])
    except RequestError as error:
        _refused(error)
        return
    try:
        directives_of({}, parsed.cache_object)
    except RequestError as error:
        _refused(error)
    if not parsed.whole:
        return
    read = parsed.request
    sent = orjson.dumps(read.native if read.native is not None else read.body)
    again = read_request(dialect, sent, PATHS[dialect.name]).request
    assert _keyed(read) == _keyed(again)


def _refused(error: RequestError) -> None:
    assert 400 <= error.status < 500
    assert str(error)


def _keyed(read: ChatRequest) -> tuple[str, str]:
    namespace = namespace_of(read, PARTITION)
    return namespace.digest, exact_key(namespace, read)


def headers(data: bytes) -> None:
    """Headers are refused by name, or read as directives that only tighten."""
    pairs = []
    for line in data.split(b"\n")[:100]:
        name, _, value = line.partition(b":")
        pairs.append((name.strip().lower(), value.strip()))
    read = read_request_headers(pairs)
    kept = {name for name, _ in read.forward}
    assert not kept & {b"authorization", b"x-api-key", b"cookie", b"host", b"content-length"}
    assert not any(name.startswith(b"semcache-") for name in kept)
    try:
        asked = directives_of(read.ours, None)
    except RequestError as error:
        _refused(error)
        return
    assert asked.max_age is None or 0 <= asked.max_age < float("inf")
    assert asked.ttl is None or 0 <= asked.ttl < float("inf")
    assert asked.threshold is None or 0 <= asked.threshold <= 1
    for text in (
        *asked.tags,
        asked.user,
        asked.namespace,
        asked.domain,
        *(w for pair in asked.labels for w in pair),
    ):
        assert "\n" not in text
        assert "\r" not in text


def stream(data: bytes) -> None:
    """A stream is whole or it is not, however it is cut; what is whole can be replayed as it was."""
    if len(data) < 2:
        return
    dialect, size, body = STREAMS[data[0] % len(STREAMS)], data[1] % 64 + 1, data[2:]
    for media in (dialect.stream_type.decode().partition(";")[0], "application/json"):
        outcome = _assembled(dialect, media, [body])
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert _assembled(dialect, media, pieces) == outcome
        if isinstance(outcome, Completion):
            _replays(dialect, outcome)
    reader = dialect.live_reader()
    writer = CHAT.live_writer(WANTED, "f00d" * 6, 1)
    for chunk in (*reader.feed(body), *reader.finish()):
        assert isinstance(writer.feed(chunk), bytes)


def _assembled(dialect: Dialect, media: str, pieces: list[bytes]) -> Completion | Incomplete | None:
    assembler = dialect.assembler(media)
    if assembler is None:
        return None
    for piece in pieces:
        assembler.feed(piece)
    found = assembler.finish()
    return found if isinstance(found, Incomplete) else replace(found, usage=None)


def _replays(dialect: Dialect, outcome: Completion) -> None:
    json.loads(outcome.body)
    for wanted in (WANTED, replace(WANTED, stream=False)):
        if not dialect.can_replay(outcome, stream=wanted.stream):
            continue
        media = dialect.stream_type.decode().partition(";")[0] if wanted.stream else "application/json"
        written = dialect.layout(outcome, wanted).whole(b"f00d" * 6, b"1800000000")
        again = _assembled(dialect, media, [written])
        assert isinstance(again, Completion), again
        assert again.has_tool_calls == outcome.has_tool_calls


def policy(data: bytes) -> None:
    """A policy file is refused with its problems told, or makes a snapshot."""
    source, problems = read_file(data, "fuzz.yaml")
    assert (source is None) == bool(problems)
    for problem in problems:
        assert problem.message
    if source is not None:
        assert build_snapshot([source]).tenants == (TenantId(source.policy.tenant),)


def entry(data: bytes) -> None:
    """Bytes from the store are corrupt, or an entry that can be written again."""
    try:
        found = decode(data, TENANT)
    except StoreError as error:
        if error.kind == "corrupt":
            return
        raise
    assert decode(encode(found), TENANT).id == found.id


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "request": request,
    "headers": headers,
    "stream": stream,
    "policy": policy,
    "entry": entry,
}


def named(data: bytes) -> str:
    """Give a name for a corpus file that holds this."""
    return hashlib.blake2b(data, digest_size=6).hexdigest()
