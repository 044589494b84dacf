"""Exports are read back whole, and nothing but a named refusal comes of any other bytes."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.archive.errors import ArchiveError
from semcache.archive.lines import UnfitError, checked_body, entry_line, read_entry
from semcache.archive.reading import Limits, checked, open_export
from semcache.core import Entry, Epochs, TenantId
from tests.archive.scene import ACME, approved, entry_of, export, file_of, made, sealed
from tests.store.servers import same

NOW = 1_790_000_000.0
CORPUS = Path(__file__).parent / "corpus"
WHOLE = export([made("one", NOW), approved("two", NOW)])


def back(one: Entry, tenant: TenantId = ACME) -> Entry:
    return read_entry(checked_body(entry_line(one), 1), tenant, NOW)


def test_every_field_of_an_entry_comes_back() -> None:
    full = dataclasses.replace(
        approved("one", NOW),
        barred=frozenset(("aa", "*")),
        confirmed=frozenset(("b" * 24,)),
        epochs=Epochs((("", 3),)),
    )
    values = {"str": "ab" * 12, "float": 2.5, "int": 7}
    defaults = {one.name: one for one in dataclasses.fields(Entry) if one.default is not dataclasses.MISSING}
    unset = [one for name, one in defaults.items() if getattr(full, name) == one.default]
    full = dataclasses.replace(full, **{one.name: values[str(one.type)] for one in unset})
    found = back(full)
    assert same(found, dataclasses.replace(full, epochs=Epochs()))
    bare = made("two", NOW, embedding=None, author="", subject="", commons="", tags=())
    assert same(back(bare), bare)


def test_the_tenant_is_the_importers() -> None:
    assert b"acme" not in entry_line(made("one", NOW))
    assert back(made("one", NOW), TenantId("other")).tenant == "other"


def test_an_export_is_checked_whole() -> None:
    found = checked(file_of(WHOLE))
    assert (found.head.tenant, found.foot.count) == (ACME, 2)
    assert [read_entry(body, ACME, NOW).id for body in found.bodies()] == ["one", "two"]
    assert checked(file_of(export([]))).foot.count == 0


LINES = WHOLE.splitlines(keepends=True)


@pytest.mark.event(42)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "no export"),
        (b"\n", "no export"),
        (pickle.dumps(os.getpid), "cut off|no export"),
        (b"\x80\x04\x95\n" + WHOLE, "no export"),
        (b"\x1f\x8b\x08\x00" + WHOLE, "no export"),
        (b"[" * 100_000 + b"\n", "no export"),
        (LINES[0].replace(b'"format":1', b'"format":2') + b"".join(LINES[1:]), "format 2"),
        (b"".join(LINES[:-1]), "no foot"),
        (WHOLE[:-1], "cut off"),
        (b"".join(LINES[:-1]) + LINES[-1][:-30], "cut off"),
        (WHOLE[:700], "cut off"),
        (b"".join([*LINES[:2], LINES[-1]]), "does not fit"),
        (b"".join([LINES[0], LINES[2], LINES[1], LINES[3]]), "does not fit"),
        (WHOLE.replace(b"what is one", b"what is two"), "line 2: its checksum differs"),
        (WHOLE + b"\n", "behind the foot"),
        (WHOLE + WHOLE, "behind the foot"),
        (sealed([LINES[0], b'{"path":"../../etc/passwd"}\n']), "line 2: neither an entry"),
        (LINES[0] + b'{"sum":"' + b"x" * 3_000_000 + b"\n" + LINES[-1], "line 2: longer than"),
        (LINES[0] + b"x" * 3_000_000, "line 2: longer than"),
    ],
)
def test_what_is_no_sound_export_is_refused_with_a_reason(text: bytes, says: str) -> None:
    with pytest.raises(ArchiveError, match=says):
        checked(file_of(text), Limits(line=1 << 20))


def test_bounds_of_a_whole_export_hold() -> None:
    many = export([made(f"e{n}", NOW) for n in range(9)])
    assert checked(file_of(many), Limits(entries=9)).foot.count == 9
    for limits in (Limits(entries=7), Limits(bytes=2000)):
        with pytest.raises(ArchiveError, match="larger than"):
            checked(file_of(many), limits)


@pytest.mark.event(42)
def test_only_plain_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(ArchiveError, match="no plain file"):
            open_export(path)
    with pytest.raises(FileNotFoundError):
        open_export(tmp_path / "none")


def changed(**fields: object) -> bytes:
    told = orjson.loads(checked_body(entry_line(made("one", NOW)), 1))
    return orjson.dumps(told | fields)


@pytest.mark.event(42)
@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{}", "malformed"),
        (b"[]", "malformed"),
        (b"null", "malformed"),
        (b'"../../etc/passwd"', "malformed"),
        (b"[" * 5000 + b"]" * 5000, "malformed"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "malformed"),
        (b"\xff\xfe", "malformed"),
        (changed(id="../../../etc/passwd"), "malformed"),
        (changed(id="#b"), "malformed"),
        (changed(id=""), "malformed"),
        (changed(id=7), "malformed"),
        (changed(namespace="x" * 64), "malformed"),
        (changed(namespace="aa"), "malformed"),
        (changed(key="ab:{other}:cd"), "malformed"),
        (changed(author="ann"), "malformed"),
        (changed(holder="x:{other}"), "malformed"),
        (changed(holder="a" * 5000), "malformed"),
        (changed(status="blessed"), "malformed"),
        (changed(version=0), "malformed"),
        (changed(version=2**40), "malformed"),
        (changed(version=True), "malformed"),
        (changed(tags=["t"] * 59), "malformed"),
        (changed(tags=[{}]), "malformed"),
        (changed(barred="*"), "malformed"),
        (changed(created_at=NOW + 9e5), "times"),
        (changed(created_at=-1), "times"),
        (changed(expires_at=1.0), "times"),
        (changed(expires_at=9e99), "times"),
        (changed(expires_at=None), "malformed"),
        (changed(completion={"body": "{}"}), "malformed"),
        (changed(completion={"body": "[]", "chunks": None, "native": None, "has_tool_calls": False, "usage": None}), "malformed"),
        (changed(completion={"body": "{", "chunks": None, "native": None, "has_tool_calls": False, "usage": None}), "malformed"),
        (changed(completion={"body": "{}", "chunks": "{}", "native": None, "has_tool_calls": False, "usage": None}), "malformed"),
        (changed(completion={"body": "{}", "chunks": None, "native": None, "has_tool_calls": 1, "usage": None}), "malformed"),
        (changed(vector={"encoder": "m", "float16": "!!"}), "vector"),
        (changed(vector={"encoder": "m", "float16": ""}), "vector"),
        (changed(vector={"encoder": "m", "float16": "AH4A"}), "vector"),
        (changed(vector={"encoder": "m", "float16": "AH4AAAAA"}), "vector"),
        (changed(vector={"encoder": "m", "float16": "AHwAAAAA"}), "vector"),
        (changed(vector={"encoder": "m", "float16": "AAAAAAAA"}), "vector"),
        (changed(vector={"encoder": "m"}), "malformed"),
        (changed(vector=[1.0]), "malformed"),
        (changed(review={}), "malformed"),
    ],
)  # fmt: skip
def test_entries_that_fit_their_checksum_but_no_format_are_passed_over(body: bytes, word: str) -> None:
    with pytest.raises(UnfitError) as refused:
        read_entry(checked_body(entry_of(body), 1), ACME, NOW)
    assert refused.value.word == word


def test_a_vector_has_a_length_and_is_finite() -> None:
    assert np.isnan(np.frombuffer(b"\x00\x7e", "<f2"))[0], "what the table above means by AH4A"


def attempt(text: bytes) -> list[Entry] | None:
    """Read bytes as an import does; None where they are refused as a whole."""
    entries = []
    try:
        for body in checked(file_of(text), Limits(line=1 << 16)).bodies():
            try:
                entries.append(read_entry(body, ACME, NOW))
            except UnfitError:
                continue
    except ArchiveError:
        return None
    return entries


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_no_change_of_any_byte_is_taken_in(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    match data.draw(st.sampled_from(["flip", "cut", "insert", "remove", "double"])):
        case "flip":
            byte = WHOLE[at] ^ data.draw(st.integers(1, 255))
            text = WHOLE[:at] + bytes((byte,)) + WHOLE[at + 1 :]
        case "cut":
            text = WHOLE[:at]
        case "insert":
            text = WHOLE[:at] + data.draw(st.binary(min_size=1, max_size=20)) + WHOLE[at:]
        case "remove":
            text = WHOLE[:at] + WHOLE[at + data.draw(st.integers(1, 50)) :]
        case _:
            text = WHOLE[:at] + WHOLE[at : at + 30] + WHOLE[at:]
    found = attempt(text)
    # JSON of the foot may be written in more than one way, its numbers and digest may not.
    assert found is None or [one.id for one in found] == ["one", "two"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
NAMES = sorted(json.loads(checked_body(entry_line(made("one", NOW)), 1)))


@given(st.dictionaries(st.sampled_from(NAMES), json_values, max_size=4), json_values)
@settings(max_examples=80, deadline=None)
def test_hostile_entries_with_checksums_that_fit_never_raise_anything_else(
    fields: dict[str, object], other: object
) -> None:
    bodies = [other]
    bodies.append(orjson.loads(checked_body(entry_line(made("one", NOW)), 1)) | fields)
    try:
        lines = [LINES[0], *(entry_of(orjson.dumps(body)) for body in bodies)]
    except TypeError:
        return  # integers that orjson cannot write
    found = attempt(sealed(lines))
    assert found is not None
    assert all(one.tenant == ACME for one in found)


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_noise_is_refused(text: bytes) -> None:
    assert attempt(text) is None


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_corpus_is_refused_or_passed_over(path: Path) -> None:
    """Files that once did, or could do, harm; those named `odd-` are sound as files and hold no entry that is."""
    found = attempt(path.read_bytes())
    assert found == ([] if path.stem.startswith("odd-") else None)


def test_there_is_a_corpus() -> None:
    assert len(list(CORPUS.glob("*.jsonl"))) >= 12
