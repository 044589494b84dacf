"""A prompt as a chain of blocks, each named by a digest of all that stands before it and in it: equal beginnings, equal names.

Blocks of `BLOCK` bytes (about 64 tokens of English) are counted from the beginning of each part of a message, so that a
part that grew keeps the blocks that it had. What stands in front: tools, then the messages in their order, as engines
render them. Nothing of a text is kept. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.advise.rows import LogRow
from semcache.tokens import tokens_of

BLOCK = 256
BLOCK_TOKENS = BLOCK // 4
DOCUMENT = 1024
"""Tokens from which a part of a user's message counts as a document."""

_TEMPLATE = 4
"""Tokens around a message: its role, its beginning, its end."""

PARTS = ("tools", "system", "history", "documents", "question")
TOOLS, SYSTEM, HISTORY, DOCUMENTS, QUESTION = range(len(PARTS))
_SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Chain:
    """A prompt's blocks, front to back: names, tokens, and what each belongs to (index of `PARTS`)."""

    names: list[int]
    tokens: list[float]
    parts: list[int]

    @property
    def total(self) -> float:
        """Tokens of the prompt."""
        return sum(self.tokens)


def chain_of(row: LogRow) -> Chain:
    """Give the chain of a row's prompt. Rows of different tenants or models share no block."""
    whose = f"{row.tenant}\0{row.model}\0".encode("utf-8", "replace")
    state = hashlib.blake2b(whose, digest_size=8)
    chain = Chain([], [], [])
    for mark, part, text in _stretches(row.body):
        _extend(chain, state, mark, part, text)
    return chain


def tokens_in(body: Mapping[str, Any]) -> int:
    """Guess the input tokens of a request: its texts, and what a template writes around each message."""
    return sum(tokens_of(text) for _, _, text in _stretches(body) if text) + _TEMPLATE * len(body["messages"])


def _extend(chain: Chain, state: hashlib.blake2b, mark: bytes, part: int, text: str) -> None:
    coded = text.encode("utf-8", "replace")
    if not coded:
        return
    state.update(mark)
    a_byte = tokens_of(text) / len(coded)
    for begin in range(0, len(coded), BLOCK):
        block = coded[begin : begin + BLOCK]
        state.update(block)
        chain.names.append(int.from_bytes(state.digest(), "little"))
        chain.tokens.append(a_byte * len(block))
        chain.parts.append(part)


def _stretches(body: Mapping[str, Any]) -> Iterator[tuple[bytes, int, str]]:
    """Give what is rendered, front to back: a mark of its kind, what it belongs to, its text."""
    for name in ("tools", "functions"):
        tools = body.get(name)
        for tool in tools if isinstance(tools, list) else ():
            yield b"\x1dtool\x1e", TOOLS, _dumped(tool)
    messages = body["messages"]
    last = len(messages) - 1
    for number, message in enumerate(messages):
        role = str(message.get("role"))
        mark = b"\x1d" + role.encode("utf-8", "replace")[:64] + b"\x1e"
        for text in _texts(message):
            yield mark, _part(role, text, is_last=number == last), text


def _part(role: str, text: str, *, is_last: bool) -> int:
    if role in _SYSTEM:
        return SYSTEM
    if role in ("tool", "function") or (
        role == "user" and len(text) > DOCUMENT and tokens_of(text) >= DOCUMENT
    ):
        return DOCUMENTS
    return QUESTION if is_last else HISTORY


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, dict) else part
            yield text if isinstance(text, str) else _dumped(part)
    for name in ("tool_calls", "function_call"):
        if message.get(name):
            yield _dumped(message[name])


def _dumped(value: Any) -> str:
    """As clients send it: keys in the order that they came in, for another order is another beginning."""
    return orjson.dumps(value).decode()
