"""An index as bytes and back: a header, blocks of vectors, a footer, each bound to all before it by SHA-256.

Layout, numbers big-endian, `text` being a u16 length and UTF-8:

    header   magic [8], version u16, size u32, then: store identity text, place in its change stream u64,
             generations u16, each: name text, dimension u16
    block    1 u8, tenant text, namespace text, generation u16, count u32, size of the ids u32,
             lengths of the ids u16 [count], the ids, rows float16 little-endian [count, dimension]
    footer   2 u8, blocks u64, vectors u64

A SHA-256 follows each part, taken over the one before (32 zeros at first) and the part itself. So one digest at a time
proves that nothing was changed, left out, moved or put in between, and the last one stands for the whole file; nothing
may follow it. It is no signature: who may write the file may also forge it.

Rows are float16 as in the store, and set to unit length again when read: what came from there is the same afterwards.

Nothing in the bytes is believed: every size is held against what is left of the file before memory is asked for.
Knows neither files' names nor indexes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from semcache.core import EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.gate import NORM_TOLERANCE

MAGIC = b"SCINDEX\n"
VERSION = 1
MOST_ROWS = 1024
"""Vectors in one block, at most."""

_MOST_DIMENSION = 8192
_MOST_HEADER = 1 << 20
_MOST_IDS = MOST_ROWS * 1024
_DIGEST = 32
_BLOCK, _FOOTER = 1, 2
_LEAD = struct.Struct(">HI")
_COUNTS = struct.Struct(">HII")
_TOTALS = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True)
class Header:
    """Which store the vectors are of, how far its change stream had come, and the encoders in service then.

    `generations` holds each encoder's name and its dimension, 0 where it is not known yet.
    """

    identity: str
    number: int
    generations: tuple[tuple[EncoderId, int], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Vectors of one namespace and encoder: `rows` float32 [n, d], of unit length when read."""

    namespace: Namespace
    encoder: EncoderId
    ids: tuple[EntryId, ...]
    rows: NDArray[np.float32]

    def part(self, start: int, stop: int) -> Block:
        """Give a view of some of it."""
        return Block(self.namespace, self.encoder, self.ids[start:stop], self.rows[start:stop])


class Writer:
    """Writes a snapshot to `file` from its beginning; the caller sees to it that the bytes get to the disk.

    `OSError` of the file is let through.
    """

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._digest = bytes(_DIGEST)
        self._numbers = {name: number for number, (name, _) in enumerate(header.generations)}
        self._dimensions = dict(header.generations)
        self._blocks = self.vectors = self.size = 0
        packed = [_text(header.identity), struct.pack(">QH", header.number, len(header.generations))]
        packed += [_text(name) + struct.pack(">H", dimension) for name, dimension in header.generations]
        body = b"".join(packed)
        self._put(MAGIC + _LEAD.pack(VERSION, len(body)) + body)

    @property
    def digest(self) -> bytes:
        """The digest of everything so far."""
        return self._digest

    def write(self, block: Block) -> None:
        """Append a block of at most `MOST_ROWS`; one that the format has no room for is left out.

        That is: of an encoder that the header does not name, or names with another dimension, or with names as
        nobody has them. Its vectors are read from the store again.
        """
        number = self._numbers.get(block.encoder)
        if number is None or not block.ids or not _fits(block):
            return
        if self._dimensions[block.encoder] != block.rows.shape[1]:
            return
        names = [name.encode("utf-8", "surrogatepass") for name in block.ids]
        together = b"".join(names)
        self._put(
            bytes([_BLOCK])
            + _text(block.namespace.tenant)
            + _text(block.namespace.digest)
            + _COUNTS.pack(number, len(names), len(together))
            + np.fromiter(map(len, names), ">u2", len(names)).tobytes(),
            together,
            block.rows.astype("<f2").tobytes(),
        )
        self._blocks += 1
        self.vectors += len(names)

    def finish(self) -> None:
        """Append the footer."""
        self._put(bytes([_FOOTER]) + _TOTALS.pack(self._blocks, self.vectors))

    def _put(self, *parts: bytes) -> None:
        digest = hashlib.sha256(self._digest)
        for part in parts:
            digest.update(part)
            self._file.write(part)
        self._digest = digest.digest()
        self._file.write(self._digest)
        self.size += sum(map(len, parts)) + _DIGEST


