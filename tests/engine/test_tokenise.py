"""Tokenising in pieces gives the ids of tokenising the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from semcache.engine import tokenise
from semcache.engine.tokenise import Cutter
from tests.engine.tiny import tiny_tokenizer

TINY = tiny_tokenizer()
CUTTER = Cutter(TINY)
pieces = st.lists(
    st.sampled_from(
        ["<|im_start|>", "<|im_end|>", "<|im_", "|>", "the ", "band", "\n", " ", "x" * 300, "é😀"]
    )
    | st.text(max_size=12),
    max_size=12,
).map("".join)


def whole(tokenizer: PreTrainedTokenizerFast, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


@given(pieces)
def test_ids_are_those_of_the_whole_text(text: str) -> None:
    assert CUTTER.ids(text) == whole(TINY, text)
    assert CUTTER.ids(text) == whole(TINY, text)  # from memory now


def test_the_models_own_tokenizer(real_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(real_folder)
    cutter = Cutter(tokenizer)

    @given(pieces | st.text())
    def check(text: str) -> None:
        assert cutter.ids(text) == whole(tokenizer, text)

    check()
    assert cutter._marks is not None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenise, "MAX_REMEMBERED", 4000)
    cutter = Cutter(TINY)
    texts = [f"{number} " + "y" * 600 for number in range(30)]
    for text in texts:
        cutter.ids(text)
        assert sum(map(len, cutter._known)) == cutter._size <= 4000
    assert list(cutter._known) == texts[-len(cutter._known) :]
    cutter.ids("z" * 5000)
    assert "z" * 5000 not in cutter._known


def other(**changes: Any) -> PreTrainedTokenizerFast:
    """A byte tokenizer that looks beyond a piece in some way."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={char: n for n, char in enumerate([*alphabet, "▁"])}, merges=[]))
    raw.pre_tokenizer = changes.get("pre") or pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.normalizer = changes.get("normalizer")
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens([AddedToken("<s>", special=True, **changes.get("mark", {}))])
    return PreTrainedTokenizerFast(tokenizer_object=raw)


@pytest.mark.parametrize(
    "changes",
    [
        {"pre": pre_tokenizers.ByteLevel(add_prefix_space=True)},
        {"pre": pre_tokenizers.Metaspace()},
        {"normalizer": normalizers.Lowercase()},
        {"mark": {"lstrip": True}},
        {"mark": {"rstrip": True}},
        {"mark": {"normalized": True}},
    ],
    ids=["prefix space", "metaspace", "normalizer", "lstrip", "rstrip", "normalized"],
)
def test_a_tokenizer_that_looks_further_gets_the_whole_text(changes: dict[str, Any]) -> None:
    tokenizer = other(**changes)
    cutter = Cutter(tokenizer)
    assert cutter._marks is None
    for text in ("Some <s> text<s>here", "<s> A", "a <s>", "x" * 500):
        assert cutter.ids(text) == whole(tokenizer, text)


def test_special_tokens_are_known() -> None:
    added = json.loads(TINY.backend_tokenizer.to_str())["added_tokens"]
    assert CUTTER.special == {item["id"] for item in added}
