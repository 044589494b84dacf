"""Arithmetic on vectors, and refusals without a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from semcache.embed.vectors import check_text, check_tokens, cosine, mean_pool, unit
from semcache.errors import EncoderError


@given(hnp.arrays(np.float32, 8, elements=st.floats(-1e6, 1e6, width=32)))
def test_unit_gives_length_one_or_refuses_zero(row: np.ndarray) -> None:
    if float(np.linalg.norm(row.astype(np.float64))) < 1e-6:
        with pytest.raises(EncoderError):
            unit(row)
    else:
        vector = unit(row)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
        assert vector.dtype == np.float32
        assert not vector.flags.writeable


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_an_error(bad: float) -> None:
    row = np.ones(8, dtype=np.float32)
    row[3] = bad
    with pytest.raises(EncoderError) as caught:
        unit(row)
    assert caught.value.kind == "error"


def test_unit_leaves_its_argument_alone() -> None:
    row = np.full(4, 3.0, dtype=np.float32)
    unit(row)
    assert (row == 3.0).all()


def test_mean_pool_leaves_padding_out() -> None:
    states = np.array([[[1, 2], [3, 4], [100, 100]], [[5, 6], [7, 8], [9, 10]]], dtype=np.float32)
    mask = np.array([[1, 1, 0], [1, 1, 1]], dtype=np.int64)
    np.testing.assert_allclose(mean_pool(states, mask), [[2, 3], [7, 8]])


def test_cosine_never_leaves_its_range() -> None:
    vector = unit(np.linspace(1, 2, 384, dtype=np.float32)) * np.float32(1.0001)
    assert cosine(vector, vector) == 1.0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("\u2003\n", "empty"),
        ("x" * 3201, "too_long"),
        ("\udfff", "unknown_script"),
    ],
)
def test_check_text_refuses(text: str, kind: str) -> None:
    with pytest.raises(EncoderError) as caught:
        check_text(text, window=100)
    assert caught.value.kind == kind


def test_check_text_passes_the_rest() -> None:
    check_text("x" * 3200, window=100)
    check_text("\x00", window=100)


@pytest.mark.parametrize(
    ("tokens", "content", "unknown", "share", "kind"),
    [
        (11, 9, 0, 0.0, "too_long"),
        (2, 0, 0, 0.0, "empty"),
        (10, 8, 1, 0.0, "unknown_script"),
        (10, 8, 2, 0.2, "unknown_script"),
    ],
)
def test_check_tokens_refuses(tokens: int, content: int, unknown: int, share: float, kind: str) -> None:
    with pytest.raises(EncoderError) as caught:
        check_tokens(tokens, 10, content, unknown, share)
    assert caught.value.kind == kind


def test_check_tokens_passes_the_whole_window_and_a_tolerated_share() -> None:
    check_tokens(10, 10, 8, 0, 0.0)
    check_tokens(10, 10, 8, 1, 0.2)
