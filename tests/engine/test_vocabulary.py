"""Bytes of tokens, against the tokenizers' own decoders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models

from semcache.engine.detokenise import Utf8Stream
from semcache.engine.vocabulary import read_vocabulary
from semcache.errors import EngineError
from tests.engine.tiny import tiny_tokenizer

TOKENIZER = tiny_tokenizer()
VOCABULARY = read_vocabulary(TOKENIZER.backend_tokenizer)


def spoken(vocabulary, ids) -> str:
    stream = Utf8Stream(vocabulary.drops_first_space)
    return "".join(stream.feed(vocabulary.text_bytes(token)) for token in ids)


@given(st.text())
def test_any_text_comes_back_through_its_tokens(text: str) -> None:
    ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]
    assert spoken(VOCABULARY, ids) == text


@given(st.lists(st.integers(0, len(TOKENIZER) - 1), max_size=40))
def test_any_tokens_read_as_the_tokenizer_reads_them(ids: list[int]) -> None:
    expected = TOKENIZER.decode(ids, skip_special_tokens=True)
    shown = spoken(VOCABULARY, ids)
    assert expected in (shown, shown + "\ufffd")


def test_special_tokens_have_a_name_but_no_text() -> None:
    end = TOKENIZER.eos_token_id
    assert VOCABULARY.text_bytes(end) == b""
    assert VOCABULARY.name_bytes(end) == b"<|im_end|>"


@pytest.mark.parametrize("token", [-1, len(TOKENIZER), 10**9])
def test_unknown_ids_say_nothing(token: int) -> None:
    assert VOCABULARY.text_bytes(token) == b""
    assert VOCABULARY.name_bytes(token) == b""


def sentencepiece_like() -> Tokenizer:
    pieces = ["\u2581Hello", "\u2581", "\u2581world", "!", *(f"<0x{byte:02X}>" for byte in range(256))]
    raw = Tokenizer(
        models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[], byte_fallback=True)
    )
    raw.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return raw


def test_byte_fallback_tokenizers_are_read_too() -> None:
    raw = sentencepiece_like()
    vocabulary = read_vocabulary(raw)
    ids = [0, 2, 3, *(4 + byte for byte in "😀".encode())]
    assert spoken(vocabulary, ids) == raw.decode(ids) == "Hello world!😀"


def test_other_families_are_refused_by_name() -> None:
    raw = Tokenizer(models.WordPiece(vocab={"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    raw.decoder = decoders.WordPiece()
    with pytest.raises(EngineError, match="WordPiece"):
        read_vocabulary(raw)
