"""SmolLM2 from its GGUF file to a transformers folder: weights, config, tokenizer, chat template.

Weights are de-quantised to float32 exactly as the file says (transformers needs a minute and a half
for the same through its own GGUF path). Query and key rows are put back into the order of
transformers: GGUF interleaves the two halves that rotary embedding pairs.

Tokenizer: byte-level BPE after splitting off single digits, which is what the pre-tokenizer named
`smollm` in the file means in llama.cpp (src/llama-vocab.cpp). The GGUF path of transformers leaves
the digit splitting out, so its ids differ beside digits.

Does NOT know: wheels, manifests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from semcache.models.convert.gguf_file import GgufFile
from semcache.models.convert.report import Details, Report
from semcache.models.convert.safetensors_file import LazyTensor, write_safetensors
from semcache.models.errors import ModelError

_CONTROL: Final = 3  # llama.cpp's token type for control tokens, such as <|im_end|>
_LAYER_PARTS: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def convert_smollm2(source: Path, target: Path, report: Report) -> Details:
    """Convert `source/model.gguf` to the folder `target`.

    Raises:
        ModelError: the file is damaged or of another architecture or tokenizer.
    """
    file = GgufFile(source / "model.gguf")
    _require(file, "general.architecture", "llama")
    _require(file, "tokenizer.ggml.model", "gpt2")
    _require(file, "tokenizer.ggml.pre", "smollm")
    config = _config(file)
    report("tokenizer", 0.0)
    _write_tokenizer(file, target)
    _write_json(target / "config.json", config)
    _write_json(
        target / "generation_config.json",
        {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
    )
    write_safetensors(
        target / "model.safetensors",
        _tensors(file, config),
        "float32",
        lambda share: report("weights", share),
    )
    return {"lm": {"context": config["max_position_embeddings"], "dtype": "float32"}}


def _require(file: GgufFile, key: str, value: str) -> None:
    if file.fields.get(key) != value:
        raise ModelError(f"the GGUF file has {key} other than {value}; this converter cannot read it")


def _config(file: GgufFile) -> dict[str, Any]:
    field = file.field
    hidden, heads = field("llama.embedding_length"), field("llama.attention.head_count")
    theta = field("llama.rope.freq_base")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": field("llama.vocab_size"),
        "hidden_size": hidden,
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        "head_dim": hidden // heads,
        "max_position_embeddings": field("llama.context_length"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        # Both spellings: transformers 5 reads the first, older releases the second.
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "rope_theta": theta,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": "output.weight" not in file.names,
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "pad_token_id": field("tokenizer.ggml.padding_token_id"),
        "dtype": "float32",
    }


def _tensors(file: GgufFile, config: dict[str, Any]) -> dict[str, LazyTensor]:
    hidden, head = config["hidden_size"], config["head_dim"]
    inner = config["intermediate_size"]
    queries, keys = config["num_attention_heads"], config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm": (hidden,),
        "attn_q": (queries * head, hidden),
        "attn_k": (keys * head, hidden),
        "attn_v": (keys * head, hidden),
        "attn_output": (hidden, queries * head),
        "ffn_norm": (hidden,),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }
    interleaved = {"attn_q": queries, "attn_k": keys}

    def load(name: str, heads: int = 0) -> Callable[[], list[NDArray[np.float32]]]:
        return lambda: [_uninterleave(file.tensor(name), heads) if heads else file.tensor(name)]

    vocabulary = (config["vocab_size"], hidden)
    tensors = {"model.embed_tokens.weight": LazyTensor(vocabulary, load("token_embd.weight"))}
    for layer in range(config["num_hidden_layers"]):
        for part, ours in _LAYER_PARTS.items():
            make = load(f"blk.{layer}.{part}.weight", interleaved.get(part, 0))
            tensors[f"model.layers.{layer}.{ours}.weight"] = LazyTensor(shapes[part], make)
    tensors["model.norm.weight"] = LazyTensor((hidden,), load("output_norm.weight"))
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = LazyTensor(vocabulary, load("output.weight"))
    return tensors


def _uninterleave(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of each head from (0, d/2, 1, d/2+1, ...) back to (0, 1, ..., d-1)."""
    out, width = rows.shape
    return rows.reshape(heads, out // heads // 2, 2, width).swapaxes(1, 2).reshape(out, width)


def _write_tokenizer(file: GgufFile, target: Path) -> None:
    tokens: Any = file.field("tokenizer.ggml.tokens")
    types: Any = file.field("tokenizer.ggml.token_type")
    merges: Any = file.field("tokenizer.ggml.merges")
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ", 1)) for merge in merges],
            fuse_unk=False,
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    tokenizer.save(str(target / "tokenizer.json"), pretty=False)

    def special(name: str) -> str:
        index: Any = file.field(f"tokenizer.ggml.{name}_token_id")
        return str(tokens[index])

    _write_json(
        target / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": special("bos"),
            "eos_token": special("eos"),
            "unk_token": special("unknown"),
            "pad_token": special("padding"),
            "add_bos_token": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": file.field("llama.context_length"),
            "chat_template": file.field("tokenizer.chat_template"),
        },
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
