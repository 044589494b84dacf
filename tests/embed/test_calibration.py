"""Tables and the map to the reference scale."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.embed.acceptance import calibrate, self_test
from semcache.embed.calibration import (
    LOCAL_FILE_NAME,
    CalibrationTable,
    Scale,
    find_tables,
    read_table,
    scale_of,
)
from semcache.embed.vectors import cosine, unit
from semcache.errors import EncoderError
from tests.embed.fake_model import SPEC, FakeModel, fake_vector

KNOTS = [[-1.0, -1.0], [0.8, 0.2], [0.965, 0.9], [1.0, 1.0]]


def body(**changes: Any) -> dict[str, Any]:
    texts = [f"sentence {n}" for n in range(11)]
    pairs = pairwise(texts)
    anchors = [{"a": a, "b": b, "cosine": cosine(fake_vector(a), fake_vector(b))} for a, b in pairs]
    return {
        "format": 1,
        "encoder": SPEC.name,
        "runtime": SPEC.runtime,
        "weights": SPEC.weights,
        "dim": SPEC.dim,
        "prefix": SPEC.prefix,
        "method": "by hand",
        "knots": KNOTS,
        "anchors": anchors,
    } | changes


def table(**changes: Any) -> CalibrationTable:
    return CalibrationTable.model_validate_json(json.dumps(body(**changes)))


SCALE = scale_of(table())


def test_knots_are_hit_and_the_space_between_is_straight() -> None:
    for raw, reference in KNOTS:
        assert SCALE.to_reference(raw) == pytest.approx(reference)
        assert SCALE.from_reference(reference) == pytest.approx(raw)
    assert SCALE.to_reference((0.8 + 0.965) / 2) == pytest.approx(0.55)


@given(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))
def test_the_map_is_monotone_stays_in_range_and_inverts(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert -1.0 <= SCALE.to_reference(low) <= SCALE.to_reference(high) <= 1.0
    clipped = min(1.0, max(-1.0, a))
    assert SCALE.from_reference(SCALE.to_reference(clipped)) == pytest.approx(clipped, abs=1e-9)


def test_nonsense_is_the_lowest_similarity() -> None:
    assert SCALE.to_reference(float("nan")) == -1.0
    assert SCALE.to_reference(float("-inf")) == -1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"knots": [[-1.0, -1.0]]},
        {"knots": [[-0.9, -1.0], [1.0, 1.0]]},
        {"knots": [[-1.0, -1.0], [0.5, 0.6], [0.5, 0.7], [1.0, 1.0]]},
        {"knots": [[-1.0, -1.0], [0.5, 0.6], [0.6, 0.5], [1.0, 1.0]]},
        {"knots": [[-1.0, -1.0], [0.5, 1.5], [1.0, 1.0]]},
        {"anchors": []},
        {"weights": "short"},
        {"surprise": 1},
    ],
)
def test_a_broken_table_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(body(**changes)))
    with pytest.raises(EncoderError):
        read_table(path)


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
def test_a_file_that_is_no_table_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(EncoderError):
        read_table(path)


def test_the_folders_own_table_comes_first(tmp_path: Path) -> None:
    (tmp_path / LOCAL_FILE_NAME).write_text(json.dumps(body(encoder="mine")))
    assert [found.encoder for found in find_tables("mine", tmp_path)] == ["mine"]
    assert find_tables("mine", None) == []


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "multilingual-e5-small"])
def test_shipped_tables_are_valid_and_of_their_encoder(name: str) -> None:
    tables = find_tables(name, None)
    assert tables
    for each in tables:
        assert each.encoder == name
        assert len(each.anchors) >= 25


def test_a_name_that_is_only_the_beginning_of_another_gets_no_table() -> None:
    assert find_tables("all-MiniLM", None) == []
    assert find_tables("", None) == []


def test_a_model_that_reproduces_the_anchors_is_calibrated() -> None:
    found = calibrate(FakeModel(), [table()])
    assert found.scale == SCALE
    assert found.deviation == pytest.approx(0.0, abs=1e-6)


def test_other_weights_under_the_same_name_are_not() -> None:
    texts = {f"sentence {n}": fake_vector(f"other {n}") for n in range(11)}
    found = calibrate(FakeModel(vectors=texts), [table()])
    assert found.scale is None
    assert found.deviation is not None
    assert found.deviation > 0.02
    assert "refused" in found.note


def test_slightly_other_weights_still_are() -> None:
    nudged = {f"sentence {n}": unit(fake_vector(f"sentence {n}") + np.float32(0.002)) for n in range(11)}
    found = calibrate(FakeModel(vectors=nudged), [table()])
    assert found.scale == SCALE
    assert 0.0 < (found.deviation or 0.0) < 0.02


def test_the_table_that_fits_best_is_chosen() -> None:
    far = table(anchors=[{**anchor, "cosine": 0.0} for anchor in body()["anchors"]], knots=[[-1, -1], [1, 1]])
    assert calibrate(FakeModel(), [far, table()]).scale == SCALE


@pytest.mark.parametrize("changes", [{"encoder": "other"}, {"dim": 17}, {"prefix": "query: "}])
def test_a_table_of_another_encoder_is_never_used(changes: dict[str, Any]) -> None:
    assert calibrate(FakeModel(), [table(**changes)]).scale is None


def test_an_anchor_that_the_model_refuses_counts_against_it() -> None:
    model = FakeModel(refusals={"sentence 3": EncoderError("no", kind="unknown_script")})
    assert calibrate(model, [table()]).scale is None


def test_a_model_that_fails_on_an_anchor_is_an_error() -> None:
    model = FakeModel(refusals={"sentence 3": EncoderError("broken")})
    with pytest.raises(EncoderError):
        calibrate(model, [table()])


def test_the_self_test_passes_a_model_that_tells_texts_apart() -> None:
    self_test(FakeModel(), None)


def constant(text: str) -> FakeModel:
    class Constant(FakeModel):
        def embed(self, texts):  # type: ignore[no-untyped-def]  # a broken model on purpose
            return [fake_vector(text) for _ in texts]

    return Constant()


def test_the_self_test_refuses_a_model_that_gives_everything_one_vector() -> None:
    with pytest.raises(EncoderError):
        self_test(constant("x"), None)


def test_the_self_test_judges_on_the_reference_scale_where_there_is_one() -> None:
    near = FakeModel()
    base = np.zeros(16, dtype=np.float32)
    base[0] = 1.0
    other = base.copy()
    other[1] = 0.25  # cosine 0.970 for every pair of unequal texts

    class Near(FakeModel):
        def embed(self, texts):  # type: ignore[no-untyped-def]  # a model with a high floor
            return [unit(base) if "sourdough" in text or "面包" in text else unit(other) for text in texts]

    near = Near()
    with pytest.raises(EncoderError):
        self_test(near, None)
    self_test(near, Scale((-1.0, 0.975, 1.0), (-1.0, 0.1, 1.0)))


def test_the_self_test_wants_at_least_one_language_read() -> None:
    class Blind(FakeModel):
        def embed(self, texts):  # type: ignore[no-untyped-def]  # reads nothing
            return [EncoderError("no", kind="unknown_script") for _ in texts]

    with pytest.raises(EncoderError):
        self_test(Blind(), None)


def test_the_self_test_skips_a_language_that_the_model_does_not_read() -> None:
    chinese = {
        text: EncoderError("no", kind="unknown_script")
        for text in ("怎样在家里做面包？", "税务案件由哪个法院审理上诉？")
    }
    self_test(FakeModel(refusals=chinese), None)
