"""The sentence-transformers encoder on the CPU, with the real torch weights of the Latin model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semcache.embed.acceptance import calibrate
from semcache.embed.batcher import Limits
from semcache.embed.calibration import find_tables
from semcache.embed.onnx_encoder import OnnxModel
from semcache.embed.open import EncoderOptions, open_encoder
from semcache.embed.st_encoder import SentenceTransformerModel
from semcache.errors import EncoderError
from tests.embed.models import LATIN

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def model(latin_folder: Path) -> Iterator[SentenceTransformerModel]:
    model = SentenceTransformerModel(str(latin_folder / "st"), "cpu", name=LATIN)
    yield model
    model.close()


def kind(model: SentenceTransformerModel, text: str) -> str:
    (result,) = model.embed([text])
    assert isinstance(result, EncoderError), "was not refused"
    return result.kind


def test_gives_unit_vectors_close_to_those_of_the_converted_model(
    model: SentenceTransformerModel, latin_model: OnnxModel
) -> None:
    texts = ["How do I reset my password?", "Is ibuprofen safe during pregnancy?"]
    for exact, quick in zip(model.embed(texts), latin_model.embed(texts), strict=True):
        assert isinstance(exact, np.ndarray)
        assert isinstance(quick, np.ndarray)
        assert np.linalg.norm(exact) == pytest.approx(1.0, abs=1e-5)
        assert exact @ quick > 0.97


def test_refusals_in_a_batch_leave_the_others_alone(model: SentenceTransformerModel) -> None:
    first, second, third = model.embed(["What is a lease?", "", "What is a mortgage?"])
    assert isinstance(second, EncoderError)
    (alone,) = model.embed(["What is a mortgage?"])
    assert isinstance(first, np.ndarray)
    assert isinstance(third, np.ndarray)
    np.testing.assert_allclose(third, alone, atol=1e-5)
    (refused,) = model.embed(["银行贷款"])
    assert isinstance(refused, EncoderError)


def test_the_window_is_never_cut(model: SentenceTransformerModel) -> None:
    words = model.spec.window - 2
    assert isinstance(model.embed([" ".join(["word"] * words)])[0], np.ndarray)
    assert kind(model, " ".join(["word"] * (words + 1))) == "too_long"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "empty"), ("\ud800", "unknown_script"), ("😂", "unknown_script"), ("\u200b", "empty")],
)
def test_refuses(model: SentenceTransformerModel, text: str, expected: str) -> None:
    assert kind(model, text) == expected


def test_is_another_generation_than_the_converted_model(
    model: SentenceTransformerModel, latin_model: OnnxModel
) -> None:
    assert model.spec.name == latin_model.spec.name
    assert model.spec.id != latin_model.spec.id


def test_has_a_shipped_table_of_its_own(model: SentenceTransformerModel) -> None:
    found = calibrate(model, find_tables(LATIN, None))
    assert found.scale is not None
    assert found.deviation == pytest.approx(0.0, abs=0.005)
    assert found.scale.to_reference(0.9) == pytest.approx(0.9, abs=0.002)


def test_a_source_that_is_no_model_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EncoderError):
        SentenceTransformerModel(str(tmp_path), "cpu")


async def test_a_folder_without_manifest_serves_uncalibrated(latin_folder: Path, tmp_path: Path) -> None:
    """Any local sentence-transformers model works; without a table it has no reference scale."""
    link = tmp_path / "my-own-model"
    link.symlink_to(latin_folder / "st", target_is_directory=True)
    limits = Limits(deadline=60.0, stall_after=60.0)
    encoder = await open_encoder(EncoderOptions(str(link), None, device="cpu", limits=limits))
    embedding = await encoder.encode("How do I reset my password?")
    assert encoder.name_of(embedding.encoder) == "my-own-model"
    assert encoder.to_reference(embedding.encoder, 0.99) is None
    await encoder.aclose()
