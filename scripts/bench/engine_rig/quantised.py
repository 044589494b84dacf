"""Makes the other side's model: a Q4_0 GGUF file from the folder that our engine reads.

Every matrix is Q4_0; norms stay float32; the embedding, which is the output matrix, too, is Q8_0, since
that is what llama.cpp's own quantiser writes where a row (576 here) is no multiple of 256.
`embedding="Q4_0"` writes that one as Q4_0, too. The file is kept in the user's cache under a name that
tells model and types, and made again when the weights change.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType, quants
from safetensors import safe_open

_PARTS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def cache_folder() -> Path:
    """Where made files are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "semcache" / "bench"


def gguf_of(folder: Path, embedding: str = "Q8_0") -> Path:
    """Give the GGUF file of a model folder, making it when it is not there."""
    weights = folder / "model.safetensors"
    stamp = f"{weights.stat().st_size:x}-{weights.stat().st_mtime_ns:x}"
    path = cache_folder() / f"{folder.name}-Q4_0-{embedding}-{stamp}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            made = Path(scratch) / "model.gguf"
            _write(folder, made, GGMLQuantizationType[embedding])
            made.replace(path)
    return path


def _write(folder: Path, path: Path, embedding: GGMLQuantizationType) -> None:
    config = json.loads((folder / "config.json").read_text())
    writer = GGUFWriter(path, "llama")
    _describe(writer, folder.name, config)
    _add_tokenizer(writer, folder, config)
    with safe_open(folder / "model.safetensors", "numpy") as file:
        for name in file.keys():  # noqa: SIM118 - no mapping
            tensor = file.get_tensor(name).astype(np.float32)
            theirs = _name(name)
            if theirs.endswith(("attn_q.weight", "attn_k.weight")):
                kind = "num_attention_heads" if "attn_q" in theirs else "num_key_value_heads"
                tensor = interleave(tensor, config[kind])
            _add(writer, theirs, tensor, embedding)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: GGUFWriter, name: str, tensor: np.ndarray, embedding: GGMLQuantizationType) -> None:
    if tensor.ndim == 1:
        writer.add_tensor(name, tensor)
        return
    kind = embedding if name == "token_embd.weight" else GGMLQuantizationType.Q4_0
    writer.add_tensor(name, quants.quantize(tensor, kind), raw_dtype=kind)


def interleave(rows: np.ndarray, heads: int) -> np.ndarray:
    """Put the rows of each head from (0, 1, ..., d-1) into the order (0, d/2, 1, d/2+1, ...)."""
    out, width = rows.shape
    return rows.reshape(heads, 2, out // heads // 2, width).swapaxes(1, 2).reshape(out, width)


def _name(name: str) -> str:
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    if name == "lm_head.weight":
        return "output.weight"
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{_PARTS[part]}.weight"


def _describe(writer: GGUFWriter, name: str, config: dict[str, Any]) -> None:
    writer.add_name(name)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(LlamaFileType.MOSTLY_Q4_0)
    writer.add_quantization_version(2)


def _add_tokenizer(writer: GGUFWriter, folder: Path, config: dict[str, Any]) -> None:
    """Describe a byte-level BPE with single digits, which the format names by its first user."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    control = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types(
        [TokenType.CONTROL if index in control else TokenType.NORMAL for index in range(len(vocabulary))]
    )
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_unk_token_id(vocabulary[settings["unk_token"]])
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(settings["chat_template"])
