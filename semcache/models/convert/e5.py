"""multilingual-e5-small: from the packed 4-bit file to ONNX and to a sentence-transformers folder.

The ONNX file keeps the 4-bit blocks as they are. The folder `st/` (for CUDA) holds them as float16:
a block value needs up to 14 bits of mantissa, float16 has 11, so it rounds by at most 1 in 2048 of a
weight, a hundredth of what the 4 bits themselves lost.

Does NOT know: wheels, manifests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semcache.models.convert.bert_graph import (
    INPUTS,
    OUTPUT,
    BertShape,
    Block4Weights,
    Blocks,
    write_bert,
)
from semcache.models.convert.e5_file import E5File
from semcache.models.convert.e5_tokenizer import e5_tokenizer
from semcache.models.convert.report import Details, Report
from semcache.models.convert.safetensors_file import LazyTensor, write_safetensors

_WINDOW: Final = 512
_ROWS: Final = 16_384  # de-quantised at a time: 25 MB
_LINEAR: Final = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS: Final = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def convert_e5(source: Path, target: Path, report: Report) -> Details:
    """Convert `source/model.bin` to the folder `target`.

    Raises:
        ModelError: the file is damaged or of another variant.
    """
    file = E5File(source / "model.bin")
    report("tokenizer", 0.0)
    tokenizer = e5_tokenizer(file.pieces, file.scores, file.special)
    text = tokenizer.to_str()
    folder = target / "st"
    folder.mkdir()
    for place in (target, folder):
        (place / "tokenizer.json").write_text(text, encoding="utf-8")
    report("graph", 0.2)
    weights = _weights(file)
    write_bert(target / "model.onnx", file.shape, weights)
    report("weights", 0.0)
    _write_folder(folder, file, weights, report)
    return {
        "encoder": {
            "dim": file.shape.hidden,
            "window": min(_WINDOW, file.shape.positions),
            "pooling": "mean",
            "normalise": True,
            "prefix": "query: ",
            "onnx": "model.onnx",
            "tokenizer": "tokenizer.json",
            "st": "st",
            "inputs": list(INPUTS),
            "output": OUTPUT,
            "unknown_id": file.special.unknown,
            "pad_id": file.special.pad,
        }
    }


def _weights(file: E5File) -> Block4Weights:
    hidden, inner = file.shape.hidden, file.shape.inner
    arrays = {
        "embeddings.position_embeddings.weight": file.floats("emb.pos").reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": file.floats("emb.type").reshape(-1, hidden),
        "embeddings.LayerNorm.weight": file.floats("emb.ln.w"),
        "embeddings.LayerNorm.bias": file.floats("emb.ln.b"),
    }
    blocks = {"embeddings.word_embeddings.weight": file.blocks("emb.word", hidden)}
    for layer in range(file.shape.layers):
        ours, theirs = f"encoder.layer.{layer}.", f"l{layer}."
        for short, name in _LINEAR.items():
            width = inner if short == "fo" else hidden
            blocks[f"{ours}{name}.weight"] = file.blocks(f"{theirs}{short}.w", width)
            arrays[f"{ours}{name}.bias"] = file.floats(f"{theirs}{short}.b")
        for short, name in _NORMS.items():
            arrays[f"{ours}{name}.weight"] = file.floats(f"{theirs}{short}.w")
            arrays[f"{ours}{name}.bias"] = file.floats(f"{theirs}{short}.b")
    return Block4Weights(arrays, blocks)


def _write_folder(folder: Path, file: E5File, weights: Block4Weights, report: Report) -> None:
    pieces, special, shape = file.pieces, file.special, file.shape
    _write_json(folder / "config.json", _config(shape, special.pad))
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": pieces[special.begin],
            "cls_token": pieces[special.begin],
            "eos_token": pieces[special.end],
            "sep_token": pieces[special.end],
            "pad_token": pieces[special.pad],
            "unk_token": pieces[special.unknown],
            "clean_up_tokenization_spaces": False,
            "model_max_length": _WINDOW,
        },
    )
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(kinds.items())
    ]
    _write_json(folder / "modules.json", modules)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": _WINDOW, "do_lower_case": False})
    for path in ("1_Pooling", "2_Normalize"):
        (folder / path).mkdir()
    _write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": True},
    )
    _write_json(folder / "2_Normalize" / "config.json", {})
    tensors = dict(_tensors(weights))
    write_safetensors(
        folder / "model.safetensors", tensors, "float16", lambda share: report("weights", share)
    )


def _tensors(weights: Block4Weights) -> Iterator[tuple[str, LazyTensor]]:
    for name, blocks in weights.blocks.items():
        rows, count, width = blocks.nibbles.shape
        yield name, LazyTensor((rows, count * width), partial(_dense_pieces, blocks))
    for name, values in weights.arrays.items():
        yield name, LazyTensor(values.shape, partial(_whole, values))
    # Mean pooling uses no pooler; without these zeros transformers would draw random ones and warn.
    hidden = len(weights.arrays["embeddings.LayerNorm.weight"])
    for name, shape in (("pooler.dense.weight", (hidden, hidden)), ("pooler.dense.bias", (hidden,))):
        yield name, LazyTensor(shape, partial(_whole, np.zeros(shape, np.float32)))


def _dense_pieces(blocks: Blocks) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(blocks.scales), _ROWS):
        rows = slice(start, start + _ROWS)
        yield Blocks(blocks.nibbles[rows], blocks.scales[rows]).dense()


def _whole(values: NDArray[np.float32]) -> tuple[NDArray[np.float32]]:
    return (values,)


def _config(shape: BertShape, pad: int) -> dict[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": 2,
        "layer_norm_eps": shape.epsilon,
        "pad_token_id": pad,
        "hidden_act": "gelu",
        # The file holds float16; transformers computes in what is written here.
        "dtype": "float32",
        "torch_dtype": "float32",
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
