"""Routing, fallback, lazy loading and faults of the whole encoder, with models made of switches."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from semcache.core import Embedding
from semcache.embed.batcher import Limits
from semcache.embed.lane import Lane, Source
from semcache.embed.memo import VectorMemo
from semcache.embed.router import RoutedEncoder
from semcache.embed.spec import TextModel
from semcache.errors import EncoderError
from tests.embed.fake_model import FakeModel, fake_vector
from tests.embed.test_calibration import table

LIMITS = Limits(deadline=15.0, stall_after=30.0, close_wait=5.0)
ENGLISH, CHINESE = "How do I reset my password?", "怎么重置密码？"


@asynccontextmanager
async def routed(
    latin: FakeModel | None,
    multilingual: FakeModel | None,
    *,
    start: bool = True,
    limits: Limits = LIMITS,
    faults: list[str] | None = None,
) -> AsyncIterator[RoutedEncoder]:
    memo = VectorMemo(100, 1 << 20)
    lanes = [lane(model, limits, memo) if model else None for model in (latin, multilingual)]
    encoder = RoutedEncoder(*lanes, limits.deadline, memo, faults.append if faults is not None else None)
    if start:
        await encoder.warm()
    try:
        yield encoder
    finally:
        for model in (latin, multilingual):
            if model:
                model.gate.set()
        await encoder.aclose()


def lane(model: FakeModel, limits: Limits, memo: VectorMemo) -> Lane:
    return Lane(Source(model.spec.name, model.spec, lambda: model, lambda name: []), limits, memo)


async def name(encoder: RoutedEncoder, text: str) -> str:
    return encoder.name_of((await encoder.encode(text)).encoder)


async def kind(encoder: RoutedEncoder, text: str) -> str:
    with pytest.raises(EncoderError) as caught:
        await encoder.encode(text)
    return caught.value.kind


def two() -> tuple[FakeModel, FakeModel]:
    return FakeModel().named("latin"), FakeModel().named("multi")


async def test_the_script_chooses_the_encoder() -> None:
    async with routed(*two()) as encoder:
        assert await name(encoder, ENGLISH) == "latin"
        assert await name(encoder, CHINESE) == "multi"
        assert len(encoder.generations()) == 2


async def test_one_text_of_two_encoders_is_two_memo_entries() -> None:
    latin, multi = two()
    latin.refusals["x 😀"] = EncoderError("no", kind="unknown_script")
    async with routed(latin, multi) as encoder:
        first = await encoder.encode("x 😀")
        second = await encoder.encode("x 😀")
    assert first.encoder == second.encoder == multi.spec.id


async def test_tokens_unknown_to_the_latin_encoder_go_to_the_other() -> None:
    latin, multi = two()
    latin.refusals["What is 😂?"] = EncoderError("no", kind="unknown_script")
    async with routed(latin, multi) as encoder:
        assert await name(encoder, "What is 😂?") == "multi"


@pytest.mark.parametrize("refusal", ["too_long", "empty"])
async def test_other_refusals_do_not(refusal: str) -> None:
    latin, multi = two()
    latin.refusals["What?"] = EncoderError("no", kind=refusal)
    async with routed(latin, multi) as encoder:
        multi.batches.clear()  # the self-test's
        assert await kind(encoder, "What?") == refusal
    assert multi.texts == []


async def test_without_a_multilingual_encoder_other_scripts_are_refused() -> None:
    async with routed(FakeModel().named("latin"), None) as encoder:
        assert await kind(encoder, CHINESE) == "unknown_script"
        assert await name(encoder, ENGLISH) == "latin"


async def test_one_multilingual_encoder_reads_everything() -> None:
    async with routed(None, FakeModel().named("multi")) as encoder:
        assert await name(encoder, ENGLISH) == await name(encoder, CHINESE) == "multi"


async def test_a_lazy_encoder_is_loaded_at_its_first_text_and_nobody_waits() -> None:
    latin, multi = two()
    async with routed(latin, multi, start=False) as encoder:
        multi.gate.clear()  # holds the self-test, so the load goes on
        assert multi.spec.id in encoder.generations()
        began = time.monotonic()
        assert await kind(encoder, CHINESE) == "loading"
        assert time.monotonic() - began < 4.0
        multi.gate.set()
        await encoder.warm()
        assert await name(encoder, CHINESE) == "multi"


async def test_to_reference_needs_a_table_and_a_loaded_model() -> None:
    anchors = FakeModel()
    memo = VectorMemo(10, 1 << 20)
    calibrated = Lane(Source("fake", anchors.spec, lambda: anchors, lambda name: [table()]), LIMITS, memo)
    encoder = RoutedEncoder(calibrated, None, 15.0, memo)
    assert encoder.to_reference(anchors.spec.id, 0.965) is None
    await encoder.warm()
    assert encoder.to_reference(anchors.spec.id, 0.965) == pytest.approx(0.9)
    assert encoder.health()[0].calibrated
    await encoder.aclose()


async def test_a_model_without_table_has_no_reference() -> None:
    latin, multi = two()
    async with routed(latin, multi) as encoder:
        assert encoder.to_reference(latin.spec.id, 0.99) is None
        assert not encoder.health()[0].calibrated
        assert "no calibration table" in encoder.health()[0].note


async def test_faults_are_counted_by_kind_and_told() -> None:
    latin, multi = two()
    told: list[str] = []
    async with routed(latin, multi, faults=told) as encoder:
        latin.fault = RuntimeError()
        await kind(encoder, ENGLISH)
        await kind(encoder, "")
        await kind(encoder, "again?")
        assert encoder.faults() == {"error": 2, "empty": 1}
    assert told == ["error", "empty", "error"]


async def test_a_rescued_text_is_no_fault() -> None:
    latin, multi = two()
    latin.refusals["What is 😂?"] = EncoderError("no", kind="unknown_script")
    async with routed(latin, multi) as encoder:
        await encoder.encode("What is 😂?")
        assert encoder.faults() == {}


async def test_a_model_that_sees_everything_alike_never_serves() -> None:
    class Constant(FakeModel):
        def embed(self, texts):  # type: ignore[no-untyped-def]  # a broken model on purpose
            return [fake_vector("x") for _ in texts]

    async with routed(Constant(), None, start=False) as encoder:
        with pytest.raises(EncoderError):
            await encoder.warm()
        assert await kind(encoder, ENGLISH) == "error"
        assert encoder.health()[0].state == "failed"


async def test_files_changed_under_a_lazy_lane_are_refused() -> None:
    promised, found = FakeModel().named("promised"), FakeModel().named("found")
    memo = VectorMemo(10, 1 << 20)

    def load() -> TextModel:
        return found

    encoder = RoutedEncoder(
        Lane(Source("p", promised.spec, load, lambda name: []), LIMITS, memo), None, 15.0, memo
    )
    with pytest.raises(EncoderError, match="changed"):
        await encoder.warm()
    await encoder.aclose()


async def test_the_deadline_covers_both_lanes_together() -> None:
    latin, multi = two()
    latin.refusals["What is 😂?"] = EncoderError("no", kind="unknown_script")
    async with routed(latin, multi, limits=Limits(deadline=0.4, close_wait=5.0)) as encoder:
        multi.gate.clear()
        latin.seconds = 0.2
        began = time.monotonic()
        assert await kind(encoder, "What is 😂?") == "late"
        assert time.monotonic() - began < 3.0
        multi.gate.set()


async def test_shared_vectors_cannot_be_changed() -> None:
    async with routed(*two()) as encoder:
        embedding: Embedding = await encoder.encode(ENGLISH)
        with pytest.raises(ValueError, match="read-only"):
            embedding.vector[0] = 7.0
        assert np.isfinite(embedding.vector).all()
