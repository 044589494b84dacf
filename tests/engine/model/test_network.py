"""The rest of the contract: memory short, slots of others, what is not a number, the fallback recipe."""

from __future__ import annotations

import dataclasses
import random

import pytest
import torch
from torch import Tensor

from semcache.engine.forward import Exactness, Piece
from semcache.engine.model import llama, loading
from semcache.engine.model.exactness import keeps_bits, rows_stand_alone
from semcache.engine.model.linear import LEAST_ROWS, Plain
from semcache.engine.model.loading import build
from semcache.engine.model.weights import in_rows
from semcache.engine.modes import Mode, Precision
from semcache.engine.runs import Run
from tests.engine.model.arrange import (
    VOCABULARY,
    Ground,
    kv_of,
    piece,
    prompt,
    settings_for,
    straight,
    tiny_decoder,
    tiny_network,
)


@pytest.fixture(scope="module")
def network() -> llama.LlamaNetwork:
    return tiny_network()


def test_sizes(network: llama.LlamaNetwork) -> None:
    assert network.bytes_per_slot == 2 * 2 * 2 * 32 * 4
    assert network.slots == 8192
    assert network.forward([]) == []


def test_logits_of_the_last_tokens_only(network: llama.LlamaNetwork) -> None:
    tokens = prompt(40)
    whole = straight(network, tokens)
    assert whole.dtype == torch.float32
    assert whole.shape == (40, VOCABULARY)
    for count in (0, 1, 7):
        [found] = network.forward([piece(tokens, 0, 40, [Run(100, 40)], count)])
        assert torch.equal(found, whole[40 - count :])


def test_several_pieces_give_their_logits_in_the_order_asked(network: llama.LlamaNetwork) -> None:
    prompts = [prompt(length, length) for length in (30, 5, 17)]
    runs = [Run(300, 30), Run(0, 5), Run(100, 17)]
    pieces = [piece(tokens, 0, len(tokens), [run]) for tokens, run in zip(prompts, runs, strict=True)]
    for tokens, rows in zip(prompts, network.forward(pieces), strict=True):
        assert torch.equal(rows, straight(network, tokens, 1000))


def test_only_the_new_slots_are_written(network: llama.LlamaNetwork) -> None:
    noise = torch.randn_like(network.read(Run(0, 2000)))
    network.write(Run(0, 2000), noise)
    network.forward([piece(prompt(50), 20, 50, [Run(100, 30), Run(400, 20)])])
    after = network.read(Run(0, 2000))
    changed = (after != noise).flatten(0, 2).any(2).any(0).nonzero().flatten().tolist()
    assert changed == [*range(120, 130), *range(400, 420)]


def test_reading_writing_and_clearing(network: llama.LlamaNetwork) -> None:
    straight(network, prompt(20), 50)
    kept = network.read(Run(50, 20))
    assert kept.shape == (2, 2, 2, 20, 32)
    assert kept.any()
    network.clear([Run(50, 20)])
    assert not network.read(Run(50, 20)).any()
    network.write(Run(700, 20), kept)
    assert torch.equal(network.read(Run(700, 20)), kept)
    for bad in (kept[:, :, :, :5], kept.double()):
        with pytest.raises(ValueError, match="cannot take"):
            network.write(Run(700, 20), bad)
    with pytest.raises(ValueError, match="outside"):
        network.read(Run(network.slots - 1, 2))


@pytest.mark.parametrize("stale", [float("nan"), float("inf")])
def test_stale_slots_do_not_leak(stale: float) -> None:
    """Whatever lies in slots that no piece names, in the pool's order right before and behind the named ones."""
    network = tiny_network()
    ground = Ground(network.slots, random.Random(1))
    tokens = prompt(300)
    expected = straight(network, tokens)
    network.write(Run(0, network.slots), torch.full_like(network.read(Run(0, network.slots)), stale))
    runs = [run for _ in range(6) for run in ground.scattered(50)]
    ground.random.shuffle(runs)
    network.forward([piece(tokens, 0, 299, runs, 0)])
    [row] = network.forward([piece(tokens, 299, 300, runs)])
    assert torch.equal(row[0], expected[299])


