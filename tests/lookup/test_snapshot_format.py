"""Snapshots as bytes: what was written is read, and nothing else ever is."""

from __future__ import annotations

import hashlib
import io
import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.snapshot_format import MAGIC, MOST_ROWS, Block, Header, Reader
from tests.lookup.snapshots import E5, HEADER, MINILM, block, read, rows, written

pytestmark = pytest.mark.event(26)

SMALL = written(block(3), block(2, encoder=MINILM, tenant="äöü", seed=1))
words = st.text(max_size=20)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    encoder = draw(st.sampled_from([E5, MINILM]))
    ids = draw(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True))
    where = Namespace(TenantId(draw(words)), draw(words))
    vectors = rows(len(ids), dict(HEADER.generations)[encoder], draw(st.integers(0, 99)))
    return Block(where, encoder, tuple(map(EntryId, ids)), vectors)


@settings(max_examples=60, deadline=None)
@given(st.lists(blocks(), max_size=5), words, st.integers(0, 2**64 - 1))
def test_what_was_written_is_read(made: list[Block], identity: str, number: int) -> None:
    header = replace(HEADER, identity=identity, number=number)
    found_header, found = read(written(*made, header=header))
    assert found_header == header
    assert [(b.namespace, b.encoder, b.ids) for b in found] == [(b.namespace, b.encoder, b.ids) for b in made]
    for one, other in zip(found, made, strict=True):
        np.testing.assert_allclose(one.rows, other.rows, atol=1e-3)


def test_lone_surrogates_in_names_come_back() -> None:
    odd = Block(Namespace(TenantId("\udc80"), "aa"), E5, (EntryId("x\ud800"), EntryId("ü")), rows(2, 4))
    _, (found,) = read(written(odd))
    assert (found.namespace, found.ids) == (odd.namespace, odd.ids)


def test_vectors_from_the_store_lose_nothing_more() -> None:
    """What the store rounded to float16 and set to unit length is the very same after a snapshot."""
    half = rows(500, 384).astype("<f2").astype(np.float32)
    stored = half / np.sqrt(np.einsum("ij,ij->i", half, half))[:, None]
    header = Header("s", 1, ((E5, 384),))
    ids = tuple(EntryId(str(n)) for n in range(500))
    _, (found,) = read(written(Block(Namespace(TenantId("a"), "aa"), E5, ids, stored), header=header))
    assert np.abs(found.rows - stored).max() < 1e-7
    assert np.array_equal(found.rows.astype("<f2"), half.astype("<f2"))


def test_vectors_are_of_unit_length() -> None:
    _, (found,) = read(written(block(50)))
    assert np.abs(np.linalg.norm(found.rows.astype(np.float64), axis=1) - 1).max() < 1e-6
    assert found.rows.dtype == np.float32


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_single_flipped_byte_is_seen(flip: int) -> None:
    for place in range(len(SMALL)):
        raw = bytearray(SMALL)
        raw[place] ^= flip
        with pytest.raises(VectorIndexError) as refused:
            read(bytes(raw))
        assert refused.value.kind in ("snapshot", "version")


def test_every_truncation_and_every_addition_is_seen() -> None:
    for size in range(len(SMALL)):
        with pytest.raises(VectorIndexError):
            read(SMALL[:size])
    for more in (b"\0", SMALL, SMALL[-41:]):
        with pytest.raises(VectorIndexError):
            read(SMALL + more)


def test_a_file_shorter_than_it_is_said_to_be_is_seen() -> None:
    for size in (0, 1, 40, len(SMALL) - 1):
        with pytest.raises(VectorIndexError):
            list(Reader(io.BytesIO(SMALL[:size]), len(SMALL)).blocks())


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.integers(0, len(SMALL)))
def test_any_bytes_are_refused_and_nothing_else_is_raised(noise: bytes, kept: int) -> None:
    for raw in (noise, SMALL[:kept] + noise):
        if raw != SMALL:
            with pytest.raises(VectorIndexError):
                read(raw)


