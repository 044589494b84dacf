"""Bytes of an entry: what goes in comes out, and nothing else ever does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
)
from semcache.errors import StoreError
from semcache.store import codec
from tests.store.servers import ACME, entry, same, unit

counts = st.integers(-(2**63), 2**63 - 1)
text = st.text(max_size=40)
times = st.floats(allow_nan=False, allow_infinity=False)
usages = st.none() | st.builds(Usage, counts, counts, counts, counts, counts, counts)
completions = st.builds(
    Completion, st.binary(max_size=300), usages, st.none() | st.binary(max_size=100), st.booleans()
)
vectors = st.none() | st.integers(1, 40).map(lambda size: Embedding(unit(size, size), EncoderId("m")))
epochs = st.lists(st.tuples(text, st.integers(0, 2**32 - 1)), max_size=4, unique_by=lambda pair: pair[0])
maybe = st.none() | times
reviews = st.builds(Review, by=text, at=times, until=maybe, edition=text, least=maybe, only=text)
entries = st.builds(
    Entry,
    id=text,
    tenant=text,
    namespace=text,
    key=text,
    domain=text,
    model=text,
    prompt=text,
    completion=completions,
    created_at=times,
    expires_at=times,
    embedding=vectors,
    tags=st.lists(text, max_size=5).map(tuple),
    status=st.sampled_from(ReviewStatus),
    version=st.integers(0, 2**32 - 1),
    epochs=epochs.map(lambda pairs: Epochs(tuple(pairs))),
    context=st.just(b"") | text.map(str.encode),
    review=st.just(Review()) | reviews,
    origin=text,
    author=text,
    seconds=times,
    commons=text,
)


@given(entries)
@settings(max_examples=300, deadline=None)
def test_what_goes_in_comes_out(made: Entry) -> None:
    value = codec.encode(made)
    back = codec.decode(value, made.tenant, id=made.id, key=made.key)
    assert same(back, made)
    assert codec.decode(codec.encode(back), made.tenant).completion == made.completion


def test_the_head_that_scripts_read_holds_all_that_an_entry_may_have() -> None:
    full = entry(tags=tuple(f"t{n}" for n in range(58)), subject="ab" * 12)
    value = codec.encode(full)
    assert value[20] == 61
    assert 25 + 16 * value[20] <= 1024
    assert codec.decode(value, full.tenant).subject == full.subject


def corrupt(value: bytes, tenant: str = "acme", **asked: str) -> bool:
    with pytest.raises(StoreError) as refused:
        codec.decode(value, TenantId(tenant), **asked)  # type: ignore[arg-type] # plain words
    return refused.value.kind == "corrupt"


def test_every_flipped_bit_is_seen() -> None:
    value = codec.encode(entry(embedding=Embedding(unit(1, 8), EncoderId("m")), tags=("a",)))
    for at in range(len(value)):
        for bit in (1, 128):
            assert corrupt(value[:at] + bytes([value[at] ^ bit]) + value[at + 1 :])


def test_every_cut_is_seen() -> None:
    value = codec.encode(entry(embedding=Embedding(unit(1, 8), EncoderId("m"))))
    assert all(corrupt(value[:size]) for size in range(len(value)))
    assert corrupt(value + b"\0")


@given(st.binary(max_size=200))
def test_noise_is_corrupt(noise: bytes) -> None:
    assert corrupt(noise)
    assert corrupt(b"SC\x01" + noise)


def test_another_format_is_unknown() -> None:
    value = codec.encode(entry())
    assert corrupt(value[:2] + b"\x02" + value[3:])


def test_a_sound_checksum_does_not_make_sense_of_nonsense() -> None:
    value = codec.encode(entry())
    for at in (3, 20, 60, 70):
        mad = value[:at] + b"\xff" * 4 + value[at + 4 : -16]
        assert corrupt(mad + codec._checksum(mad))


def test_another_entry_than_asked_for_is_corrupt() -> None:
    value = codec.encode(entry())
    assert corrupt(value, "other")
    assert corrupt(value, id=EntryId("e2"))
    assert corrupt(value, key=ExactKey("k"))


@pytest.mark.parametrize(("weight", "near", "any_two"), [(1, 2e-5, 1e-4), (40, 2e-5, 5e-4)])
def test_float16_moves_a_cosine_by_less_than_the_docstring_says(
    weight: int, near: float, any_two: float
) -> None:
    generator = np.random.default_rng(7)

    def units(rows: np.ndarray) -> np.ndarray:
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    raw = generator.normal(size=(300, 384))
    raw[:, :4] *= weight
    rows = units(raw)
    stored = np.array([through(row) for row in rows])
    assert np.abs(np.linalg.norm(stored, axis=1) - 1).max() < 1e-6
    assert np.abs(rows @ stored.T - rows @ rows.T).max() < any_two
    asked = units(rows + 0.01 * generator.normal(size=rows.shape))
    exact = (asked * rows).sum(axis=1)
    assert 0.97 < exact.mean() < 0.99
    assert np.abs((asked * stored).sum(axis=1) - exact).max() < near


def through(row: np.ndarray) -> np.ndarray:
    read = codec.decode(
        codec.encode(entry(embedding=Embedding(row, EncoderId("m")))), TenantId("acme")
    ).embedding
    assert read is not None
    assert read.vector.dtype == np.float32
    return read.vector


def test_texts_are_packed_and_small() -> None:
    answer = (
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":"'
        + b"Paris is the capital. " * 45
        + b'"},"finish_reason":"stop"}],"model":"m","object":"chat.completion"}'
    )
    made = entry(completion=Completion(answer, Usage(9, 200)), embedding=Embedding(unit(3), EncoderId("m")))
    assert len(codec.encode(made)) < 1300
    large = dataclasses.replace(made, completion=Completion(b"x" * 2_000_000, None))
    value = codec.encode(large)
    assert codec.decode(value, made.tenant).completion == large.completion


def with_meta(made: Entry, change: Callable[[list[Any]], list[Any]]) -> bytes:
    """The bytes of an entry whose meta another version of this module wrote."""
    value = codec.encode(made)
    (size,) = codec._BODY.unpack_from(value, codec._HEAD.size + 2 * codec._TRACE.size)[3:]
    at = codec._HEAD.size + 2 * codec._TRACE.size + codec._BODY.size
    texts = codec._unpack(value[at:-16], value[at - codec._BODY.size + 1], size)
    meta_size = int.from_bytes(texts[:4], "big")
    meta = orjson.dumps(change(orjson.loads(texts[4 : 4 + meta_size])))
    texts = len(meta).to_bytes(4, "big") + meta + texts[4 + meta_size :]
    cut = value[: at - codec._BODY.size] + codec._BODY.pack(0, 0, 0, len(texts)) + texts
    return cut + codec._checksum(cut)


def test_values_of_older_versions_are_read() -> None:
    made = entry(embedding=None, context=b"[]")
    assert codec.decode(with_meta(made, lambda meta: meta), ACME) == made
    assert codec.decode(with_meta(made, lambda meta: meta[:16]), ACME) == dataclasses.replace(
        made, context=b""
    )
    assert len(settled_meta(made)) == 17, "the usual entry is written as it ever was"


def settled_meta(made: Entry) -> list[Any]:
    seen: list[list[Any]] = []
    with_meta(made, lambda meta: (seen.append(meta), meta)[1])
    return seen[0]


def test_names_of_a_later_version_are_passed_over() -> None:
    made = entry(embedding=None, review=Review(by="kim", until=0.0, least=0.0), author="aa", seconds=1.5)
    value = with_meta(made, lambda meta: [*meta[:17], meta[17] | {"mood": "good"}, "more"])
    assert codec.decode(value, ACME) == made


@pytest.mark.parametrize("odd", [[], "x", 7])
def test_what_is_no_object_is_corrupt(odd: object) -> None:
    assert corrupt(with_meta(entry(embedding=None), lambda meta: [*meta, odd or [1]]))


@pytest.mark.parametrize(
    "changes",
    [
        {"review": Review(at=float("nan"))},
        {"review": Review(until=float("inf"))},
        {"review": Review(least=float("nan"))},
        {"review": Review(by="\ud800")},
        {"seconds": float("inf")},
    ],
)
def test_a_review_that_cannot_be_kept_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(StoreError) as refused:
        codec.encode(entry(**changes))
    assert refused.value.kind == "invalid"


def test_barred_questions_stand_beside_the_bytes() -> None:
    made = entry(barred=frozenset({"aa"}))
    assert codec.encode(made) == codec.encode(dataclasses.replace(made, barred=frozenset()))
    aside = codec.Aside(barred=frozenset({"bb"}))
    assert codec.decode(codec.encode(made), ACME, aside=aside).barred == {"bb"}


def test_of_those_who_confirm_an_entry_only_its_author_stands_in_the_bytes() -> None:
    made = entry(author="ann", confirmed=frozenset({"ann", "bob"}))
    assert codec.decode(codec.encode(made), ACME).confirmed == {"ann"}
    aside = codec.Aside(confirmed=frozenset({"cid"}))
    assert codec.decode(codec.encode(made), ACME, aside=aside).confirmed == {"ann", "cid"}
    claimed = entry(author="ann", confirmed=frozenset({"bob"}))
    assert codec.decode(codec.encode(claimed), ACME).confirmed == frozenset()
    assert codec.encode(claimed) == codec.encode(dataclasses.replace(claimed, confirmed=frozenset()))


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        (Usage(10, 5), [10, 5, 0]),
        (Usage(10, 5, 3), [10, 5, 3]),
        (Usage(10, 5, 0, 4), [10, 5, 0, 4]),
        (Usage(10, 5, 0, 0, 0, 2), [10, 5, 0, 0, 0, 2]),
    ],
)
def test_counts_of_tokens_end_with_the_last_that_says_something(usage: Usage, written: list[int]) -> None:
    made = entry(embedding=None)
    made = dataclasses.replace(made, completion=dataclasses.replace(made.completion, usage=usage))
    assert settled_meta(made)[11] == written
    assert codec.decode(codec.encode(made), ACME).completion.usage == usage
