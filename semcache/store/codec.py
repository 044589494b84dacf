"""Entries as versioned bytes and back (pure).

Layout, numbers big-endian but for the vector; the head is not packed because the scripts on the server read it:

    magic "SC", format 1, status, entry version u32, exact-key digest [12], count n u8,
    born epoch of the tenant u32, n x (digest of epoch key [12], born epoch u32)   <- the head
    vector kind u8, packing u8, dimension u16, unpacked size u32
    vector, packed meta + body + chunks
    blake2b-128 over everything before

Meta is a JSON list; its last item, where there is one, is an object of what is not as usual: what a human
settled, where the answer came from. Whoever reads it passes over names that it does not know, so more may come.
Questions that an entry is barred from (`Entry.barred`) are not in its bytes: they outlive it. Nor are users who got its
answer from the model after its author (`Entry.confirmed`): they come one by one, and the bytes stay as they are.

The vector is kept in float16 and set to unit length again when read, which halves the largest
part of an entry. At 384 dimensions this moves the cosine of two near texts (0.98) by less than
2e-5 and that of any two by less than 1e-4, or 5e-4 when four dimensions carry nearly all of the
length: thresholds are stated in steps of 1e-2 (tests/store/test_codec.py holds these figures).
Meta and texts are deflated with a dictionary of the protocol's own words when that makes them
smaller.

This module knows nothing of Redis, clocks or tenants' rights: the caller says whose bytes it
asked for, and anything else is corrupt.
"""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from semcache.core import (
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    Epochs,
    ExactKey,
    Review,
    ReviewStatus,
    TenantId,
    Usage,
    Vector,
)
from semcache.errors import StoreError
from semcache.store.keys import DIGEST_SIZE, digest, epoch_field, epoch_keys

MAGIC = b"SC"
FORMAT = 1
MAX_TAGS = 58
"""So that the head stays under 1 KiB, which is what the scripts read of it."""
MAX_UNPACKED = 64 << 20
PACK_LIMIT = 256 << 10
"""Larger texts are stored as they are: packing them would take milliseconds."""

_HEAD = struct.Struct(f">2sBcI{DIGEST_SIZE}sBI")
_TRACE = struct.Struct(f">{DIGEST_SIZE}sI")
_BODY = struct.Struct(">BBHI")
_CHECK = 16
_NO_VECTOR, _FLOAT16 = 0, 2
_PLAIN, _DEFLATED = 0, 1
_LEAST_COUNTS, _COUNTS = 3, 6
_STATUS = {
    ReviewStatus.UNREVIEWED: b"u",
    ReviewStatus.APPROVED: b"a",
    ReviewStatus.EDITED: b"e",
    ReviewStatus.REJECTED: b"r",
}
_UNREVIEWED = Review()


@dataclass(frozen=True, slots=True)
class Aside:
    """What stands beside an entry's bytes: questions it must not answer, and users who got the answer themselves."""

    barred: frozenset[str] = frozenset()
    confirmed: frozenset[str] = frozenset()


NOTHING = Aside()

_STATUS_OF = {letter: status for status, letter in _STATUS.items()}
# Part of format 1: another text here makes stored entries unreadable.
_WORDS = (
    b'"finish_reason":"tool_calls","tool_calls":[{"id":"call_","type":"function","function":{"name":"'
    b'","arguments":"{"service_tier":"default","system_fingerprint":"fp_","reasoning_content":"'
    b'","completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,'
    b'"accepted_prediction_tokens":0,"rejected_prediction_tokens":0},"prompt_tokens_details":'
    b'{"cached_tokens":0,"audio_tokens":0}},"usage":{"prompt_tokens":,"completion_tokens":,"total_tokens":'
    b'[["",0],["ns:","model:","tag:"{"choices":[{"index":0,"message":{"role":"assistant","content":"'
    b'","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"model":"'
    b'","object":"chat.completion"}'
)


