"""A tiny packed e5 file, written here by its layout, through the whole conversion."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from semcache.models import ModelError
from semcache.models.convert.e5 import convert_e5
from semcache.models.convert.e5_file import E5File

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 2, 64, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁dose", "▁a", "s", "剂", "量", "~", "～", "1"]


def q4(values: np.ndarray) -> bytes:
    """Q4_0 by its definition: scale so that the largest magnitude becomes -8."""
    blocks = values.reshape(-1, 32)
    peak = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(1)]
    scale = (peak / -8).astype("<f2")
    wide = np.where(scale == 0, 1, scale.astype(np.float32))[:, None]
    codes = np.clip(np.rint(blocks / wide) + 8, 0, 15).astype(np.uint8)
    return np.concatenate([scale[:, None].view(np.uint8), codes[:, :16] | codes[:, 16:] << 4], 1).tobytes()


def tiny_file() -> bytes:
    random = np.random.default_rng(3)
    tensors: dict[str, tuple[int, bytes]] = {}

    def large(name: str, rows: int, width: int) -> None:
        tensors[name] = (1, q4(random.normal(scale=0.3, size=(rows, width)).astype(np.float32)))

    def small(name: str, size: int, around: float = 0.0) -> None:
        tensors[name] = (0, (around + random.normal(scale=0.1, size=size)).astype("<f4").tobytes())

    large("emb.word", len(PIECES), HIDDEN)
    small("emb.pos", POSITIONS * HIDDEN)
    small("emb.type", 2 * HIDDEN)
    small("emb.ln.w", HIDDEN, 1)
    small("emb.ln.b", HIDDEN)
    for layer in range(LAYERS):
        for name, rows, width in (
            ("q", HIDDEN, HIDDEN), ("k", HIDDEN, HIDDEN), ("v", HIDDEN, HIDDEN), ("ao", HIDDEN, HIDDEN),
            ("fi", INNER, HIDDEN), ("fo", HIDDEN, INNER),
        ):  # fmt: skip
            large(f"l{layer}.{name}.w", rows, width)
            small(f"l{layer}.{name}.b", rows)
        for name in ("aln", "oln"):
            small(f"l{layer}.{name}.w", HIDDEN, 1)
            small(f"l{layer}.{name}.b", HIDDEN)
    text = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, text)]).astype("<u4")
    scores = np.array([0, 0, 0, 0, -5, -3, -3, -3, -4, -6, -6, -6, -7, -7, -7], "<f4")
    head = b"E5S1" + struct.pack("<i7if", 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12)
    head += struct.pack("<2i4iQ", 32, len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += ends.tobytes() + scores.tobytes() + b"".join(text) + struct.pack("<iI", 0, 0)
    head += struct.pack("<i", len(tensors))
    start = len(head) + sum(2 + len(name) + 1 + 4 + 16 for name in tensors)
    directory, data = b"", b""
    for name, (kind, raw) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, len(raw), start + len(data), len(raw))
        data += raw
    return head + directory + data


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    root = tmp_path_factory.mktemp("e5")
    (root / "source").mkdir()
    (root / "source" / "model.bin").write_bytes(tiny_file())
    (root / "made").mkdir()
    return root / "made", convert_e5(root / "source", root / "made", lambda step, fraction: None)


def session(folder: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


def test_details_say_what_a_reader_needs(converted: tuple[Path, dict]) -> None:
    details = converted[1]["encoder"]
    assert (details["dim"], details["window"], details["prefix"]) == (HIDDEN, POSITIONS, "query: ")
    assert (details["unknown_id"], details["pad_id"]) == (3, 1)


def test_the_onnx_file_computes_what_the_folder_does(converted: tuple[Path, dict]) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = converted[0]
    model = transformers.AutoModel.from_pretrained(folder / "st").eval()
    assert model.dtype == torch.float32
    ids = np.random.default_rng(5).integers(0, len(PIECES), (3, 9))
    mask = np.ones_like(ids)
    mask[1, 5:] = 0
    ours = session(folder).run(None, {"input_ids": ids, "attention_mask": mask})[0]
    with torch.no_grad():
        out = model(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask)).last_hidden_state
    theirs = out.numpy()
    seen = mask.astype(bool)
    cosines = (ours * theirs).sum(-1) / np.linalg.norm(ours, axis=-1) / np.linalg.norm(theirs, axis=-1)
    # Activations are rounded to 8 bits a block, which shows in 32 dimensions; a wrong nibble gives about 0.
    assert cosines[seen].min() > 0.99


def test_a_text_has_the_same_vector_in_any_company(converted: tuple[Path, dict]) -> None:
    run = session(converted[0])
    random = np.random.default_rng(6)
    ids = random.integers(4, len(PIECES), (8, 12))
    ids[1:] = random.integers(4, len(PIECES), (7, 12))
    mask = np.ones_like(ids)
    mask[0, 6:] = 0
    alone = run.run(None, {"input_ids": ids[:1, :6], "attention_mask": mask[:1, :6]})[0][0]
    among = run.run(None, {"input_ids": ids, "attention_mask": mask})[0][0, :6]
    np.testing.assert_allclose(alone, among, atol=1e-4)


def test_the_folder_holds_the_same_values_as_float16(converted: tuple[Path, dict], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(tiny_file())
    word = E5File(tmp_path / "x").blocks("emb.word", HIDDEN).dense()
    stored = load_file(converted[0] / "st" / "model.safetensors")["embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(stored, word.astype(np.float16))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("query: dose", ["<s>", "▁query", ":", "▁dose", "</s>"]),
        ("  query:\n\t dose  ", ["<s>", "▁query", ":", "▁dose", "</s>"]),
        ("do\u0007se", ["<s>", "▁dose", "</s>"]),
        ("dose\u200bdose", ["<s>", "▁dose", "▁dose", "</s>"]),
        ("ｄｏｓｅ１", ["<s>", "▁dose", "1", "</s>"]),
        ("a～", ["<s>", "▁a", "～", "</s>"]),
        ("a~", ["<s>", "▁a", "~", "</s>"]),
        ("剂量", ["<s>", "▁", "剂", "量", "</s>"]),
        ("", ["<s>", "</s>"]),
    ],
)
def test_text_is_normalised_like_sentencepiece(
    converted: tuple[Path, dict], text: str, tokens: list[str]
) -> None:
    assert Tokenizer.from_file(str(converted[0] / "tokenizer.json")).encode(text).tokens == tokens


def test_unknown_text_gives_the_unknown_id(converted: tuple[Path, dict]) -> None:
    ids = Tokenizer.from_file(str(converted[0] / "tokenizer.json")).encode("🙂").ids
    assert converted[1]["encoder"]["unknown_id"] in ids


def test_the_tokenizer_does_not_cut(converted: tuple[Path, dict]) -> None:
    tokenizer = Tokenizer.from_file(str(converted[0] / "tokenizer.json"))
    assert len(tokenizer.encode("dose " * 2000).ids) == 2002


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(tiny_file()) - 1))
def test_a_cut_file_is_a_named_error(cut: int) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "x").write_bytes(tiny_file()[:cut])
        with pytest.raises(ModelError):
            E5File(Path(folder) / "x").floats(f"l{LAYERS - 1}.oln.b")  # the last tensor of the file


@pytest.mark.parametrize("content", [b"E5S2" + bytes(100), b"E5S1" + bytes(100)])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelError):
        E5File(tmp_path / "x")