def test_blocks_cannot_change_places_or_be_left_out() -> None:
    """Each digest is bound to all before it: sound parts in another order are no snapshot."""
    head = len(written()) - 17 - 32
    one, two, both = written(block(3)), written(block(3, seed=9)), written(block(3), block(3, seed=9))
    first, second = one[head:-49], two[head:-49]
    assert both[head : head + len(first)] == first
    end = both[-49:]
    for parts in ((second, first), (first,), (second,), (first, first, second), ()):
        with pytest.raises(VectorIndexError):
            read(b"".join((both[:head], *parts, end)))


def forged(body: bytes, *, header: Header = HEADER) -> bytes:
    """A header and one block with a sound digest, whatever the block says."""
    head = written(header=header)[: -17 - 32]
    return head + body + hashlib.sha256(head[-32:] + body).digest()


def lengths(*sizes: int) -> bytes:
    return struct.pack(f">{len(sizes)}H", *sizes)


NAMES = b"\1" + lengths(4) + b"acme" + lengths(2) + b"aa"
ROW = np.array([1, 0, 0, 0], "<f2").tobytes()
HOSTILE = {
    "no encoder": NAMES + struct.pack(">HII", 7, 1, 1) + lengths(1) + b"x" + ROW,
    "4 billion rows": NAMES + struct.pack(">HII", 0, 2**32 - 1, 1),
    "4 billion bytes of ids": NAMES + struct.pack(">HII", 0, 1, 2**32 - 1),
    "more rows than a block may have": NAMES + struct.pack(">HII", 0, MOST_ROWS + 1, 1),
    "no rows": NAMES + struct.pack(">HII", 0, 0, 0),
    "rows that are not there": NAMES + struct.pack(">HII", 0, 900, 900) + lengths(*[1] * 900) + b"x" * 900,
    "ids shorter than stated": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(9) + b"x" + ROW,
    "ids longer than stated": NAMES + struct.pack(">HII", 0, 1, 2) + lengths(1) + b"xy" + ROW,
    "a tenant longer than the file": b"\1" + lengths(65535) + b"acme",
    "ids that are no text": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"\xff" + ROW,
    "a zero": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"x" + bytes(8),
    "nan": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"x" + np.full(4, np.nan, "<f2").tobytes(),
    "inf": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"x" + np.full(4, np.inf, "<f2").tobytes(),
    "long": NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"x" + np.full(4, 0.6, "<f2").tobytes(),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_hostile_is_refused_before_memory_is_asked_for(what: str) -> None:
    raw = forged(HOSTILE[what])
    tracemalloc.start()
    try:
        with pytest.raises(VectorIndexError, match="snapshot"):
            read(raw)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_the_forger_of_these_tests_can_forge() -> None:
    body = NAMES + struct.pack(">HII", 0, 1, 1) + lengths(1) + b"x" + ROW
    reader = Reader(io.BytesIO(forged(body)), len(forged(body)))
    assert next(reader.blocks()).ids == ("x",)


@pytest.mark.parametrize("size", [0, 3, 2**20, 2**20 + 1, 2**32 - 1])
def test_a_header_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(VectorIndexError):
        read(MAGIC + struct.pack(">HI", 1, size) + SMALL[14:])


def test_a_dimension_beyond_all_encoders_is_refused() -> None:
    with pytest.raises(VectorIndexError):
        read(written(header=Header("s", 1, ((E5, 65535),))))


def test_another_version_says_so() -> None:
    with pytest.raises(VectorIndexError) as refused:
        read(MAGIC + struct.pack(">HI", 2, 0) + SMALL[14:])
    assert refused.value.kind == "version"


def test_what_the_format_has_no_room_for_is_left_out() -> None:
    strange = replace(block(2), encoder=EncoderId("unheard of"))
    long = replace(block(1), namespace=Namespace(TenantId("x" * 70_000), "aa"))
    other = replace(block(2), rows=rows(2, 5))
    _, found = read(written(strange, long, other, block(1)))
    assert [len(one.ids) for one in found] == [1]
