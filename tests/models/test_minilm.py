"""A tiny BERT folder through the conversion, against transformers itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import transformers
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models, pre_tokenizers

from semcache.models import ModelError
from semcache.models.convert.bert_graph import Float32Weights, write_bert
from semcache.models.convert.minilm import _shape, convert_minilm

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dose", "query", "of"]


def make_folder(root: Path) -> Path:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=20,
    )
    folder = root / "st"
    model = transformers.BertModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases too: fresh ones are zero and would hide a mistake
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    return folder


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    root = tmp_path_factory.mktemp("minilm")
    make_folder(root / "source")
    (root / "made").mkdir()
    return root / "made", convert_minilm(root / "source", root / "made", lambda step, fraction: None)


def test_details_say_what_a_reader_needs(converted: tuple[Path, dict]) -> None:
    details = converted[1]["encoder"]
    assert (details["dim"], details["window"], details["prefix"]) == (32, 16, "")
    assert (details["unknown_id"], details["pad_id"]) == (1, 0)


def test_the_int8_file_is_near_what_transformers_computes(converted: tuple[Path, dict]) -> None:
    """One text a pass: activations are scaled over whatever is in it."""
    folder = converted[0]
    model = transformers.AutoModel.from_pretrained(folder / "st").eval()
    run = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    for ids in np.random.default_rng(3).integers(0, len(WORDS), (8, 1, 9)):
        ours = run.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].ravel()
        with torch.no_grad():
            theirs = model(torch.tensor(ids)).last_hidden_state.numpy()[0].ravel()
        assert ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs) > 0.995


def test_the_float_graph_computes_what_transformers_does(
    converted: tuple[Path, dict], tmp_path: Path
) -> None:
    folder = converted[0]
    model = transformers.AutoModel.from_pretrained(folder / "st").eval()
    config = json.loads((folder / "st" / "config.json").read_text())
    weights = Float32Weights(load_file(folder / "st" / "model.safetensors"))
    write_bert(tmp_path / "model.onnx", _shape(config), weights)
    run = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(2).integers(0, len(WORDS), (4, 11))
    mask = np.ones_like(ids)
    mask[2, 3:] = 0
    ours = run.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    with torch.no_grad():
        theirs = model(torch.tensor(ids), torch.tensor(mask)).last_hidden_state.numpy()
    # Word embeddings are int8 rows: 1 in 254 of a row's largest value.
    np.testing.assert_allclose(ours[mask == 1], theirs[mask == 1], atol=0.05)
    alone = run.run(None, {"input_ids": ids[2:3, :3], "attention_mask": mask[2:3, :3]})[0][0]
    np.testing.assert_allclose(alone, ours[2, :3], atol=1e-5)


def test_the_tokenizer_neither_cuts_nor_pads(converted: tuple[Path, dict]) -> None:
    tokenizer = Tokenizer.from_file(str(converted[0] / "tokenizer.json"))
    assert len(tokenizer.encode("dose of " * 500).ids) == 1000
    assert len(tokenizer.encode("dose").ids) == 1


def test_another_model_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "roberta"}))
    with pytest.raises(ModelError, match="not hold a BERT model"):
        convert_minilm(tmp_path, tmp_path, lambda step, fraction: None)
