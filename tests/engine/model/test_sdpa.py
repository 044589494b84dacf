"""The GPU's way of attending, on the CPU where there is no device: near the other way, and apart where it must be."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from semcache.engine.forward import Exactness, Piece
from semcache.engine.model.linear import Plain
from semcache.engine.model.llama import LlamaNetwork, Way, memory_errors, usual_way
from semcache.engine.model.loading import build
from semcache.engine.modes import Precision
from semcache.engine.runs import Run
from tests.engine.model.arrange import (
    FAMILIES,
    Ground,
    piece,
    prompt,
    settings_for,
    straight,
    tiny_decoder,
    tiny_network,
)


def fused(network: LlamaNetwork, way: Way = Way.FUSED) -> LlamaNetwork:
    return network.with_exactness(network.weights, Exactness(is_promised=False), way)


def test_ways_by_device() -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    careful = Exactness(grid=64, shares_generated=False)
    found = [usual_way(device, one) for device in (cpu, cuda) for one in (Exactness(), careful)]
    assert found == [Way.JOINT, Way.APART, Way.FUSED, Way.FUSED_APART]


@pytest.mark.parametrize("way", [Way.FUSED, Way.FUSED_APART, Way.APART])
@pytest.mark.parametrize("family", ["llama", "llama, one KV head each", "llama, many heads to one", "qwen3"])
def test_every_way_gives_near_logits(family: str, way: Way) -> None:
    assert family in FAMILIES
    network = tiny_network(family)
    other = fused(network, way)
    ground = Ground(network.slots, random.Random(3))
    head = prompt(140)
    head_runs = ground.scattered(140)
    other.forward([piece(head, 0, 140, head_runs, 0)])
    pieces: list[Piece] = []
    prompts: list[tuple[int, ...]] = []
    for number, count in enumerate((1, 1, 5, 1, 20)):
        tokens = head + prompt(count, number)
        prompts.append(tokens)
        pieces.append(piece(tokens, 140, 140 + count, head_runs + ground.scattered(count)))
    stranger = prompt(5, 77)
    prompts.append(stranger)
    pieces.append(piece(stranger, 0, 5, ground.straight(5)))
    for tokens, rows in zip(prompts, other.forward(pieces), strict=True):
        expected = straight(network, tokens, 2000)[-len(rows) :]
        torch.testing.assert_close(rows, expected, rtol=1e-4, atol=1e-4)


def test_what_is_not_a_number_stays_with_its_sequence() -> None:
    network = tiny_network()
    other = fused(network)
    runs = [Run(300 * number, 31) for number in range(3)]
    tokens = prompt(31)
    other.forward([piece(tokens, 0, 30, [run], 0) for run in runs])
    network.write(Run(310, 1), torch.full_like(network.read(Run(310, 1)), float("nan")))
    network.write(Run(331, 5), torch.full_like(network.read(Run(331, 5)), float("nan")))
    network.write(Run(31, 5), torch.full_like(network.read(Run(31, 5)), float("nan")))
    rows = other.forward([piece(tokens, 30, 31, [run]) for run in runs])
    assert [bool(row.isfinite().all()) for row in rows] == [True, False, True]


@pytest.fixture
def device() -> Iterator[torch.device]:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    yield torch.device("cuda")
    torch.cuda.empty_cache()


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES)
def test_families_on_a_gpu(family: str, device: torch.device) -> None:
    model = tiny_decoder(family).to(device=device, dtype=torch.bfloat16)
    tokens = prompt(200)
    with torch.inference_mode():
        expected = model(input_ids=torch.tensor([tokens], device=device)).logits[0].float().cpu()
    network, kernel = build(model, settings_for(8192))
    assert kernel == "bf16-grid"
    found = straight(network, tokens)
    assert (found - expected).norm() < 0.15 * expected.norm()


@pytest.mark.gpu
@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FP32])
def test_the_grid_recipe_gives_equal_bits_on_a_gpu(precision: Precision, device: torch.device) -> None:
    dtype = torch.bfloat16 if precision is Precision.BF16 else torch.float32
    network, _ = build(tiny_decoder().to(device=device, dtype=dtype), settings_for(8192, precision))
    tokens = prompt(210)

    def read(low: int, runs: list[Run]) -> torch.Tensor:
        return torch.cat(
            [network.forward([piece(tokens, at, min(at + 64, 200), runs)])[0] for at in range(low, 200, 64)]
        )

    cold, warm = [Run(0, 210)], [Run(1000, 128), Run(3000, 60), Run(2000, 22)]
    expected = read(0, cold)
    network.write(Run(1000, 128), network.read(Run(0, 128)))
    assert torch.equal(read(128, warm), expected[128:])
    for at in range(200, 210):
        [alone] = network.forward([piece(tokens, at, at + 1, cold)])
        mates = [Piece((5,), 130, (Run(1000, 128), Run(5000 + 10 * number, 3))) for number in range(4)]
        assert torch.equal(alone, network.forward([*mates, piece(tokens, at, at + 1, warm)])[4])


@pytest.mark.gpu
def test_short_memory_on_a_gpu_is_a_memory_error(device: torch.device) -> None:
    network, _ = build(tiny_decoder().to(device), settings_for(8192, Precision.FP32))
    huge = torch.empty(1, 64, device=device).expand(1 << 40, 64)
    layer = Plain(torch.ones(64, 64, device=device), None)
    with pytest.raises(MemoryError), memory_errors():
        layer(huge.clone())
    assert straight(network, prompt(5)).isfinite().all()
