"""Which prompts begin alike, from digests of their beginnings. Pure.

A prompt is a row of bytes in the order in which models read it: model, tools, messages. A mark is a digest of all bytes up to
some place: at the end of each message, and every kilobyte (further on every four) within long ones; not within the first
half kilobyte, which is not worth waiting for. Two prompts have a mark in common
where everything before it is equal, so sorting prompts by their marks puts those together that share the longest
beginnings, whatever their number, without holding any text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

SIZE = 8
"""Bytes of a mark: of a million prompts, two different beginnings meet with a chance of one in 10^7."""
MOST = 64
_LEAST = 512
_NEAR, _FAR, _NEARBY = 1024, 4096, 32_768


def marks_of(body: Mapping[str, Any]) -> bytes:
    """Give the marks of a request's prompt, joined: `SIZE` bytes each, `MOST` at most."""
    chain = hashlib.blake2b(digest_size=SIZE)
    marks: list[bytes] = []
    done = 0
    for part in _parts(body):
        at = 0
        while at < len(part):
            step = (_NEAR if done < _NEARBY else _FAR) - done % (_NEAR if done < _NEARBY else _FAR)
            piece = part[at : at + step]
            chain.update(piece)
            at, done = at + len(piece), done + len(piece)
            if done >= _LEAST:
                marks.append(chain.copy().digest())
            if len(marks) == MOST:
                return b"".join(marks)
    return b"".join(marks)


def common(one: bytes, other: bytes) -> int:
    """Give how many marks two prompts have in common from the beginning."""
    count = 0
    for at in range(0, min(len(one), len(other)), SIZE):
        if one[at : at + SIZE] != other[at : at + SIZE]:
            break
        count += 1
    return count


def _parts(body: Mapping[str, Any]) -> Iterator[bytes]:
    head = {name: body.get(name) for name in ("model", "tools", "functions", "response_format")}
    yield orjson.dumps(head)
    for message in body["messages"]:
        yield orjson.dumps(message)
