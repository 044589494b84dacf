"""Names of prefixes: a digest of everything that decides which KV a prefix has, and a table of them.

A digest depends on the model's identity, the owners and the tokens alone: not on how nodes are
cut, on the process or on its hash seed. It names, it never proves: whoever finds a node by it
compares tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from semcache.engine.prefix.spans import TOKEN_BYTES, Span

DIGEST_BYTES = 16

Identity = tuple[tuple[str, str], ...]
"""What the KV was computed by, as pairs of kind and value: ("model", fingerprint), ("adapter", ...)."""

Hash = Callable[[bytes], bytes]
"""Gives at most `DIGEST_BYTES` bytes; fewer are padded."""


def short_sha256(data: bytes) -> bytes:
    """Give the first 16 bytes of the SHA-256."""
    return sha256(data).digest()[:DIGEST_BYTES]


class Digester:
    """Gives prefixes their names under one identity.

    The hashed text is typed and length-prefixed throughout, so that no two different lists of
    fields read alike: an adapter "x" without salt is not a salt "x" without adapter.
    """

    def __init__(self, identity: Identity, digest: Hash = short_sha256) -> None:
        self._hash = digest
        fields = [_field(b"I", part.encode()) for pair in identity for part in pair]
        self._head = len(identity).to_bytes(8, "little") + b"".join(fields)

    def of(self, tokens: bytes | bytearray, spans: Sequence[Span]) -> bytes:
        """Name the prefix `tokens` (little-endian int32) whose owners are `spans`. Cost O(tokens)."""
        parts: list[bytes | bytearray] = [self._head]
        start = 0
        for end, owner in spans:
            text = tokens[start * TOKEN_BYTES : end * TOKEN_BYTES]
            parts += (_field(b"O", owner.tenant.encode()), _field(b"S", owner.salt), _field(b"T", text))
            start = end
        return self._hash(b"".join(parts)).ljust(DIGEST_BYTES, b"\0")


def _field(kind: bytes, value: bytes | bytearray) -> bytes:
    return kind + len(value).to_bytes(8, "little") + value


class DigestTable:
    """A hash table from digest to node numbers: open addressing over packed ints, 25 bytes a node.

    Several nodes may have one digest, if the hash is short enough. The digests themselves stand
    in a column by node number.
    """

    def __init__(self) -> None:
        self._digests = bytearray()
        self._places = array("i", [-1]) * 64
        self._count = 0

    def __len__(self) -> int:
        """Count the nodes in the table."""
        return self._count

    def digest(self, node: int) -> bytes:
        """Give the digest a node was added with."""
        return bytes(self._digests[node * DIGEST_BYTES : (node + 1) * DIGEST_BYTES])

    def add(self, node: int, digest: bytes) -> None:
        """Enter a node under its digest; it must not be in the table."""
        if 3 * self._count >= 2 * len(self._places):
            self._double()
        missing = (node + 1) * DIGEST_BYTES - len(self._digests)
        if missing > 0:
            self._digests.extend(bytes(missing + len(self._digests) // 16))
        self._digests[node * DIGEST_BYTES : (node + 1) * DIGEST_BYTES] = digest
        self._place(node, self._home(node))
        self._count += 1

    def remove(self, node: int) -> None:
        """Take a node out; it must be in the table."""
        places = self._places
        mask = len(places) - 1
        at = self._home(node)
        while places[at] != node:
            at = (at + 1) & mask
        hole = at
        places[hole] = -1
        # Close the gap, so that probing never meets a false end: move back whatever may lie earlier.
        while (other := places[at := (at + 1) & mask]) >= 0:
            if (at - self._home(other)) & mask >= (at - hole) & mask:
                places[hole] = other
                places[at] = -1
                hole = at
        self._count -= 1

    def find(self, digest: bytes) -> Iterator[int]:
        """Give every node of this digest."""
        digest = digest.ljust(DIGEST_BYTES, b"\0")
        mask = len(self._places) - 1
        at = int.from_bytes(digest[:8], "little") & mask
        while (node := self._places[at]) >= 0:
            if self.digest(node) == digest:
                yield node
            at = (at + 1) & mask

    def clear(self) -> None:
        """Forget every node."""
        self._places = array("i", [-1]) * 64
        self._count = 0

    def _home(self, node: int) -> int:
        first = node * DIGEST_BYTES
        return int.from_bytes(self._digests[first : first + 8], "little") & (len(self._places) - 1)

    def _place(self, node: int, at: int) -> None:
        mask = len(self._places) - 1
        while self._places[at] >= 0:
            at = (at + 1) & mask
        self._places[at] = node

    def _double(self) -> None:
        old = self._places
        self._places = array("i", [-1]) * (2 * len(old))
        for node in old:
            if node >= 0:
                self._place(node, self._home(node))
