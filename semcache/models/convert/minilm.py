"""all-MiniLM-L6-v2: from its sentence-transformers folder to ONNX and a tokenizer that does not cut.

The upstream tokenizer.json cuts and pads to 128 tokens; the copy beside the ONNX file does neither,
so that its reader sees how long a text really is. The folder itself stays as `st/`.

Does NOT know: wheels, manifests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from semcache.models.convert.bert_graph import (
    INPUTS,
    OUTPUT,
    BertShape,
    Float32Weights,
    Int8Weights,
    write_bert,
)
from semcache.models.convert.report import Details, Report
from semcache.models.errors import ModelError


def convert_minilm(source: Path, target: Path, report: Report) -> Details:
    """Convert the folder `source/st` to the folder `target`.

    Raises:
        ModelError: the folder is not the expected BERT model.
    """
    origin = source / "st"
    config = _read_json(origin / "config.json")
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise ModelError("the package does not hold a BERT model; its content has changed")
    report("tokenizer", 0.0)
    tokenizer = _read_json(origin / "tokenizer.json")
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (target / "tokenizer.json").write_text(text, encoding="utf-8")
    vocabulary = tokenizer["model"]["vocab"]
    report("graph", 0.1)
    weights = Int8Weights(Float32Weights(load_file(origin / "model.safetensors")))
    write_bert(target / "model.onnx", _shape(config), weights)
    report("graph", 1.0)
    origin.rename(target / "st")
    return {
        "encoder": {
            "dim": config["hidden_size"],
            "window": _read_json(target / "st" / "sentence_bert_config.json")["max_seq_length"],
            "pooling": "mean",
            "normalise": True,
            "prefix": "",
            "onnx": "model.onnx",
            "tokenizer": "tokenizer.json",
            "st": "st",
            "inputs": list(INPUTS),
            "output": OUTPUT,
            "unknown_id": vocabulary["[UNK]"],
            "pad_id": vocabulary["[PAD]"],
        }
    }


def _shape(config: dict[str, Any]) -> BertShape:
    return BertShape(
        vocabulary=config["vocab_size"],
        hidden=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        positions=config["max_position_embeddings"],
        epsilon=config["layer_norm_eps"],
    )


def _read_json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
