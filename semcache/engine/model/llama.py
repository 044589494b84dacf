"""A fused forward pass of Llama-shaped decoders over a pool of KV slots.

Knows weights and tensors; what a pass consists of comes from `plan`, where keys lie is
`attention`'s. Every operation here works on each row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu

from semcache.engine.forward import Exactness, Piece
from semcache.engine.model.attention import Attention
from semcache.engine.model.plan import Plan, plan
from semcache.engine.model.pool import KvPool
from semcache.engine.model.rotary import turn
from semcache.engine.model.sdpa import SdpaAttention
from semcache.engine.model.shape import Shape
from semcache.engine.model.weights import LayerWeights, Weights
from semcache.engine.runs import Run

Attend = Callable[[int, Tensor], Tensor]
"""Takes a layer's number and its queries, keys and values; gives what the rows attended to."""


class Way(Enum):
    """How rows attend.

    JOINT: shared prefixes once for all. APART: every sequence in products of its own. FUSED:
    torch's fused kernel, for GPUs. FUSED_APART: the same, with calls of its own for every sequence.
    """

    JOINT = auto()
    APART = auto()
    FUSED = auto()
    FUSED_APART = auto()


def usual_way(device: torch.device, exactness: Exactness) -> Way:
    """Choose for a device; where bits depend on shapes (a grid), sequences must not share calls."""
    is_alone = exactness.grid > 1
    if device.type == "cpu":
        return Way.APART if is_alone else Way.JOINT
    return Way.FUSED_APART if is_alone else Way.FUSED


class LlamaNetwork:
    """The `Network` of semcache.engine.forward for Llama-shaped models.

    `angles` are complex64 [context, head dim / 2]; `way` is the usual one unless given. Belongs
    to one thread.
    """

    def __init__(
        self,
        shape: Shape,
        weights: Weights,
        angles: Tensor,
        pool: KvPool,
        exactness: Exactness,
        way: Way | None = None,
    ) -> None:
        self.shape = shape
        self.exactness = exactness
        self._way = way or usual_way(angles.device, exactness)
        self.weights = weights
        self._angles = angles
        self._pool = pool

    def with_exactness(self, weights: Weights, exactness: Exactness, way: Way | None = None) -> LlamaNetwork:
        """Give a network over the same pool that computes with `weights` and keeps another promise."""
        return LlamaNetwork(self.shape, weights, self._angles, self._pool, exactness, way)

    @property
    def slots(self) -> int:
        """Give the capacity of the pool in tokens."""
        return self._pool.slots

    @property
    def bytes_per_slot(self) -> int:
        """Give the memory of one token's keys and values over all layers."""
        return self._pool.bytes_per_slot

    @torch.inference_mode()
    def forward(self, pieces: Sequence[Piece]) -> list[Tensor]:
        """Run the model over new tokens of several sequences; float32 [logits, vocabulary] for each.

        Raises:
            MemoryError: no room for this pass; only the new tokens' slots may have changed.
            ValueError: pieces that contradict themselves.
        """
        if not pieces:
            return []
        layout = plan(pieces, self._pool.slots, is_joint=self._way is Way.JOINT)
        with memory_errors():
            device = self._angles.device
            attention = self._attention(layout)
            x = self.weights.table[torch.tensor(layout.tokens, device=device)]
            angles = self._angles[torch.tensor(layout.positions, device=device)]
            for number, layer in enumerate(self.weights.layers):
                self._layer(number, layer, x, angles, attention)
            if not layout.outputs:
                return [torch.empty(0, self.shape.vocabulary) for _ in pieces]
            x = x[torch.tensor(layout.outputs, device=device)]
            logits = self.weights.head(self.weights.norm(x)).float().cpu()
        return list(torch.split(logits, list(layout.counts)))

    def _attention(self, layout: Plan) -> Attend:
        match self._way:
            case Way.JOINT | Way.APART:
                return Attention(layout, self.shape, self._pool)
            case Way.FUSED:
                return SdpaAttention(layout, self.shape, self._pool, is_batched=True)
            case Way.FUSED_APART:
                return SdpaAttention(layout, self.shape, self._pool, is_batched=False)

    def _layer(self, number: int, layer: LayerWeights, x: Tensor, angles: Tensor, attention: Attend) -> None:
        """Add one layer to [tokens, hidden] in place."""
        shape = self.shape
        mixed = layer.mix(layer.norm(x))
        vectors = torch.unflatten(mixed[:, : shape.turned], 1, (-1, shape.head_dim))
        if layer.turned_norm is not None:
            vectors.copy_(rms_norm(vectors, (shape.head_dim,), None, shape.epsilon).mul_(layer.turned_norm))
        turn(vectors, angles)
        x.add_(layer.out(attention(number, mixed)))
        both = layer.gate_up(layer.after_norm(x))
        inner = shape.intermediate
        x.add_(layer.down(silu(both[:, :inner]).mul_(both[:, inner:])))

    def clear(self, runs: Sequence[Run]) -> None:
        """Zero slots."""
        self._pool.clear(runs)

    def read(self, run: Run) -> Tensor:
        """Copy a run's keys and values to the host: [2, layers, KV heads, length, head dim]."""
        return self._pool.read(run)

    def write(self, run: Run, values: Tensor) -> None:
        """Put back what `read` gave, into a run of equal length."""
        self._pool.write(run, values)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn torch's two ways to say that memory is short into MemoryError."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError("the device has no room for this pass") from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "can't allocate memory" in str(error):
            raise MemoryError("no room for this pass") from error
        raise
