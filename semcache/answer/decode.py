"""Undo the content coding of a reply as it streams, with caps against decompression bombs.

Knows identity, gzip and deflate (zlib and, as some servers send it, bare). Others (br, zstd) have
no decoder in the standard library of Python 3.11: such a body is passed on encoded and its answer is
not remembered, which `content_coding` tells beforehand. RFC 9110 section 8.4.1.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import Protocol

from semcache.errors import UpstreamError
from semcache.ports import UpstreamReply

_PIECE = 256 * 1024
_FREE = 1024 * 1024
"""Bytes that may come out before the ratio counts: short repetitive answers shrink a lot."""
DECODABLE = frozenset(("identity", "gzip", "deflate"))


def content_coding(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Give `identity`, `gzip` or `deflate`; None when the body cannot be decoded here."""
    # On every reply's way: the length is compared first because nearly all names differ in it.
    named = [value for name, value in headers if len(name) == 16 and name.lower() == b"content-encoding"]
    if not named:
        return "identity"
    words = [part.strip() for part in b",".join(named).decode("latin-1").lower().split(",")]
    codings = [word.removeprefix("x-") for word in words if word not in ("", "identity")]
    if not codings:
        return "identity"
    return codings[0] if len(codings) == 1 and codings[0] in DECODABLE else None


def decoded(
    reply: UpstreamReply, coding: str | None, *, max_bytes: int = 64 << 20, max_ratio: int = 250
) -> AsyncIterator[bytes]:
    """Stream the body without its content coding; a body that cannot be decoded comes as it is.

    Args:
        reply: Whose body is read (once).
        coding: What `content_coding` said of its headers.
        max_bytes: Most bytes that may come out of a coded body.
        max_ratio: Most bytes out per byte in, counted after the first MiB.

    Raises:
        UpstreamError: what the body raises; 502 `upstream_invalid` for a body that is not what its
            header says or grows beyond a cap; 502 `upstream_cut` when it ends too early.
    """
    if coding in (None, "identity"):
        return reply.body()
    return _inflated(reply.body(), decoder_of(coding), max_bytes, max_ratio)


class Decoder(Protocol):
    """Incremental: `feed` yields pieces of bounded size, `is_complete` says whether the end was seen."""

    @property
    def is_complete(self) -> bool:
        """True once the end was seen."""
        ...

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take bytes, give what they are without their coding; zlib.error for what is not so coded."""
        ...


def decoder_of(coding: str | None) -> Decoder:
    """Give what undoes `gzip` or `deflate`; its `feed` raises zlib.error for what is neither."""
    return _Gzip() if coding == "gzip" else _Deflate()


async def _inflated(
    body: AsyncIterator[bytes], decoder: Decoder, max_bytes: int, max_ratio: int
) -> AsyncIterator[bytes]:
    taken = given = 0
    try:
        async for part in body:
            taken += len(part)
            for piece in decoder.feed(part):
                given += len(piece)
                if given > max_bytes or given > _FREE + max_ratio * taken:
                    raise UpstreamError(
                        "the upstream's compressed reply is too large", code="upstream_invalid"
                    )
                yield piece
    except zlib.error as error:
        message = "the upstream's reply is not encoded as it says"
        raise UpstreamError(message, code="upstream_invalid") from error
    finally:
        await close(body)
    if taken and not decoder.is_complete:
        raise UpstreamError("the upstream's compressed reply ends too early", code="upstream_cut")


async def close(body: AsyncIterator[bytes]) -> None:
    """Close a body that may have been left in the middle, rather than leave that to the collector."""
    if isinstance(body, AsyncGenerator):
        await body.aclose()


def _pieces(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    while data and not stream.eof:
        piece = stream.decompress(data, _PIECE)
        data = stream.unconsumed_tail
        if piece:
            yield piece
    # Output that the piece limit held back although all input was taken.
    while not stream.eof and (piece := stream.decompress(b"", _PIECE)):
        yield piece


class _Gzip:
    """gzip with any number of members (RFC 1952 section 2.2)."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                # Servers may pad the last member with zeros.
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._stream = zlib.decompressobj(wbits=31)
            yield from _pieces(self._stream, data)
            data = self._stream.unused_data


class _Deflate:
    """zlib format, or bare deflate, told apart by the first two bytes (RFC 1950 section 2.2)."""

    def __init__(self) -> None:
        self._stream: zlib._Decompress | None = None
        self._head = b""

    @property
    def is_complete(self) -> bool:
        return self._stream is not None and self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return
            is_zlib = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._stream = zlib.decompressobj(wbits=15 if is_zlib else -15)
        yield from _pieces(self._stream, data)
