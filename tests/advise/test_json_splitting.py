"""Documents cut into elements: whatever JSON writes, in pieces of any size, comes out as it went in."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.advise import json_splitting
from semcache.advise.json_splitting import JsonSplitter

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)
tricky = st.text(alphabet='\\"[]{},:n\n é\u2028a', max_size=30)


@pytest.fixture(params=[1, 2, 3, 7, 64, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(json_splitting, "_CHUNK", request.param)
    return int(request.param)


def pieces(text: str | bytes, most: int = 1 << 20) -> list[tuple[int, int, int, bytes | None]]:
    data = text.encode() if isinstance(text, str) else text
    return list(JsonSplitter(io.BytesIO(data), 0, most).split())


def loaded(text: str, most: int = 1 << 20) -> list[Any]:
    return [None if raw is None else json.loads(raw) for _, _, _, raw in pieces(text, most)]


@given(
    st.lists(st.one_of(values, tricky, st.dictionaries(tricky, tricky, max_size=3)), max_size=6),
    st.sampled_from([None, 0, 1]),
    st.booleans(),
    st.sampled_from([1, 2, 5, 33, 1 << 20]),
)
def test_an_array_comes_out_as_it_went_in(
    items: list[Any], indent: int | None, ascii: bool, size: int
) -> None:
    text = json.dumps(items, indent=indent, ensure_ascii=ascii)
    before = json_splitting._CHUNK
    json_splitting._CHUNK = size
    try:
        found = pieces(text)
    finally:
        json_splitting._CHUNK = before
    data = text.encode("utf-8", "surrogatepass")
    assert [json.loads(raw) for _, _, _, raw in found if raw is not None] == items
    for offset, length, line, raw in found:
        assert data[offset : offset + length] == raw, "a place leads back to its bytes"
        assert line == data.count(b"\n", 0, offset) + 1


@given(st.lists(st.dictionaries(tricky, values, max_size=3), min_size=1, max_size=5))
def test_values_one_after_the_other_are_cut(items: list[Any]) -> None:
    assert loaded("\n".join(json.dumps(item, indent=1) for item in items)) == items


@given(st.binary(max_size=200))
def test_no_bytes_break_it(data: bytes) -> None:
    for offset, length, line, _ in pieces(data, 50):
        assert 0 <= offset <= len(data)
        assert length >= 0
        assert line >= 1


def test_a_cut_element_is_told_and_the_others_stay(chunk: int) -> None:
    found = pieces('[{"a": 1},\n {"b": "cut')
    assert [raw for *_, raw in found] == [b'{"a": 1}', None]
    assert found[1][2] == 2


def test_an_element_that_is_too_long_is_passed_over(chunk: int) -> None:
    text = '[{"a": 1},\n{"b": "' + "x" * 300 + '",\n"c": [1, 2]},\n{"d": 4}]'
    found = pieces(text, 100)
    assert [raw for *_, raw in found] == [b'{"a": 1}', None, b'{"d": 4}']
    assert [line for _, _, line, _ in found] == [1, 2, 4]


def test_an_object_around_the_rows_is_given_whole_where_it_fits(chunk: int) -> None:
    text = json.dumps({"meta": {"n": [1]}, "data": [{"a": 1}, {"b": 2}]})
    assert loaded(text) == [json.loads(text)]


def test_an_object_around_the_rows_is_cut_inside_where_it_does_not_fit(chunk: int) -> None:
    rows = [{"id": number, "text": "x" * 40} for number in range(50)]
    text = json.dumps({"meta": {"n": [1]}, "data": rows, "more": [1, 2]}, indent=1)
    assert loaded(text, 200) == rows


def test_nothing_is_nothing(chunk: int) -> None:
    assert pieces("") == pieces(" \n") == pieces("[]") == pieces("[ ]\n") == []
