"""Log probabilities in the shapes of text completions (lists side by side) and of chat (one object a token). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LISTS = frozenset(("tokens", "token_logprobs", "top_logprobs", "text_offset"))
_OF_A_TOKEN = frozenset(("token", "logprob", "bytes", "top_logprobs"))


def in_chat(logprobs: Any) -> dict[str, Any] | None:
    """Give chat's shape; None for none.

    Raises:
        ValueError: the lists do not belong together.
    """
    if logprobs is None:
        return None
    if not isinstance(logprobs, dict) or not logprobs.keys() <= _LISTS:
        raise ValueError("log probabilities of another shape")
    tokens, scores = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(scores, list) or len(tokens) != len(scores):
        raise ValueError("tokens and their log probabilities differ in number")
    others = logprobs.get("top_logprobs")
    others = [None] * len(tokens) if others is None else others
    if not isinstance(others, list) or len(others) != len(tokens):
        raise ValueError("tokens and their rivals differ in number")
    return {"content": [_token(*one) for one in zip(tokens, scores, others, strict=True)], "refusal": None}


def in_lists(logprobs: Any, offset: int = 0) -> dict[str, Any] | None:
    """Give the shape of text completions; None for none.

    Args:
        logprobs: chat's.
        offset: characters of the answer before the first of these tokens.

    Raises:
        ValueError: they hold what the lists cannot.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if isinstance(logprobs, Mapping) and any(
        logprobs[name] for name in logprobs.keys() - {"content"} if logprobs[name]
    ):
        raise ValueError("log probabilities of more than a text")
    if not content:
        return None
    tokens = [_fields(one, inner=False) for one in content]
    offsets: list[int] = []
    for token, _, _ in tokens:
        offsets.append(offset)
        offset += len(token)
    ranked = [rivals for _, _, rivals in tokens]
    return {
        "tokens": [token for token, _, _ in tokens],
        "token_logprobs": [score for _, score, _ in tokens],
        "top_logprobs": ranked if any(ranked) else None,
        "text_offset": offsets,
    }


def length(logprobs: Any) -> int:
    """Give the characters of the tokens in lists; 0 for none."""
    return sum(map(len, logprobs["tokens"])) if logprobs else 0


def _token(token: Any, score: Any, others: Any) -> dict[str, Any]:
    if not isinstance(token, str) or not isinstance(others, dict | None):
        raise ValueError("a token of another shape")
    ranked = [
        {"token": other, "logprob": one, "bytes": _bytes(other)} for other, one in (others or {}).items()
    ]
    return {"token": token, "logprob": score, "bytes": _bytes(token), "top_logprobs": ranked}


def _bytes(token: str) -> list[int]:
    return list(token.encode("utf-8", "surrogatepass"))


def _fields(one: Any, *, inner: bool) -> tuple[str, Any, dict[str, Any]]:
    if not isinstance(one, dict) or not one.keys() <= _OF_A_TOKEN or not isinstance(one.get("token"), str):
        raise ValueError("a token with more than its log probability")
    token = one["token"]
    if one.get("bytes") not in (None, _bytes(token)):
        raise ValueError("a token that is no whole text")
    others = one.get("top_logprobs") or []
    if inner and others:
        raise ValueError("rivals of rivals")
    ranked: dict[str, Any] = {}
    for other in others:
        name, score, _ = _fields(other, inner=True)
        if name in ranked:
            raise ValueError("two rivals that are written alike")
        ranked[name] = score
    return token, one.get("logprob"), ranked
