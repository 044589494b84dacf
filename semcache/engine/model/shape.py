"""What kind of decoder a configuration describes, and whether this package can run it.

Reads a transformers configuration; knows no weights and no tensors. Everything that would need
another forward pass than the plain Llama one is refused here by name, and the comparison with
transformers' own forward (selfcheck) refuses what this list cannot know about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from semcache.errors import EngineError

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
"""Values of `model_type` whose forward pass is Llama's, with biases or q/k norms at most."""

STEADY_ROPE = ("default", "linear", "llama3", "yarn")
"""Rotary scalings whose angles depend on the position alone, never on the length of the sequence."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder. `groups` query heads share one KV head; `context` is in tokens."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context: int
    epsilon: float

    @property
    def groups(self) -> int:
        """Give the number of query heads to each KV head."""
        return self.heads // self.kv_heads

    @property
    def turned(self) -> int:
        """Give the width of queries and keys together: what the rotary embedding turns."""
        return (self.heads + self.kv_heads) * self.head_dim


def read_shape(config: Any) -> Shape:
    """Give the sizes that a transformers configuration describes.

    Raises:
        EngineError: the model needs something that this engine does not have; the message names it.
    """
    _refuse_others(config)
    heads = int(config.num_attention_heads)
    kv_heads = int(config.num_key_value_heads)
    head_dim = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
    if heads % kv_heads or head_dim % 2:
        raise EngineError(f"unsupported model: {heads} heads over {kv_heads} KV heads of {head_dim} values")
    return Shape(
        layers=int(config.num_hidden_layers),
        hidden=int(config.hidden_size),
        intermediate=int(config.intermediate_size),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=int(config.vocab_size),
        context=int(config.max_position_embeddings),
        epsilon=float(config.rms_norm_eps),
    )


def _refuse_others(config: Any) -> None:
    kind = getattr(config, "model_type", None)
    if kind not in FAMILIES:
        raise EngineError(f"unsupported model: type {kind!r} is none of {', '.join(FAMILIES)}")
    if getattr(config, "quantization_config", None) and not _is_dequantised(config):
        raise EngineError(
            "unsupported model: quantised weights (a GGUF file, or plain weights, can be loaded)"
        )
    if config.hidden_act != "silu":
        raise EngineError(f"unsupported model: activation {config.hidden_act!r}")
    layers = getattr(config, "layer_types", None) or ()
    if any(layer != "full_attention" for layer in layers) or _slides(config):
        raise EngineError("unsupported model: sliding-window or hybrid attention")
    _refuse_rope(config.rope_parameters or {})


def _slides(config: Any) -> bool:
    """True when some token could fall out of the window inside the model's own context."""
    if not getattr(config, "use_sliding_window", True):
        return False
    window = getattr(config, "sliding_window", None)
    return window is not None and int(window) < int(config.max_position_embeddings)


def _is_dequantised(config: Any) -> bool:
    """True for a GGUF file, whose weights transformers has turned into plain ones."""
    found = config.quantization_config
    method = found.get("quant_method") if isinstance(found, dict) else getattr(found, "quant_method", None)
    return str(getattr(method, "value", method)) == "gguf"


def _refuse_rope(parameters: dict[str, Any]) -> None:
    kind = parameters.get("rope_type", "default")
    if kind not in STEADY_ROPE:
        raise EngineError(f"unsupported model: rotary scaling {kind!r} changes with the length of the text")
    if float(parameters.get("partial_rotary_factor", 1.0)) != 1.0:
        raise EngineError("unsupported model: partial rotary embedding")
