"""A transformers checkpoint's weights, taken over layer by layer and fused for few, large products.

The module is emptied while this goes on, so that at most one layer's weights exist twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from semcache.engine.model.linear import InRows, Linear, LinearMaker
from semcache.engine.model.norm import Norm, NormPlace, split_norm
from semcache.engine.model.rotary import paired
from semcache.engine.model.shape import Shape


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One decoder layer.

    `mix` gives queries, keys and values side by side; the softmax's scale is part of the queries.
    `turned_norm` [heads + KV heads, head dim] is there for models that norm queries and keys.
    """

    norm: Norm
    mix: Linear
    turned_norm: Tensor | None
    out: Linear
    after_norm: Norm
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class Weights:
    """A whole decoder: embedding table [vocabulary, hidden], layers, last norm, head."""

    table: Tensor
    layers: tuple[LayerWeights, ...]
    norm: Norm
    head: Linear


@dataclass(frozen=True, slots=True)
class Recipe:
    """How weights are kept: who makes the products and the head, and where norms' weights go."""

    make: LinearMaker
    make_head: LinearMaker
    norms: NormPlace


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
def take_weights(model: Any, shape: Shape, recipe: Recipe) -> Weights:
    """Take a causal model's weights over; the model is empty afterwards."""
    decoder = model.model
    # A copy: a view would keep the whole checkpoint file mapped.
    table = decoder.embed_tokens.weight.detach().clone()
    norm, columns = split_norm(decoder.norm.weight.detach(), shape.epsilon, recipe.norms)
    head = recipe.make_head(_scaled(_weight(model.lm_head), columns), _bias(model.lm_head))
    _empty(model.lm_head)
    layers: list[LayerWeights] = []
    for module in decoder.layers:
        layers.append(_layer(module, shape, recipe))
        _empty(module)
    _empty(model)
    return Weights(table=table, layers=tuple(layers), norm=norm, head=head)


def _layer(module: Any, shape: Shape, recipe: Recipe) -> LayerWeights:
    attention, mlp = module.self_attn, module.mlp
    norm, columns = _norm(module.input_layernorm, shape, recipe)
    after_norm, after_columns = _norm(module.post_attention_layernorm, shape, recipe)
    return LayerWeights(
        norm=norm,
        mix=recipe.make(
            _scaled(_mixed(attention, shape, "weight"), columns),
            None if attention.q_proj.bias is None else _mixed(attention, shape, "bias"),
        ),
        turned_norm=_turned_norm(attention, shape),
        out=recipe.make(_weight(attention.o_proj), _bias(attention.o_proj)),
        after_norm=after_norm,
        gate_up=recipe.make(
            _scaled(torch.cat([_weight(mlp.gate_proj), _weight(mlp.up_proj)]), after_columns),
            None if mlp.gate_proj.bias is None else torch.cat([mlp.gate_proj.bias, mlp.up_proj.bias]),
        ),
        down=recipe.make(_weight(mlp.down_proj), _bias(mlp.down_proj)),
    )


def _mixed(attention: Any, shape: Shape, name: str) -> Tensor:
    """Put queries', keys' and values' rows of weights or biases together."""
    query, key, value = (
        getattr(part, name).detach() for part in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    dim = shape.head_dim
    scale = 1.0 if _has_turned_norm(attention) else _softmax_scale(shape)
    return torch.cat([paired(query, dim) * scale, paired(key, dim), value])


def _turned_norm(attention: Any, shape: Shape) -> Tensor | None:
    if not _has_turned_norm(attention):
        return None
    query = paired(attention.q_norm.weight.detach(), shape.head_dim) * _softmax_scale(shape)
    key = paired(attention.k_norm.weight.detach(), shape.head_dim)
    return torch.cat([query.expand(shape.heads, -1), key.expand(shape.kv_heads, -1)])


def _has_turned_norm(attention: Any) -> bool:
    return getattr(attention, "q_norm", None) is not None


def _softmax_scale(shape: Shape) -> float:
    """Give what scores are multiplied by; it goes into the queries once and for all."""
    return 1 / math.sqrt(shape.head_dim)


def _norm(module: Any, shape: Shape, recipe: Recipe) -> tuple[Norm, Tensor | None]:
    return split_norm(module.weight.detach(), shape.epsilon, recipe.norms)


def _scaled(weight: Tensor, columns: Tensor | None) -> Tensor:
    return weight if columns is None else weight * columns


def _weight(module: Any) -> Tensor:
    weight: Tensor = module.weight.detach()
    return weight


def _bias(module: Any) -> Tensor | None:
    return None if module.bias is None else module.bias.detach().clone()


def _empty(module: Any) -> None:
    """Let go of a module's parameters."""
    for parameter in module.parameters():
        parameter.data = parameter.data.new_empty(0)