def test_a_sequence_that_is_not_finite_leaves_its_neighbours_alone() -> None:
    """Neighbours share its head, its pass and its place in the pool; only its own tail is bad."""
    network = tiny_network()
    head, tokens = prompt(200), [prompt(230, seed) for seed in range(3)]
    prompts = [head + tail[200:] for tail in tokens]
    expected = [straight(network, one, 4000 + 300 * n) for n, one in enumerate(prompts)]
    network.forward([piece(head, 0, 200, [Run(0, 200)], 0)])
    tails = [Run(200 + 30 * number, 30) for number in range(3)]
    sequences = [[Run(0, 200), tail] for tail in tails]
    network.forward([piece(one, 200, 229, runs, 0) for one, runs in zip(prompts, sequences, strict=True)])
    bad = network.read(Run(tails[1].start + 5, 1))
    network.write(Run(tails[1].start + 5, 1), torch.full_like(bad, float("nan")))
    rows = network.forward([piece(one, 229, 230, runs) for one, runs in zip(prompts, sequences, strict=True)])
    assert not rows[1].isfinite().any()
    for number in (0, 2):
        assert torch.equal(rows[number][0], expected[number][229])
        assert kv_of(network, sequences[number]).isfinite().all()


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory"
        ),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
    ],
)
def test_short_memory_is_a_memory_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    network = tiny_network()

    def fails(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(llama, "Attention", fails)
        with pytest.raises(MemoryError):
            straight(network, prompt(5))
    assert straight(network, prompt(5)).isfinite().all()


def test_real_short_memory_and_other_errors() -> None:
    with pytest.raises(MemoryError), llama.memory_errors():
        torch.empty(1 << 50)
    with pytest.raises(RuntimeError, match="something else"), llama.memory_errors():
        raise RuntimeError("something else")


def test_too_small_a_pool_is_refused() -> None:
    with pytest.raises(loading.EngineError, match="hold 10 tokens of 1024 bytes"):
        build(tiny_decoder(), settings_for(10))


def test_a_pool_beyond_all_memory_is_refused() -> None:
    with pytest.raises(loading.EngineError, match="no memory for the keys and values"):
        build(tiny_decoder(), loading.Settings(kv_bytes=1 << 60))


def test_int8_keeps_bits_and_stays_near() -> None:
    plain = tiny_network()
    network, _ = build(tiny_decoder(), settings_for(8192, Precision.INT8))
    assert network.exactness == Exactness()
    assert keeps_bits(network)
    tokens = prompt(90)
    found, expected = straight(network, tokens), straight(plain, tokens)
    assert 0 < (found - expected).norm() < 0.2 * expected.norm()


def test_the_fast_mode_promises_nothing() -> None:
    network, kernel = build(tiny_decoder(), settings_for(8192, mode=Mode.FAST))
    assert not network.exactness.is_promised
    assert kernel == "fp32-fast"
    expected = straight(tiny_network(), prompt(60))
    torch.testing.assert_close(straight(network, prompt(60)), expected, rtol=1e-4, atol=1e-4)


class Mixing:
    """A product whose rows depend on how many there are: a machine that nobody measured."""

    def __init__(self, inner: llama.Weights) -> None:
        self._inner = inner

    def __call__(self, x: Tensor) -> Tensor:
        return self._inner(x) * (1 + len(x) * 2**-20)


def mixing_network() -> llama.LlamaNetwork:
    network = tiny_network()
    weights = network.weights
    layers = tuple(dataclasses.replace(layer, mix=Mixing(layer.mix)) for layer in weights.layers)
    return network.with_exactness(dataclasses.replace(weights, layers=layers), Exactness())


def test_the_probe_finds_products_that_mix_rows() -> None:
    network = mixing_network()
    assert not rows_stand_alone(network.weights, network.shape.hidden)
    assert not keeps_bits(network)


def test_the_probe_finds_plain_products_of_single_rows() -> None:
    """On the machines at hand torch's own product takes other code for one row."""
    network = tiny_network()
    width = network.shape.heads * network.shape.head_dim
    weight = torch.randn(network.shape.hidden, width)
    rows = torch.randn(8, width)
    product = Plain(weight, None, least=1)
    if torch.equal(product(rows)[:1], product(rows[:1])):
        pytest.skip("this machine's plain products keep their bits for single rows")
    layers = tuple(dataclasses.replace(layer, out=product) for layer in network.weights.layers)
    assert not keeps_bits(
        network.with_exactness(dataclasses.replace(network.weights, layers=layers), Exactness())
    )
    layers = tuple(
        dataclasses.replace(layer, out=Plain(weight, None, LEAST_ROWS)) for layer in network.weights.layers
    )
    assert keeps_bits(
        network.with_exactness(dataclasses.replace(network.weights, layers=layers), Exactness())
    )


def test_a_probe_leaves_no_trace() -> None:
    network = tiny_network()
    assert not network.read(Run(0, network.slots)).any()


def test_on_a_mixing_machine_the_grid_recipe_still_gives_equal_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts cut at multiples of the grid, one to a pass: whatever was cached, wherever it lies, whoever decodes along."""
    mixed = mixing_network()
    network = mixed.with_exactness(in_rows(mixed.weights, 64), Exactness(grid=64, shares_generated=False))
    tokens = prompt(210)

    def read(low: int, runs: list[Run]) -> Tensor:
        rows = [
            network.forward([piece(tokens, at, min(at + 64, 200), runs)])[0] for at in range(low, 200, 64)
        ]
        return torch.cat(rows)

    cold = [Run(0, 210)]
    expected = read(0, cold)
    warm = [Run(1000, 128), Run(3000, 60), Run(2000, 22)]
    network.write(Run(1000, 128), network.read(Run(0, 128)))
    assert torch.equal(read(128, warm), expected[128:])
    for at in range(200, 210):
        [alone] = network.forward([piece(tokens, at, at + 1, cold)])
        mates = [Piece((5,), 130, (Run(1000, 128), Run(5000 + 10 * number, 3))) for number in range(4)]
        beside = network.forward([*mates[:2], piece(tokens, at, at + 1, warm), *mates[2:]])[2]
        assert torch.equal(alone, beside)


def test_loading_falls_back_to_the_grid(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loading, "keeps_bits", lambda _: False)
    network, kernel = build(tiny_decoder(), settings_for(8192))
    assert network.exactness == Exactness(grid=64, shares_generated=False)
    assert kernel == "fp32-grid"
    assert "every 64 tokens" in caplog.text
    torch.testing.assert_close(
        straight(network, prompt(60)), straight(tiny_network(), prompt(60)), rtol=1e-4, atol=1e-4
    )