def encode(entry: Entry) -> bytes:
    """Write an entry.

    Raises:
        StoreError: `invalid` when the entry cannot be kept as it is: text that is not Unicode,
            times or vector not finite, vector not of unit length, too many tags, epochs or
            version outside u32, texts above 64 MiB.
    """
    head = _encode_head(entry)
    vector = _encode_vector(entry.embedding)
    texts = _encode_texts(entry)
    packing, packed = _PLAIN, texts
    if len(texts) <= PACK_LIMIT:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=_WORDS)
        shorter = packer.compress(texts) + packer.flush()
        if len(shorter) < len(texts):
            packing, packed = _DEFLATED, shorter
    kind = _FLOAT16 if entry.embedding else _NO_VECTOR
    fixed = _BODY.pack(kind, packing, len(vector) // 2, len(texts))
    value = b"".join((head, fixed, vector, packed))
    return value + _checksum(value)


def decode(
    value: bytes,
    tenant: TenantId,
    *,
    id: EntryId | None = None,
    key: ExactKey | None = None,
    aside: Aside = NOTHING,
) -> Entry:
    """Read an entry and check that it is the one asked for.

    Args:
        value: What `encode` wrote.
        tenant: Whose entry was asked for.
        id: Which id was asked for, when one was.
        key: Which exact key was asked for, when one was.
        aside: What stands beside the bytes.

    Raises:
        StoreError: `corrupt`: unknown format, damaged, or another tenant's, id's or key's.
    """
    if value[:2] != MAGIC or len(value) < _HEAD.size + _BODY.size + _CHECK:
        raise _corrupt("not an entry")
    if value[2] != FORMAT:
        raise _corrupt(f"format {value[2]} is unknown")
    if _checksum(value[:-_CHECK]) != value[-_CHECK:]:
        raise _corrupt("checksum differs")
    entry = _decode_checked(value, aside)
    if entry.tenant != tenant or id not in (None, entry.id) or key not in (None, entry.key):
        raise _corrupt("another entry than the one asked for")
    return entry


def checksum_of(value: bytes) -> bytes:
    """Give the last 16 bytes: what tells two writings of one entry apart."""
    return value[-_CHECK:]


def _encode_head(entry: Entry) -> bytes:
    born = dict(entry.epochs.values)
    names = list(epoch_keys(entry))
    if len(names) - 1 > MAX_TAGS + (3 if entry.subject else 2):
        raise _invalid(f"more than {MAX_TAGS} tags")
    try:
        head = _HEAD.pack(
            MAGIC,
            FORMAT,
            _STATUS[entry.status],
            entry.version,
            digest(entry.key),
            len(names) - 1,
            born.get("", 0),
        )
        traces = (_TRACE.pack(epoch_field(name), born.get(name, 0)) for name in names[1:])
        return head + b"".join(traces)
    except struct.error as error:
        raise _invalid("version or epochs out of range") from error


def _encode_vector(embedding: Embedding | None) -> bytes:
    if embedding is None:
        return b""
    vector = embedding.vector
    if vector.ndim != 1 or not 0 < vector.shape[0] <= 0xFFFF:
        raise _invalid("vector has no usable shape")
    length = float(np.dot(vector, vector))
    if not abs(length - 1.0) < 1e-2:  # NaN fails this too
        raise _invalid("vector is not of unit length")
    return vector.astype("<f2").tobytes()


def _encode_texts(entry: Entry) -> bytes:
    if not (math.isfinite(entry.created_at) and math.isfinite(entry.expires_at)):
        raise _invalid("times are not finite")
    completion, usage = entry.completion, entry.completion.usage
    meta = [
        entry.id,
        entry.tenant,
        entry.namespace,
        entry.key,
        entry.domain,
        entry.model,
        entry.prompt,
        entry.created_at,
        entry.expires_at,
        entry.embedding.encoder if entry.embedding else None,
        entry.tags,
        _counts(usage),
        completion.has_tool_calls,
        len(completion.body),
        None if completion.chunks is None else len(completion.chunks),
        entry.epochs.values,
    ]
    try:
        more = _more(entry)
        packed = orjson.dumps([*meta, entry.context.decode(), *([more] if more else ())])
    except (TypeError, UnicodeDecodeError) as error:
        raise _invalid("text or number that JSON cannot hold") from error
    texts = b"".join((struct.pack(">I", len(packed)), packed, completion.body, completion.chunks or b""))
    if len(texts) > MAX_UNPACKED:
        raise _invalid("larger than 64 MiB")
    return texts


def _counts(usage: Usage | None) -> list[int] | None:
    """Give the counts of a usage in their order; zeros at the end are left away, as older readers know three."""
    if usage is None:
        return None
    counts = [
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
        usage.written_tokens,
        usage.written_long_tokens,
        usage.reasoning_tokens,
    ]
    while len(counts) > _LEAST_COUNTS and not counts[-1]:
        counts.pop()
    return counts


def _decode_checked(value: bytes, aside: Aside) -> Entry:
    # The checksum held, so a failure here means a writer with another idea of format 1.
    try:
        _, _, letter, version, _, count, _ = _HEAD.unpack_from(value)
        at = _HEAD.size + count * _TRACE.size
        kind, packing, dimension, size = _BODY.unpack_from(value, at)
        at += _BODY.size
        vector = _decode_vector(value, at, dimension) if kind == _FLOAT16 else None
        texts = _unpack(value[at + 2 * dimension : -_CHECK], packing, size)
        (meta_size,) = struct.unpack_from(">I", texts)
        meta = orjson.loads(texts[4 : 4 + meta_size])
        return _build(meta, texts[4 + meta_size :], vector, _STATUS_OF[letter], version, aside)
    except (struct.error, zlib.error, ValueError, LookupError, TypeError, AttributeError) as error:
        raise _corrupt("content does not follow its format") from error


def _decode_vector(value: bytes, at: int, dimension: int) -> Vector:
    vector = np.frombuffer(value, dtype="<f2", count=dimension, offset=at).astype(np.float32)
    length = np.dot(vector, vector)
    if not 0.9 < length < 1.1:  # NaN fails this too
        raise ValueError(length)
    vector /= np.sqrt(length)
    return vector


def _unpack(packed: bytes, packing: int, size: int) -> bytes:
    if packing == _PLAIN:
        texts = packed
    else:
        unpacker = zlib.decompressobj(-15, zdict=_WORDS)
        texts = unpacker.decompress(packed, min(size, MAX_UNPACKED) + 1)
    if len(texts) != size:
        raise ValueError(size)
    return texts


def _build(
    meta: list[Any],
    texts: bytes,
    vector: Vector | None,
    status: ReviewStatus,
    version: int,
    aside: Aside,
) -> Entry:
    (name, tenant, namespace, key, domain, model, prompt, created_at, expires_at, encoder) = meta[:10]
    # Entries written before chats were matched by what they say have no context, and few have more than that.
    (tags, usage, has_tool_calls, body_size, chunks_size, epochs, *later) = meta[10:]
    more: dict[str, Any] = later[1] if len(later) > 1 else {}
    if len(texts) != body_size + (chunks_size or 0):
        raise ValueError(body_size)
    return Entry(
        id=EntryId(name),
        tenant=TenantId(tenant),
        namespace=namespace,
        key=ExactKey(key),
        domain=domain,
        model=model,
        prompt=prompt,
        completion=Completion(
            body=texts[:body_size],
            usage=Usage(*usage[:_COUNTS]) if usage else None,
            chunks=None if chunks_size is None else texts[body_size:],
            has_tool_calls=has_tool_calls,
            native=more["native"].encode() if "native" in more else None,
        ),
        created_at=created_at,
        expires_at=expires_at,
        embedding=None if vector is None else Embedding(vector, EncoderId(encoder)),
        tags=tuple(tags),
        status=status,
        version=version,
        epochs=Epochs(tuple((name, count) for name, count in epochs)),
        context=later[0].encode() if later else b"",
        review=_review_in(more) if more else _UNREVIEWED,
        origin=more.get("origin", ""),
        author=more.get("author", ""),
        seconds=more.get("seconds", 0.0),
        commons=more.get("commons", ""),
        subject=more.get("subject", ""),
        worth=more.get("worth", 0.0),
        holder=more.get("holder", ""),
        barred=aside.barred,
        confirmed=aside.confirmed | {more["author"]} if "counts" in more else aside.confirmed,
    )


def _more(entry: Entry) -> dict[str, Any]:
    """Name what is not as usual about an entry."""
    review = entry.review
    numbers = (review.at, review.until, review.least, entry.seconds, entry.worth)
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise _invalid("times, cost or thresholds of its review are not finite")
    found = {
        "by": review.by,
        "at": review.at,
        "until": review.until,
        "edition": review.edition,
        "least": review.least,
        "only": review.only,
        "origin": entry.origin,
        "author": entry.author,
        "seconds": entry.seconds,
        "commons": entry.commons,
        "subject": entry.subject,
        "worth": entry.worth,
        "holder": entry.holder,
        "counts": bool(entry.author) and entry.author in entry.confirmed,
        "native": (entry.completion.native or b"").decode(),
    }
    # A threshold or a day of 0 is one; an empty text, a time or a duration of 0 says nothing.
    return {
        name: what for name, what in found.items() if what or (what == 0.0 and name in ("until", "least"))
    }


def _review_in(more: dict[str, Any]) -> Review:
    return Review(
        by=more.get("by", ""),
        at=more.get("at", 0.0),
        until=more.get("until"),
        edition=more.get("edition", ""),
        least=more.get("least"),
        only=more.get("only", ""),
    )


def _checksum(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_CHECK).digest()


def _corrupt(why: str) -> StoreError:
    return StoreError(f"stored value is corrupt: {why}", kind="corrupt")


def _invalid(why: str) -> StoreError:
    return StoreError(f"entry cannot be stored: {why}", kind="invalid")
