"""A tiny Llama as GGUF, written by the gguf library, through the conversion."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
import transformers

from semcache.models import ModelError
from semcache.models.convert.smollm2 import convert_smollm2

HIDDEN, INNER, HEADS, KV, LAYERS = 64, 96, 4, 2, 2
TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "a",
    "b",
    "ab",
    "Ġ",
    "Ġa",
    "1",
    "2",
    "Ċ",
    "ð",
    "Ł",
    "Ļ",
    "Ĥ",
]
MERGES = ["a b", "Ġ a"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"


def interleave(rows: np.ndarray, heads: int) -> np.ndarray:
    """What llama.cpp does to query and key rows when it writes a GGUF file (its `permute`)."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def write_gguf(path: Path, reference: transformers.LlamaForCausalLM, pre: str = "smollm") -> None:
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {
        "vocab_size": len(TOKENS), "context_length": 128, "embedding_length": HIDDEN, "block_count": LAYERS,
        "feed_forward_length": INNER, "attention.head_count": HEADS, "attention.head_count_kv": KV,
    }.items():  # fmt: skip
        writer.add_uint32(f"llama.{name}", value)
    writer.add_float32("llama.rope.freq_base", 1000.0)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3] + [1] * (len(TOKENS) - 3))
    writer.add_token_merges(MERGES)
    for name, index in (("bos", 1), ("eos", 2), ("unknown", 0), ("padding", 2)):
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", index)
    writer.add_chat_template(TEMPLATE)
    weights = {name: value.numpy() for name, value in reference.state_dict().items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(LAYERS):
        theirs, ours = f"model.layers.{layer}.", f"blk.{layer}."
        attention, mlp = f"{theirs}self_attn.", f"{theirs}mlp."
        for name, values in {
            "attn_q": interleave(weights[f"{attention}q_proj.weight"], HEADS),
            "attn_k": interleave(weights[f"{attention}k_proj.weight"], KV),
            "attn_v": weights[f"{attention}v_proj.weight"],
            "attn_output": weights[f"{attention}o_proj.weight"],
            "ffn_gate": weights[f"{mlp}gate_proj.weight"],
            "ffn_up": weights[f"{mlp}up_proj.weight"],
            "ffn_down": weights[f"{mlp}down_proj.weight"],
            "attn_norm": weights[f"{theirs}input_layernorm.weight"],
            "ffn_norm": weights[f"{theirs}post_attention_layernorm.weight"],
        }.items():
            writer.add_tensor(f"{ours}{name}.weight", np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def reference_model() -> transformers.LlamaForCausalLM:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=True,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("smollm2")
    (root / "made").mkdir()
    write_gguf(root / "model.gguf", reference_model())
    details = convert_smollm2(root, root / "made", lambda step, fraction: None)
    assert details == {"lm": {"context": 128, "dtype": "float32"}}
    return root / "made"


def test_the_folder_computes_what_the_original_did(made: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(made)
    assert model.dtype == torch.float32
    ids = torch.arange(len(TOKENS))[None]
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, reference_model()(ids).logits)


def test_the_end_of_turn_token_ends_generation(made: Path) -> None:
    assert transformers.AutoModelForCausalLM.from_pretrained(made).generation_config.eos_token_id == 2


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ab", [5]),
        ("a ab", [3, 6, 5]),
        (" a", [7]),
        ("12", [8, 9]),
        (" 1", [6, 8]),
        ("ab<|im_end|>", [5, 2]),
        ("🙂", [11, 12, 13, 14]),
    ],
)
def test_token_ids(made: Path, text: str, ids: list[int]) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(made)
    assert tokenizer(text)["input_ids"] == ids
    assert tokenizer.decode(ids) == text


def test_the_chat_template_comes_along(made: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(made)
    chat = [{"role": "user", "content": "ab"}]
    assert tokenizer.apply_chat_template(chat, tokenize=True, return_dict=True)["input_ids"] == [1, 5, 2]
    assert (tokenizer.eos_token, tokenizer.pad_token, tokenizer.model_max_length) == (
        "<|im_end|>",
        "<|im_end|>",
        128,
    )


def test_another_pre_tokenizer_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", reference_model(), pre="qwen2")
    with pytest.raises(ModelError, match=r"tokenizer\.ggml\.pre other than smollm"):
        convert_smollm2(tmp_path, tmp_path, lambda step, fraction: None)
