"""Namespace and exact key of a request: identity by exclusion.

Every field of the request takes part unless it stands on the short list of fields that cannot
change the answer. Fields nobody has heard of count. Parts are length-prefixed before they are
hashed (SHA-256), so no value can pretend to be its neighbour. Knows nothing of Redis or FAISS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import ChatRequest, ExactKey, JsonObject, Namespace, TenantId
from semcache.dialects.chat.request import UNHEARD
from semcache.embed.canonical import canonical_text

IRRELEVANT_FIELDS = UNHEARD | {"messages", "model"}
"""Fields that do not change the answer; `messages` and `model` enter by their own way."""

_DEFAULTS: dict[str, Any] = {"n": 1, "tool_choice": "auto"}
"""Values that mean the same as the absent field. (An absent temperature is the provider's choice.)"""

_WHOLE = float(1 << 53)
_OF_TEXT = frozenset(("type", "text", "cache_control"))
_FORMAT = b"semcache-namespace-2"
_SUBJECT = "\x00subject"
"""No owner is called so: principals are digests in hex."""


@dataclass(frozen=True, slots=True)
class Partition:
    """What separates callers before the request itself is looked at.

    `owner` is the principal or the user within the tenant, as the scope demands; `extra` the
    client's own namespace; `upstream` who will answer; `headers` request headers that change
    answers (beta flags, language), as sorted pairs.
    """

    tenant: TenantId
    scope: str
    owner: str
    extra: str
    upstream: str
    headers: tuple[tuple[str, str], ...] = ()


def namespace_of(request: ChatRequest, partition: Partition) -> Namespace:
    """Give the namespace: equal exactly when the two requests differ in nothing but the last user text."""
    digest = hashlib.sha256()
    parts: list[bytes] = [
        _FORMAT,
        partition.tenant.encode(),
        partition.scope.encode(),
        partition.owner.encode(),
        partition.extra.encode(),
        partition.upstream.encode(),
        request.dialect.encode(),
        request.model.encode("utf-8", "surrogatepass"),
        _dump(partition.headers),
        _dump(_parameters(request.body)),
        _dump(_context(request)),
    ]
    if request.extra:
        parts.append(_dump(_parameters(request.extra)))
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return Namespace(partition.tenant, digest.hexdigest())


def exact_key(namespace: Namespace, request: ChatRequest) -> ExactKey:
    """Give the exact key: the namespace and the canonical last user text."""
    return key_in(namespace.digest, request.prompt)


def key_in(namespace: str, prompt: str | None) -> ExactKey:
    """Give the exact key of a text in the namespace of this digest; None stands for no text of its own."""
    digest = hashlib.sha256(bytes.fromhex(namespace))
    if prompt is not None:
        digest.update(canonical_text(prompt).encode())
    return ExactKey(digest.hexdigest())


def asked_digest(namespace: Namespace, text: str) -> str:
    """Give what names a question where it is matched by meaning: 12 bytes in hex, as in `core.Entry.barred`."""
    digest = hashlib.blake2b(bytes.fromhex(namespace.digest), digest_size=12)
    digest.update(canonical_text(text).encode())
    return digest.hexdigest()


def asker_digest(partition: Partition, user: str) -> str:
    """Give what names an asker inside a tenant without telling who it is: 12 bytes in hex."""
    digest = hashlib.blake2b(digest_size=12)
    for part in (partition.tenant, partition.owner, user):
        coded = part.encode("utf-8", "surrogatepass")
        digest.update(len(coded).to_bytes(8, "big") + coded)
    return digest.hexdigest()


def subject_digest(tenant: TenantId, user: str) -> str:
    """Give what names an end user inside a tenant, under whatever key they ask: 12 bytes in hex, "" for nobody.

    Everything kept of somebody is found by it when they are to be erased.
    """
    return asker_digest(Partition(tenant, "", _SUBJECT, "", ""), user) if user else ""


def _parameters(body: JsonObject) -> dict[str, Any]:
    """Every field that counts, numbers in one spelling, nulls and written-out defaults left away."""
    out: dict[str, Any] = {}
    for name, value in body.items():
        if name in IRRELEVANT_FIELDS or value is None:
            continue
        plain = int(value) if isinstance(value, float) and _is_whole(value) else value
        if name in _DEFAULTS and plain == _DEFAULTS[name] and not isinstance(plain, bool):
            continue
        out[name] = plain
    return out


def _is_whole(value: float) -> bool:
    """True where a float and an integer are one number in every language (and JSON can say the integer)."""
    return value.is_integer() and abs(value) <= _WHOLE


def _context(request: ChatRequest) -> list[Any]:
    """All messages; the last user text is replaced by a mark when it is matched by meaning."""
    messages: Sequence[Any] = request.body["messages"]
    if request.prompt is None:
        return [_message(message) for message in messages]
    last = dict(messages[-1])
    content = last["content"]
    last["content"] = _shape(content) if isinstance(content, list) else {"text_parts": 1}
    return [*(_message(message) for message in messages[:-1]), last]


def _shape(parts: Sequence[Any]) -> dict[str, Any]:
    """Tell all of text parts but their words: how many, what stands beside the texts, and where they meet."""
    shape: dict[str, Any] = {"text_parts": len(parts)}
    beside = [{name: value for name, value in part.items() if name not in _OF_TEXT} for part in parts]
    if any(beside):
        shape["beside"] = beside
    lines = [part["text"].count("\n") for part in parts]
    if len(parts) > 1 and any(lines):
        # Parts are joined by line ends: without this two cuts of one text would be one question.
        shape["lines"] = lines
    return shape


def _message(message: Any) -> Any:
    """One message with its text in canonical spelling; a lone text part equals the plain string."""
    if not isinstance(message, dict):
        return message
    out = {name: value for name, value in message.items() if value is not None and name != "cache_control"}
    content = out.get("content")
    if isinstance(content, list):
        parts = [_part(part) for part in content]
        out["content"] = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
    elif isinstance(content, str):
        out["content"] = canonical_text(content)
    return out


def _part(part: Any) -> Any:
    """One content part: text as a canonical string, anything else as it is (URLs and data in full).

    What is no part at all, such as a bare string, stands in a list of its own: it is not the text that it looks like.
    """
    if not isinstance(part, dict):
        return [part]
    part = {name: value for name, value in part.items() if name != "cache_control"}
    if part.keys() == {"type", "text"} and part["type"] == "text" and isinstance(part["text"], str):
        return canonical_text(part["text"])
    return part


def _dump(value: Any) -> bytes:
    """Canonical JSON: sorted keys, arrays in order, the same bytes in every process."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS)
