"""Tiny networks of every family, and one sequence computed in whatever arrangement a test wants."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch import Tensor

from semcache.engine.forward import Piece
from semcache.engine.model.llama import LlamaNetwork
from semcache.engine.model.loading import Settings, build
from semcache.engine.modes import Precision
from semcache.engine.runs import Run, cut

VOCABULARY = 96
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 96,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "initializer_range": 0.2,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": 1,
}

FAMILIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "llama": (transformers.LlamaConfig, {}),
    "llama, one KV head each": (transformers.LlamaConfig, {"num_key_value_heads": 6}),
    "llama, many heads to one": (transformers.LlamaConfig, {"num_key_value_heads": 1}),
    "llama, biases, tied": (
        transformers.LlamaConfig,
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    ),
    "llama 3 rope": (
        transformers.LlamaConfig,
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 256,
            }
        },
    ),
    "yarn": (
        transformers.LlamaConfig,
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 512,
            }
        },
    ),
    "linear rope": (
        transformers.LlamaConfig,
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}},
    ),
    "mistral": (transformers.MistralConfig, {"sliding_window": None}),
    "qwen2": (transformers.Qwen2Config, {}),
    "qwen3": (transformers.Qwen3Config, {}),
}


def tiny_decoder(family: str = "llama", seed: int = 0, **changes: Any) -> Any:
    """A random transformers model; norms and biases are not what they begin as, so that forgetting one shows."""
    make_config, own = FAMILIES[family]
    torch.manual_seed(seed)
    config = make_config(**{**_SIZES, **own, **changes})
    model = transformers.AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def tiny_network(family: str = "llama", slots: int = 8192, **changes: Any) -> LlamaNetwork:
    network, _ = build(tiny_decoder(family, **changes), settings_for(slots))
    return network


def settings_for(slots: int, precision: Precision = Precision.AUTO, **changes: Any) -> Settings:
    """Settings for a pool of about `slots` slots of the tiny shape with six heads of keys at most."""
    return Settings(kv_bytes=slots * 2 * 2 * 2 * 32 * 4, precision=precision, **changes)


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(random.Random(seed).choices(range(VOCABULARY), k=length))


@dataclass
class Ground:
    """Hands out slots: in order, or scattered over the pool, never twice."""

    slots: int
    random: random.Random
    taken: int = 0
    free: list[Run] = field(default_factory=list)

    def straight(self, count: int) -> list[Run]:
        self.taken += count
        assert self.taken <= self.slots
        return [Run(self.taken - count, count)]

    def scattered(self, count: int) -> list[Run]:
        """Cut a stretch into runs of random lengths, in random order."""
        [whole] = self.straight(count)
        cuts = sorted(self.random.sample(range(1, count), min(count - 1, self.random.choice((0, 1, 3, 9)))))
        parts = [
            Run(whole.start + low, high - low) for low, high in zip([0, *cuts], [*cuts, count], strict=True)
        ]
        self.random.shuffle(parts)
        return parts


def piece(
    tokens: Sequence[int], low: int, high: int, runs: Sequence[Run], logits: int | None = None
) -> Piece:
    """Tokens `low` up to `high` of a sequence that lies in `runs`."""
    return Piece(
        tuple(tokens[low:high]), low, cut(tuple(runs), 0, high), high - low if logits is None else logits
    )


def straight(network: LlamaNetwork, tokens: Sequence[int], start: int = 0) -> Tensor:
    """All logits of a sequence computed at once in one run: [tokens, vocabulary]."""
    [found] = network.forward([piece(tokens, 0, len(tokens), [Run(start, len(tokens))])])
    return found


def kv_of(network: LlamaNetwork, runs: Sequence[Run]) -> Tensor:
    return torch.cat([network.read(run) for run in runs], 3)
