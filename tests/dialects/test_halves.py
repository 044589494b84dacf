"""Characters that a stream cut in two are joined again, and nothing else is let through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.dialects.halves import dumped, mended, parsed

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_whole_text_is_untouched(value: Any) -> None:
    assert parsed(dumped(value)) == (value, False)
    assert mended(value) == value


@given(st.text(st.characters(min_codepoint=0x10000, max_codepoint=0x10FFFF), min_size=1), st.data())
def test_pairs_cut_anywhere_are_joined(text: str, data: st.DataObject) -> None:
    units = [json.dumps(one)[1:-1] for one in text]
    escapes = "".join(units)
    cut = data.draw(st.integers(0, len(escapes) // 6)) * 6
    parts = [parsed(b'"' + part.encode() + b'"') for part in (escapes[:cut], escapes[cut:])]
    assert mended("".join(value for value, _ in parts)) == text
    assert any(halves for _, halves in parts) == (cut % 12 == 6)


@pytest.mark.parametrize("half", ["\ud83d", {"a": ["\ud83d"]}, {"\ud83d": 1}])
def test_a_half_alone_is_never_mended_but_passes_as_it_came(half: Any) -> None:
    with pytest.raises(ValueError, match=r"surrogate|decode|data"):
        mended(half)
    assert b"\\ud" in dumped(half)
    assert parsed(dumped(half)) == (half, True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a":NaN,"b":"\\ud83d"}',
        b"\xff",
        b'"\\ud83d"' + b"[" * 5000,
        b"[" * 5000 + b'"\\ud83d"',
    ],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(data)
