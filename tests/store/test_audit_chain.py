"""The chain of the audit log: whatever is done to a part of it shows, at the right line."""

from __future__ import annotations

import string
from collections.abc import Callable
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import EntryId
from semcache.errors import StoreError
from semcache.review_port import Act, Line
from semcache.store import audit_chain
from semcache.store.audit_chain import Walk

text = st.text(max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
).filter(lambda thing: "inf" not in repr(thing))
acts = st.builds(
    Act,
    who=text,
    at=st.floats(allow_nan=False, allow_infinity=False),
    what=text,
    entry=st.none() | text.map(EntryId),
    before=st.dictionaries(text, plain, max_size=3),
    after=st.dictionaries(text, plain, max_size=3),
    note=text,
)


def chained(acts: list[Act]) -> list[bytes]:
    number, digest, stored = 0, "", []
    for act in acts:
        line = audit_chain.next_line(number, digest, act)
        number, digest = line.number, line.digest
        stored.append(audit_chain.written(line))
    return stored


def first_wrong(lines: list[bytes], number: int, digest: str, walk: Walk | None = None) -> int | None:
    walk = walk or Walk()
    for stored in lines:
        if not walk.take(stored):
            return walk.number + 1
    return walk.wrong_end(number, digest)


@given(acts)
@settings(deadline=None)
def test_what_is_written_is_read(act: Act) -> None:
    line = audit_chain.next_line(4, "ab" * 32, act)
    assert audit_chain.read(audit_chain.written(line)) == line


def test_keys_in_any_order_are_one_act() -> None:
    one = Act("kim", 1.0, "edit", after={"a": 1, "b": {"x": 1, "y": 2}})
    other = Act("kim", 1.0, "edit", after=MappingProxyType({"b": MappingProxyType({"y": 2, "x": 1}), "a": 1}))
    assert audit_chain.canonical(one) == audit_chain.canonical(other)
    assert audit_chain.canonical(Act("k", 1.0, "x", after={"s": {"b", "a"}})).endswith(b'"who":"k"}')


def test_the_digest_is_the_one_that_is_documented() -> None:
    line = audit_chain.next_line(0, "", Act("kim", 1.5, "note", note="é"))
    text = '{"after":{},"at":1.5,"before":{},"entry":null,"note":"é","what":"note","who":"kim"}'
    assert audit_chain.written(line) == f"{line.digest} 1 - {text}".encode()
    # printf '\n%s' "$text" | sha256sum
    assert line.digest == "5ed3ce9fa72355e80b0d02848a4a072d8301cdfd34e3a58dcbf02c9e16987977"


def relinked(stored: bytes, previous: bytes) -> bytes:
    """A line as somebody would write it who does not work the digests out."""
    parts = stored.split(b" ", 3)
    return b" ".join((parts[0], parts[1], previous, parts[3]))


TAMPERINGS: list[tuple[Callable[[list[bytes]], list[bytes]], int]] = [
    (lambda lines: [*lines[:2], lines[2].replace(b"kim", b"eve"), *lines[3:]], 3),
    (lambda lines: [*lines[:2], *lines[3:]], 3),
    (lambda lines: lines[1:], 1),
    (lambda lines: lines[:-1], 6),
    (lambda lines: lines[:-4], 3),
    (lambda lines: [], 1),
    (lambda lines: [*lines[:1], lines[2], lines[1], *lines[3:]], 2),
    (lambda lines: [*lines[:3], lines[2], *lines[3:]], 4),
    (lambda lines: [*lines, lines[-1]], 7),
    (lambda lines: [*lines[:3], b"noise", *lines[4:]], 4),
    (lambda lines: [*lines[:3], relinked(lines[3], b"00" * 32), *lines[4:]], 4),
    (lambda lines: [lines[0].replace(b" 1 ", b" 2 "), *lines[1:]], 1),
    (lambda lines: [*lines, audit_chain.written(after(lines[-1]))], 7),
]


def after(stored: bytes) -> Line:
    last = audit_chain.read(stored)
    assert last is not None
    return audit_chain.next_line(last.number, last.digest, Act("eve", 0.0, "note"))


@pytest.mark.parametrize(("tamper", "number"), TAMPERINGS)
def test_every_tampering_shows_at_its_line(tamper: Callable[[list[bytes]], list[bytes]], number: int) -> None:
    lines = chained([Act("kim", float(turn), "note") for turn in range(6)])
    end = audit_chain.read(lines[-1])
    assert end is not None
    assert first_wrong(lines, 6, end.digest) is None
    assert first_wrong(tamper(list(lines)), 6, end.digest) == number


def test_a_last_line_written_anew_shows_by_the_end() -> None:
    lines = chained([Act("kim", float(turn), "note") for turn in range(3)])
    end, second = audit_chain.read(lines[-1]), audit_chain.read(lines[1])
    assert end is not None
    assert second is not None
    forged = audit_chain.written(audit_chain.next_line(2, second.digest, Act("eve", 0.0, "note")))
    assert first_wrong([*lines[:2], forged], 3, end.digest) == 3


def test_a_chain_goes_on_where_it_was_cut_in_order() -> None:
    lines = chained([Act("kim", float(turn), "note") for turn in range(5)])
    second, end = audit_chain.read(lines[1]), audit_chain.read(lines[-1])
    assert second is not None
    assert end is not None
    assert first_wrong(lines[2:], 5, end.digest, Walk(2, second.digest)) is None
    assert first_wrong(lines[2:], 5, end.digest, Walk(2, "00" * 32)) == 3


@given(st.binary(max_size=120) | st.text(alphabet=string.hexdigits + ' -{}":', max_size=120).map(str.encode))
def test_noise_is_no_line(noise: bytes) -> None:
    assert audit_chain.read(noise) is None
    assert audit_chain.read(b"0" * 64 + b" 1 - " + noise) is None
    assert not Walk().take(noise)


@pytest.mark.parametrize(
    "act",
    [
        Act("k", float("inf"), "x"),
        Act("\ud800", 0.0, "x"),
        Act("k", 0.0, "x", after={"x": 2**70}),
        Act("k", 0.0, "x", before={"x": object()}),
        Act("k", 0.0, "x", note="x" * audit_chain.MOST_BYTES),
    ],
)
def test_what_cannot_be_written_is_refused(act: Act) -> None:
    with pytest.raises(StoreError) as refused:
        audit_chain.next_line(0, "", act)
    assert refused.value.kind == "invalid"
