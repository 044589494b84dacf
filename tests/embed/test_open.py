"""From options to a running encoder, on the real folders."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from semcache.embed.batcher import Limits
from semcache.embed.open import EncoderOptions, has_cuda_device, model_source, open_encoder
from semcache.errors import EncoderError

PATIENT = Limits(deadline=30.0, stall_after=60.0)


@pytest.fixture(scope="module")
def options(latin_folder: Path, multilingual_folder: Path) -> EncoderOptions:
    return EncoderOptions(str(latin_folder), str(multilingual_folder), device="cpu", limits=PATIENT)


async def test_the_multilingual_encoder_is_lazy_and_then_serves(options: EncoderOptions) -> None:
    encoder = await open_encoder(options)
    latin, multi = encoder.health()
    assert (latin.state, multi.state) == ("ready", "idle")
    assert latin.calibrated
    assert len(encoder.generations()) == 2
    with pytest.raises(EncoderError) as caught:
        await encoder.encode("怎么重置密码？")
    assert caught.value.kind == "loading"
    await encoder.warm()
    embedding = await encoder.encode("怎么重置密码？")
    assert encoder.name_of(embedding.encoder) == "multilingual-e5-small"
    # The Latin encoder does not know this sign, the other one does.
    emoji = await encoder.encode("What does 😂 mean in a message?")
    assert emoji.encoder == embedding.encoder
    # 0.90 of the reference lies far higher on this encoder's own scale.
    reference = encoder.to_reference(embedding.encoder, 0.90)
    assert reference is not None
    assert reference < 0.80
    await encoder.aclose()
    with pytest.raises(EncoderError) as closed:
        await encoder.encode("How do I reset my password?")
    assert closed.value.kind == "closed"


async def test_another_folder_with_other_weights_is_another_generation(
    options: EncoderOptions, latin_folder: Path, tmp_path: Path
) -> None:
    """Same name, same width, other weights: nothing stored under the old ones is in service."""
    copy = tmp_path / "copy"
    shutil.copytree(latin_folder, copy, ignore=shutil.ignore_patterns("st"))
    note = json.loads((copy / "semcache-model.json").read_text())
    weights = copy / note["encoder"]["onnx"]
    weights.chmod(0o644)
    graph = onnx.load(str(weights))
    random = np.random.default_rng(7)
    for each in graph.graph.initializer:
        if each.data_type == onnx.TensorProto.FLOAT and len(each.raw_data) > 500_000:
            values = np.frombuffer(each.raw_data, dtype=np.float32)
            noise = 0.3 * values.std() * random.standard_normal(values.size)
            each.raw_data = (values + noise).astype(np.float32).tobytes()
    onnx.save(graph, str(weights))
    old = await open_encoder(replace(options, multilingual=None))
    new = await open_encoder(replace(options, latin=str(copy), multilingual=None))
    assert not (old.generations() & new.generations())
    (generation,) = new.generations()
    assert new.name_of(generation) == "all-MiniLM-L6-v2"
    # The anchors tell that the shipped table was made for other weights.
    assert new.to_reference(generation, 0.9) is None
    assert not new.health()[0].calibrated
    await old.aclose()
    await new.aclose()


@pytest.mark.parametrize(
    "changes",
    [
        {"latin": None, "multilingual": None},
        {"latin": "/nowhere/at/all"},
        {"latin": "./nowhere"},
        {"multilingual": "/nowhere/at/all"},
    ],
)
async def test_an_encoder_that_cannot_be_is_a_named_error(
    changes: dict[str, str | None], options: EncoderOptions
) -> None:
    with pytest.raises(EncoderError):
        await open_encoder(replace(options, **changes))


@pytest.mark.skipif(has_cuda_device(), reason="has a CUDA device")
async def test_cuda_is_never_silently_replaced(options: EncoderOptions) -> None:
    with pytest.raises(EncoderError, match="cuda"):
        await open_encoder(replace(options, device="cuda"))


@pytest.mark.skipif(has_cuda_device(), reason="has a CUDA device")
async def test_auto_is_the_cpu_without_a_device(options: EncoderOptions) -> None:
    encoder = await open_encoder(replace(options, device="auto", multilingual=None))
    assert encoder.health()[0].runtime == "onnx-cpu"
    await encoder.aclose()


def test_a_converted_folder_on_cuda_runs_its_torch_weights(latin_folder: Path) -> None:
    source = model_source(str(latin_folder), None, "cuda")
    assert source is not None
    assert source.spec is None  # known only once loaded
    on_cpu = model_source(str(latin_folder), None, "cpu")
    assert on_cpu is not None
    assert on_cpu.spec is not None


def test_a_hub_name_is_named_by_its_last_part() -> None:
    source = model_source("someone/some-model", None, "cpu")
    assert source is not None
    assert source.name == "some-model"


@pytest.mark.gpu
async def test_cuda_batches_and_agrees_with_the_cpu(options: EncoderOptions) -> None:
    encoder = await open_encoder(replace(options, device="cuda", preload=True))
    assert {each.runtime for each in encoder.health()} == {"torch-cuda-fp32"}
    began = time.monotonic()
    embedding = await encoder.encode("How do I reset my password?")
    assert time.monotonic() - began < 5.0
    assert np.linalg.norm(embedding.vector) == pytest.approx(1.0, abs=1e-5)
    assert all(each.calibrated for each in encoder.health())
    await encoder.aclose()
