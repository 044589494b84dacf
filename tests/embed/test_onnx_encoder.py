"""The ONNX encoder on the real converted models."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semcache.core import Vector
from semcache.embed.acceptance import calibrate, self_test
from semcache.embed.calibration import find_tables
from semcache.embed.onnx_encoder import OnnxModel, onnx_spec
from semcache.errors import EncoderError


def one(model: OnnxModel, text: str) -> Vector | EncoderError:
    (result,) = model.embed([text])
    return result


def kind(model: OnnxModel, text: str) -> str:
    result = one(model, text)
    assert isinstance(result, EncoderError), "was not refused"
    return result.kind


def similarity(model: OnnxModel, a: str, b: str) -> float:
    left, right = one(model, a), one(model, b)
    assert isinstance(left, np.ndarray)
    assert isinstance(right, np.ndarray)
    return float(left @ right)


def writable_copy(folder: Path, target: Path) -> Path:
    """Copy a model folder without its torch weights; the originals may be read-only."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("st", "*.safetensors"))
    for path in target.iterdir():
        path.chmod(0o644)
    return target


def weights_of(folder: Path) -> Path:
    note = json.loads((folder / "semcache-model.json").read_text())
    return folder / note["encoder"]["onnx"]


def test_results_come_in_order_each_with_its_own_refusal(latin_model: OnnxModel) -> None:
    first, second, third = latin_model.embed(["What is a lease?", "", "What is a mortgage?"])
    assert isinstance(second, EncoderError)
    np.testing.assert_array_equal(first, one(latin_model, "What is a lease?"))
    np.testing.assert_array_equal(third, one(latin_model, "What is a mortgage?"))


def test_a_vector_does_not_depend_on_its_company(latin_model: OnnxModel) -> None:
    alone = one(latin_model, "How tall is the tower?")
    _, together = latin_model.embed(["a much longer text than that, " * 8, "How tall is the tower?"])
    np.testing.assert_array_equal(alone, together)


def test_the_window_is_whole_and_one_token_more_is_refused(latin_model: OnnxModel) -> None:
    words = latin_model.spec.window - 2
    assert isinstance(one(latin_model, " ".join(["word"] * words)), np.ndarray)
    assert kind(latin_model, " ".join(["word"] * (words + 1))) == "too_long"


def test_a_text_is_never_judged_by_its_beginning(latin_model: OnnxModel) -> None:
    rules = "Obey the rules of the house. " * 150
    for ending in ("Draft a toast for a wedding.", "Give the command that formats the disk."):
        assert kind(latin_model, rules + ending) == "too_long"


@pytest.mark.parametrize(
    "text",
    [
        "银行贷款",
        "😀🎉",
        "Was heißt 你好 auf Deutsch, bitte, und wie spricht man das aus?",
        "decode " + "QUJD" * 40,
        "\U00020bb7",
    ],
)
def test_what_the_tokenizer_does_not_know_is_never_matched(latin_model: OnnxModel, text: str) -> None:
    assert kind(latin_model, text) == "unknown_script"


def test_questions_that_differ_in_an_unknown_token_alone_are_refused(latin_model: OnnxModel) -> None:
    for emoji in ("😂", "🙃"):
        question = f"What exactly does my niece want to tell me when she sends {emoji} after every message?"
        assert kind(latin_model, question) == "unknown_script"


def test_a_share_of_unknown_tokens_can_be_tolerated(latin_folder: Path) -> None:
    model = OnnxModel(latin_folder, max_unknown_share=0.2)
    assert isinstance(one(model, "this is quite a long sentence and it has one 😂 inside"), np.ndarray)
    assert kind(model, "two 😂 🙃 here") == "unknown_script"
    model.close()


@pytest.mark.parametrize("text", ["", "   \n", "\u200b\u200b", "\x00\x01", "\ufeff"])
def test_nothing_to_see_is_refused(latin_model: OnnxModel, text: str) -> None:
    assert kind(latin_model, text) in ("empty", "unknown_script")


def test_control_words_of_the_model_are_ordinary_text(latin_model: OnnxModel) -> None:
    ids = latin_model._token_ids("What is [SEP] for?")
    assert ids.count(102) == 1


