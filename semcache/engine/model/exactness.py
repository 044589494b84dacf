"""Does this machine keep the promise? Real weights, made-up keys, and the same tokens in several arrangements.

The products of a processor that nobody measured, of several threads, or of a GPU may depend on
the number of rows. So at load every network is asked the same question alone, in parts, beside
others and on scattered slots; only equal bits everywhere allow `Exactness()`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from semcache.engine.forward import Piece
from semcache.engine.model.llama import LlamaNetwork
from semcache.engine.model.weights import Weights
from semcache.engine.runs import Run

_PAST = 141
"""Made-up tokens before the asked ones: one whole block of keys and a part of the next."""

_ASKED = 6
_NEEDED = 4 * (_PAST + _ASKED)


@torch.inference_mode()
def keeps_bits(network: LlamaNetwork) -> bool:
    """Try whether bits depend on rows, cuts, layout or neighbours. Leaves the used slots zero.

    False for a pool too small to try.
    """
    if network.slots < _NEEDED:
        return False
    try:
        return _passes_agree(network)
    finally:
        network.clear([Run(0, _NEEDED)])


@torch.inference_mode()
def rows_stand_alone(weights: Weights, hidden: int) -> bool:
    """Try whether a row of the first layer's products, and of the head, has the same bits in any number of rows."""
    first = weights.layers[0]
    generator = torch.Generator().manual_seed(1)
    for product, counts in ((first.mix, (64, 256)), (first.gate_up, (64, 192)), (weights.head, (9,))):
        x = torch.randn(max(counts), hidden, generator=generator).to(weights.table)
        whole = product(x)
        for rows in (1, 2, 3, 4, 5, 8, 13, *counts):
            start = (len(x) - rows) // 2
            if not torch.equal(product(x[start : start + rows].clone()), whole[start : start + rows]):
                return False
    return True


def _passes_agree(network: LlamaNetwork) -> bool:
    vocabulary = network.shape.vocabulary
    tokens = tuple((7919 * number + 11) % vocabulary for number in range(_ASKED))
    straight, scattered = _lay_out(network)
    end = _PAST + _ASKED

    def ask(low: int, high: int, runs: tuple[Run, ...]) -> Piece:
        return Piece(tokens[low:high], _PAST + low, runs, high - low)

    def upto(position: int, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        kept: list[Run] = []
        for run in runs:
            length = min(run.length, position)
            position -= length
            kept += [Run(run.start, length)] if length else []
        return tuple(kept)

    [expected] = network.forward([ask(0, _ASKED, straight)])
    expected_kv = network.read(Run(straight[0].start + _PAST, _ASKED))
    parts = [network.forward([ask(low, high, upto(_PAST + high, scattered))])[0] for low, high in _CUTS]
    if not torch.equal(torch.cat(parts), expected) or not torch.equal(_kv(network, scattered), expected_kv):
        return False
    mates = _mates(network, straight[0], end)
    found = network.forward([*mates[:1], ask(0, _ASKED, straight), *mates[1:]])
    kv = network.read(Run(straight[0].start + _PAST, _ASKED))
    return torch.equal(found[1], expected) and torch.equal(kv, expected_kv)


_CUTS = ((0, 1), (1, 3), (3, _ASKED))


def _lay_out(network: LlamaNetwork) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Fill a past twice with the same numbers: in one run, and scattered over several."""
    shape = network.shape
    generator = torch.Generator().manual_seed(0)
    size = (2, shape.layers, shape.kv_heads, _PAST, shape.head_dim)
    past = torch.randn(size, generator=generator).to(network.read(Run(0, 0)).dtype)
    end = _PAST + _ASKED
    straight = Run(0, end)
    network.write(Run(0, _PAST), past)
    # Runs out of order: in place, across a block's border, and a lone token at the end.
    lengths = (17, 64, 50, 12, _ASKED - 2, 0)
    scattered: list[Run] = []
    at, place = 0, 2 * end
    for length in lengths:
        size_here = length or end - at
        place -= size_here
        scattered.append(Run(place, size_here))
        kept = min(at + size_here, _PAST) - at
        if kept > 0:
            network.write(Run(place, kept), past[:, :, :, at : at + kept])
        at += size_here
    return (straight,), tuple(scattered)


def _kv(network: LlamaNetwork, runs: tuple[Run, ...]) -> Tensor:
    """Read the last `_ASKED` slots of a sequence."""
    return torch.cat([network.read(run) for run in runs], 3)[:, :, :, -_ASKED:]


def _mates(network: LlamaNetwork, shared: Run, end: int) -> list[Piece]:
    """Make neighbours: some that share most of the past with the asked one, and a stranger."""
    vocabulary = network.shape.vocabulary
    start = 2 * end
    pieces: list[Piece] = []
    for number, count in enumerate((1, 3)):
        runs = (Run(shared.start, _PAST), Run(start, count))
        tokens = tuple((104729 * (number + at + 1)) % vocabulary for at in range(count))
        pieces.append(Piece(tokens, _PAST, runs))
        start += count
    stranger = tuple((31 * at + 5) % vocabulary for at in range(11))
    pieces.append(Piece(stranger, 0, (Run(start, len(stranger)),)))
    return pieces