class Reader:
    """Reads a snapshot of `size` bytes from the beginning of `file`.

    Raises:
        VectorIndexError: `snapshot`, or `version`: it is not what `Writer` wrote. `OSError` of the file is let through.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self._hash = hashlib.sha256(bytes(_DIGEST))
        self.digest = bytes(_DIGEST)
        self.vectors = 0
        if self._take(len(MAGIC)) != MAGIC:
            raise _refused("does not begin as one")
        version, length = _LEAD.unpack(self._take(_LEAD.size))
        if version != VERSION:
            raise VectorIndexError(f"index snapshot: version {version}, this is {VERSION}", kind="version")
        if length > _MOST_HEADER:
            raise _refused("header too long")
        body = _Fields(self._take(length))
        self._check()
        self.header = body.header()

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, each checked; ends only where the whole file was as it should be."""
        count = 0
        while (kind := self._take(1)[0]) == _BLOCK:
            yield self._block()
            count += 1
        totals = _TOTALS.unpack(self._take(_TOTALS.size))
        self._check()
        if kind != _FOOTER or totals != (count, self.vectors) or self._left:
            raise _refused("does not end as one")

    def _block(self) -> Block:
        tenant, namespace = self._text(), self._text()
        number, count, size = _COUNTS.unpack(self._take(_COUNTS.size))
        if number >= len(self.header.generations):
            raise _refused("block of no encoder")
        encoder, dimension = self.header.generations[number]
        # Before anything is allocated: what is left of the file bounds it, and so does the format.
        if not 0 < count <= MOST_ROWS or size > _MOST_IDS or not dimension:
            raise _refused("block of an impossible size")
        lengths = np.frombuffer(self._take(2 * count), ">u2")
        together = self._take(size)
        raw = self._take(2 * count * dimension)
        self._check()
        # Only now is any of it looked at.
        if int(lengths.sum()) != size:
            raise _refused("ids of other lengths than stated")
        self.vectors += count
        where = Namespace(TenantId(_decoded(tenant)), _decoded(namespace))
        return Block(where, encoder, _ids(together, lengths), _rows(raw, count, dimension))

    def _text(self) -> bytes:
        (length,) = struct.unpack(">H", self._take(2))
        return self._take(length)

    def _take(self, size: int) -> bytes:
        if size > self._left:
            raise _refused("cut short")
        found = self._file.read(size)
        if len(found) != size:
            raise _refused("cut short")
        self._left -= size
        self._hash.update(found)
        return found

    def _check(self) -> None:
        told = self._hash.digest()
        if self._left < _DIGEST or self._file.read(_DIGEST) != told:
            raise _refused("checksum differs")
        self._left -= _DIGEST
        self.digest = told
        self._hash = hashlib.sha256(told)


class _Fields:
    """Takes the header's fields apart."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def header(self) -> Header:
        identity = self._text()
        number, count = struct.unpack(">QH", self._take(10))
        known: list[tuple[EncoderId, int]] = []
        for _ in range(count):
            name = EncoderId(self._text())
            (dimension,) = struct.unpack(">H", self._take(2))
            known.append((name, dimension))
        if self._at != len(self._body) or any(dimension > _MOST_DIMENSION for _, dimension in known):
            raise _refused("header does not follow its format")
        return Header(identity, number, tuple(known))

    def _text(self) -> str:
        (length,) = struct.unpack(">H", self._take(2))
        return _decoded(self._take(length))

    def _take(self, size: int) -> bytes:
        found = self._body[self._at : self._at + size]
        if len(found) != size:
            raise _refused("header cut short")
        self._at += size
        return found


def _rows(raw: bytes, count: int, dimension: int) -> NDArray[np.float32]:
    rows = np.frombuffer(raw, "<f2").reshape(count, dimension).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
    # NaN and infinity fail this, too.
    if not bool((np.abs(lengths - 1.0) <= NORM_TOLERANCE).all()):
        raise _refused("a vector is not of unit length")
    rows /= lengths[:, None]
    return rows


def _ids(together: bytes, lengths: NDArray[np.uint16]) -> tuple[EntryId, ...]:
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if together.isascii():
        text = together.decode("ascii")
        return tuple(EntryId(text[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return tuple(EntryId(_decoded(together[start:end])) for start, end in zip([0, *ends], ends, strict=False))


def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return struct.pack(">H", len(raw)) + raw


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise _refused("text that is none") from error


def _refused(why: str) -> VectorIndexError:
    return VectorIndexError(f"index snapshot: {why}", kind="snapshot")


def _fits(block: Block) -> bool:
    """Tell whether names are short enough to be written."""
    words = (block.namespace.tenant, block.namespace.digest)
    return all(len(word) < 1 << 14 for word in words) and all(len(name) <= 256 for name in block.ids)
