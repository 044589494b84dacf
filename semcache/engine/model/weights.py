"""A transformers checkpoint's weights, taken over layer by layer and fused for few, large products.

The module is emptied while this goes on, so that at most one layer's weights exist twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from semcache.engine.model.linear import InRows, Linear, LinearMaker
from semcache.engine.model.rotary import paired
from semcache.engine.model.shape import Shape


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One decoder layer. `turned_norm` [heads + KV heads, head dim] is there for models that norm queries and keys."""

    norm: Tensor
    mix: Linear
    turned_norm: Tensor | None
    out: Linear
    after_norm: Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class Weights:
    """A whole decoder: embedding table [vocabulary, hidden], layers, last norm, head."""

    table: Tensor
    layers: tuple[LayerWeights, ...]
    norm: Tensor
    head: Linear


def in_rows(weights: Weights, count: int) -> Weights:
    """Give the same weights with products that always see exactly `count` rows at a time."""
    layers = tuple(
        replace(
            layer,
            mix=InRows(layer.mix, count),
            out=InRows(layer.out, count),
            gate_up=InRows(layer.gate_up, count),
            down=InRows(layer.down, count),
        )
        for layer in weights.layers
    )
    return replace(weights, layers=layers, head=InRows(weights.head, count))


@torch.inference_mode()
def take_weights(model: Any, shape: Shape, make: LinearMaker) -> Weights:
    """Take a causal model's weights over; the model is empty afterwards."""
    decoder = model.model
    table = decoder.embed_tokens.weight.detach()
    head_weight = model.lm_head.weight.detach()
    head = make(head_weight, _bias(model.lm_head))
    norm = decoder.norm.weight.detach()
    _empty(model.lm_head)
    layers: list[LayerWeights] = []
    for module in decoder.layers:
        layers.append(_layer(module, shape, make))
        _empty(module)
    _empty(model)
    return Weights(table=table, layers=tuple(layers), norm=norm, head=head)


def _layer(module: Any, shape: Shape, make: LinearMaker) -> LayerWeights:
    attention, mlp = module.self_attn, module.mlp
    query_norm = getattr(attention, "q_norm", None)
    # The softmax's scale goes into the queries once, and for all.
    scale = shape.head_dim**-0.5
    query_scale = 1.0 if query_norm is not None else scale
    dim = shape.head_dim

    def mixed(read: Any) -> Tensor:
        query, key, value = read(attention.q_proj), read(attention.k_proj), read(attention.v_proj)
        return torch.cat([paired(query, dim) * query_scale, paired(key, dim), value])

    has_bias = attention.q_proj.bias is not None
    turned_norm = None
    if query_norm is not None:
        turned_norm = torch.cat(
            [
                (paired(query_norm.weight, dim) * scale).expand(shape.heads, -1),
                paired(attention.k_norm.weight, dim).expand(shape.kv_heads, -1),
            ]
        ).detach()
    return LayerWeights(
        norm=module.input_layernorm.weight.detach(),
        mix=make(mixed(_weight), mixed(_bias) if has_bias else None),
        turned_norm=turned_norm,
        out=make(_weight(attention.o_proj), _bias(attention.o_proj)),
        after_norm=module.post_attention_layernorm.weight.detach(),
        gate_up=make(
            torch.cat([_weight(mlp.gate_proj), _weight(mlp.up_proj)]),
            None if mlp.gate_proj.bias is None else torch.cat([mlp.gate_proj.bias, mlp.up_proj.bias]),
        ),
        down=make(_weight(mlp.down_proj), _bias(mlp.down_proj)),
    )


def _weight(module: Any) -> Tensor:
    weight: Tensor = module.weight.detach()
    return weight


def _bias(module: Any) -> Tensor | None:
    return None if module.bias is None else module.bias.detach()


def _empty(module: Any) -> None:
    """Let go of a module's parameters."""
    for parameter in module.parameters():
        parameter.data = parameter.data.new_empty(0)
