"""Requests of Gemini in chat's words. Pure."""

from __future__ import annotations

from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import Translated
from semcache.dialects.gemini.config import Config
from semcache.dialects.gemini.contents import chat_text, plain_texts, read_contents
from semcache.dialects.gemini.spelling import FORMS, spelled
from semcache.dialects.gemini.target import (
    DEFAULT_VERSION,
    gemini_target,
    read_query,
    version_of,
    with_model,
)
from semcache.dialects.plain import EMPTY
from semcache.errors import RequestError

IRRELEVANT = frozenset(("labels", "serviceTier", "store"))
"""Top-level fields that cannot change the answer."""


def read(body: JsonObject, path: str, raw_query: bytes) -> Translated:
    """Read a request.

    Raises:
        RequestError: 400 with `param`.
    """
    target = gemini_target(path)
    if target is None:
        raise RequestError("The path names no model.", param="model")
    model, streams = target
    query = read_query(raw_query)
    asked: dict[str, Any] = spelled(body)
    contents = asked.get("contents")
    if not isinstance(contents, list) or not contents:
        raise RequestError("'contents' must be a non-empty array.", param="contents")
    turns = read_contents(contents)
    config = Config()
    system = _system(asked.get("systemInstruction"), config)
    for name, value in asked.items():
        is_told = name in ("contents", "systemInstruction") or (name, value) == ("model", f"models/{model}")
        if is_told or name in IRRELEVANT:
            continue
        if value not in EMPTY:
            config.add(name, value)
        elif name not in FORMS["request"] and value is not None:
            # Said twice, in two spellings, or nobody's: who knows whether nothing is meant by it.
            config.rest[name] = value
    if turns.rest:
        config.rest["contents"] = turns.rest
    unsayable = [*config.unsayable, *turns.unsayable, *(f"query.{name}" for name, _ in query.rest)]
    streaming = {"stream": True, "stream_options": {"include_usage": True}} if streams else {}
    ends_plain = str(len(contents) - 1) not in turns.rest
    breaks = _breaks(turns.chat[-1].get("content")) if ends_plain else []
    version = version_of(path)
    return Translated(
        chat={"model": model, "messages": [*system, *turns.chat], **config.chat, **streaming},
        extra={
            **({"gemini": config.rest} if config.rest else {}),
            **({"query": [list(pair) for pair in query.rest]} if query.rest else {}),
            **({"breaks": breaks} if breaks else {}),
            **({"version": version} if version != DEFAULT_VERSION else {}),
        },
        unsayable=tuple(unsayable),
        stream=streams,
        include_usage=streams,
        # In one spelling: an alias must find the name that it stands for, however a client wrote it.
        path=with_model(path, model),
        exact_only=config.exact_only or (None if ends_plain else "media"),
        uncacheable=config.uncacheable or ("file-id" if turns.has_files else None),
        query=query.raw,
    )


def _breaks(content: Any) -> list[int]:
    """Give where the parts of the last text end, if there are several: joined they could be another text's."""
    return [len(part["text"]) for part in content[:-1]] if isinstance(content, list) else []


def _system(instruction: Any, config: Config) -> list[dict[str, Any]]:
    """Give the system message, if there is one; its role means nothing."""
    if instruction in EMPTY:
        return []
    texts = plain_texts(instruction) if isinstance(instruction, dict) else None
    if texts is None:
        config.rest["systemInstruction"] = instruction
        config.unsayable.append("systemInstruction")
        texts = _texts_of(instruction)
    if not texts:
        return []
    return [{"role": "system", "content": chat_text(texts)}]


def _texts_of(instruction: Any) -> list[str]:
    """Give what of an odd instruction can be read: policies look at it."""
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    found = [
        part.get("text") if isinstance(part, dict) else None
        for part in (parts if isinstance(parts, list) else ())
    ]
    return [text for text in found if isinstance(text, str)]
