"""What every Encoder must do: run on the fake and on the real models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from semcache.core import EncoderId
from semcache.embed.batcher import Limits
from semcache.embed.open import EncoderOptions, open_encoder
from semcache.errors import EncoderError
from semcache.ports import Encoder
from tests.embed.models import LATIN, MULTILINGUAL, model_folder
from tests.fakes.encoder import FakeEncoder

# The machine that runs the tests may be busy: the contract is about values, not about speed.
PATIENT = Limits(deadline=30.0, stall_after=60.0)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for the module, so that the models are loaded once."""
    return "asyncio"


@pytest.fixture(scope="module", params=["fake", "onnx"])
async def encoder(request: pytest.FixtureRequest) -> AsyncIterator[Encoder]:
    if request.param == "fake":
        yield FakeEncoder()
        return
    options = EncoderOptions(
        str(model_folder(LATIN)), str(model_folder(MULTILINGUAL)), device="cpu", limits=PATIENT
    )
    real = await open_encoder(options)
    yield real
    await real.aclose()


async def test_gives_a_finite_unit_vector_of_a_generation_in_service(encoder: Encoder) -> None:
    embedding = await encoder.encode("How do I reset my password?")
    assert embedding.vector.dtype == np.float32
    assert embedding.vector.ndim == 1
    assert np.isfinite(embedding.vector).all()
    assert np.linalg.norm(embedding.vector) == pytest.approx(1.0, abs=1e-5)
    assert embedding.encoder in encoder.generations()


async def test_equal_texts_get_equal_vectors(encoder: Encoder) -> None:
    first, second = [await encoder.encode("Where is the nearest pharmacy?") for _ in range(2)]
    assert first.encoder == second.encoder
    np.testing.assert_array_equal(first.vector, second.vector)


async def test_a_paraphrase_is_nearer_than_another_question(encoder: Encoder) -> None:
    asked = await encoder.encode("How do I reset my account password?")
    near = await encoder.encode("How can I reset my account password?")
    far = await encoder.encode("Which mountain is the highest of Africa?")
    assert asked.vector @ near.vector > 0.7 > asked.vector @ far.vector


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n\t\u3000", "empty"),
        ("word " * 600, "too_long"),
        ("one word and 1 MB more " * 50_000, "too_long"),
        ("a lone \ud800 surrogate", "unknown_script"),
    ],
)
async def test_refuses_what_it_cannot_see_whole(encoder: Encoder, text: str, kind: str) -> None:
    with pytest.raises(EncoderError) as caught:
        await encoder.encode(text)
    assert caught.value.kind == kind
    assert caught.value.is_refusal


async def test_goes_on_after_a_refusal(encoder: Encoder) -> None:
    with pytest.raises(EncoderError):
        await encoder.encode("")
    assert (await encoder.encode("still here?")).vector.size > 0


async def test_many_at_once_get_their_own_vectors(encoder: Encoder) -> None:
    texts = [f"What does article {n} of the contract say?" for n in range(20)]
    alone = [await encoder.encode(text) for text in texts]
    together = await asyncio.gather(*(encoder.encode(text) for text in texts * 2))
    for n, embedding in enumerate(together):
        np.testing.assert_array_equal(embedding.vector, alone[n % len(texts)].vector)


async def test_an_error_never_quotes_the_text(encoder: Encoder) -> None:
    with pytest.raises(EncoderError) as caught:
        await encoder.encode("xylophone " * 600)
    assert "xylophone" not in str(caught.value)


async def test_the_reference_scale_is_monotone_and_pinned(encoder: Encoder) -> None:
    generation = (await encoder.encode("Which scale is this?")).encoder
    marks = [encoder.to_reference(generation, float(c)) for c in np.linspace(-1, 1, 201)]
    assert None not in marks
    assert marks[0] == pytest.approx(-1.0)
    assert marks[-1] == pytest.approx(1.0)
    assert marks == sorted(marks)


@pytest.mark.parametrize("cosine", [1.0000002, 7.0, -7.0])
async def test_the_reference_scale_stays_in_range(encoder: Encoder, cosine: float) -> None:
    generation = (await encoder.encode("Which scale is this?")).encoder
    mark = encoder.to_reference(generation, cosine)
    assert mark is not None
    assert -1.0 <= mark <= 1.0


async def test_knows_nothing_of_other_generations(encoder: Encoder) -> None:
    old = EncoderId("model-of-last-year@0123456789ab")
    assert old not in encoder.generations()
    assert encoder.to_reference(old, 0.99) is None
    assert encoder.name_of(old) == "model-of-last-year"


async def test_names_its_own_generations_without_version(encoder: Encoder) -> None:
    for generation in encoder.generations():
        name = encoder.name_of(generation)
        assert name
        assert "@" not in name
        assert generation.startswith(name)