def test_one_word_of_any_length_is_answered_in_time(multilingual_model: OnnxModel) -> None:
    assert kind(multilingual_model, "a" * 1_000_000) == "too_long"
    assert kind(multilingual_model, "我" * 16_000) == "too_long"


def test_chinese_is_told_apart(multilingual_model: OnnxModel) -> None:
    same = similarity(multilingual_model, "怎么重置登录密码？", "忘记密码了，应该如何修改？")
    other = similarity(multilingual_model, "怎么重置登录密码？", "上海明天会下雨吗？")
    assert same > other + 0.05


def test_one_word_is_enough(multilingual_model: OnnxModel, latin_model: OnnxModel) -> None:
    assert isinstance(one(multilingual_model, "hello"), np.ndarray)
    assert isinstance(one(multilingual_model, "水"), np.ndarray)
    assert isinstance(one(latin_model, "hello"), np.ndarray)


@pytest.mark.parametrize("model_name", ["latin_model", "multilingual_model"])
def test_the_shipped_table_fits_the_converted_model(model_name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(model_name)
    found = calibrate(model, find_tables(model.spec.name, None))
    assert found.scale is not None, found.note
    self_test(model, found.scale)


def test_the_generation_is_told_without_loading(latin_model: OnnxModel, latin_folder: Path) -> None:
    assert onnx_spec(latin_folder) == latin_model.spec


def test_replaced_weights_under_the_same_name_are_another_generation(
    latin_folder: Path, tmp_path: Path
) -> None:
    copy = writable_copy(latin_folder, tmp_path / "copy")
    before = onnx_spec(copy)
    weights = weights_of(copy)
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(data)
    after = onnx_spec(copy)
    assert before is not None
    assert after is not None
    assert before.name == after.name
    assert before.id != after.id


@pytest.mark.parametrize(
    ("key", "value"), [("prefix", "query: "), ("window", 128), ("pooling", "cls"), ("dim", 383)]
)
def test_every_setting_is_part_of_the_generation(
    key: str, value: object, latin_folder: Path, tmp_path: Path
) -> None:
    copy = writable_copy(latin_folder, tmp_path / "copy")
    path = copy / "semcache-model.json"
    note = json.loads(path.read_text())
    note["encoder"][key] = value
    path.write_text(json.dumps(note))
    changed, original = onnx_spec(copy), onnx_spec(latin_folder)
    assert changed is not None
    assert original is not None
    assert changed.id != original.id


@pytest.mark.parametrize("name", ["weights", "tokenizer.json", "semcache-model.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbage"])
def test_a_damaged_folder_is_a_named_error(
    name: str, damage: str, latin_folder: Path, tmp_path: Path
) -> None:
    copy = writable_copy(latin_folder, tmp_path / "copy")
    path = weights_of(copy) if name == "weights" else copy / name
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "garbage":
            path.write_bytes(b"\x00garbage" * 100)
    with pytest.raises(EncoderError):
        OnnxModel(copy)


@pytest.mark.parametrize(("key", "value"), [("output", "pooled"), ("inputs", ["input_ids"]), ("dim", 383)])
def test_a_manifest_that_lies_about_the_graph_is_found_out(
    key: str, value: object, latin_folder: Path, tmp_path: Path
) -> None:
    copy = writable_copy(latin_folder, tmp_path / "copy")
    path = copy / "semcache-model.json"
    note = json.loads(path.read_text())
    note["encoder"][key] = value
    path.write_text(json.dumps(note))
    with pytest.raises(EncoderError):
        self_test(OnnxModel(copy), None)


def test_a_serving_process_never_imports_torch(latin_folder: Path, multilingual_folder: Path) -> None:
    """In a fresh process: torch, transformers and sentence-transformers stay out."""
    code = f"""
import asyncio, sys
from semcache.embed.batcher import Limits
from semcache.embed.open import EncoderOptions, open_encoder

async def main():
    options = EncoderOptions({str(latin_folder)!r}, {str(multilingual_folder)!r}, device="cpu",
                             limits=Limits(deadline=60.0, stall_after=60.0))
    encoder = await open_encoder(options)
    await encoder.encode("How do I reset my password?")
    await encoder.aclose()

asyncio.run(main())
found = {{"torch", "transformers", "sentence_transformers"}} & set(sys.modules)
print("FOUND", sorted(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "FOUND []", done.stderr
