"""Token ids to the exact bytes they stand for, read once from a tokenizer's own description.

Works on bytes, since one character may be spread over several tokens. Pure; knows the two
families in use (GPT-2 style byte-level BPE, and SentencePiece with byte fallback) and refuses
others rather than guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from semcache.errors import EngineError

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPACE_MARK = "\u2581"


class FastTokenizer(Protocol):
    """The part of a `tokenizers.Tokenizer` that is read here."""

    def to_str(self) -> str:
        """Give the tokenizer's JSON description."""
        ...

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Give token text to id."""
        ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Bytes of every token id; `special` ids stand for no text.

    `drops_first_space` is true for tokenizers whose decoder takes one leading space away.
    """

    pieces: tuple[bytes, ...]
    special: frozenset[int]
    drops_first_space: bool = False

    def text_bytes(self, token: int) -> bytes:
        """Give the bytes a token adds to a text; none for special or unknown ids."""
        if token in self.special or not 0 <= token < len(self.pieces):
            return b""
        return self.pieces[token]

    def name_bytes(self, token: int) -> bytes:
        """Give the bytes that name a token in a report: special tokens keep their own text."""
        return self.pieces[token] if 0 <= token < len(self.pieces) else b""


def read_vocabulary(tokenizer: FastTokenizer) -> Vocabulary:
    """Read all pieces of a tokenizer.

    Raises:
        EngineError: its decoder belongs to neither known family.
    """
    description = json.loads(tokenizer.to_str())
    added = {item["id"]: item for item in description.get("added_tokens", [])}
    decoders = _decoder_steps(description.get("decoder"))
    kinds = {step["type"] for step in decoders}
    if "ByteLevel" in kinds:
        to_bytes = _byte_level
    elif "ByteFallback" in kinds:
        to_bytes = _byte_fallback
    else:
        raise EngineError(f"the tokenizer's decoder is not supported: {sorted(kinds) or 'none'}")
    vocab = tokenizer.get_vocab(with_added_tokens=True)
    pieces = [b""] * (max(vocab.values()) + 1)
    for text, token in vocab.items():
        pieces[token] = text.encode() if token in added else to_bytes(text)
    special = frozenset(token for token, item in added.items() if item.get("special"))
    strips = any(step["type"] == "Strip" and step.get("start", 0) > 0 for step in decoders)
    return Vocabulary(tuple(pieces), special, drops_first_space=strips and "ByteLevel" not in kinds)


def _decoder_steps(decoder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if decoder is None:
        return []
    if decoder["type"] == "Sequence":
        return [step for inner in decoder["decoders"] for step in _decoder_steps(inner)]
    return [decoder]


def _byte_level(text: str) -> bytes:
    """Undo GPT-2's printable alphabet; characters outside of it stand for themselves."""
    table = _BYTE_OF
    return b"".join(bytes((table[char],)) if char in table else char.encode() for char in text)


def _byte_fallback(text: str) -> bytes:
    match = _BYTE_TOKEN.fullmatch(text)
    if match:
        return bytes((int(match.group(1), 16),))
    return text.replace(_SPACE_MARK, " ").encode()


def _printable_alphabet() -> dict[str, int]:
    """Give GPT-2's character for each byte: printable Latin-1 as is, the rest from U+0100 upwards."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + i): byte for i, byte in enumerate(rest)}


_BYTE_OF = _printable_alphabet()
