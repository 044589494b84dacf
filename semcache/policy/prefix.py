"""Which part of a prompt's computation may be used again, and by whom: the `prefix:` section, made ready.

Pure. Knows messages and digests of their contents; not how an owner is named to the engine, and
not what the engine does with it. Everything errs to the private side: a message that is public
only in part, or that something of the request may be rendered into, is not public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.core import CachePolicy, Directives, Scope
from semcache.policy.prefix_knobs import PrefixKnobs
from semcache.policy.rewriting import RewriteRules
from semcache.policy.schema import PolicyFile

OPERATOR = "default"
"""The tenant whose file is the operator's own: it alone may name public messages."""

SYSTEM = frozenset({"system", "developer"})
"""Roles of messages that belong to an application, not to its user."""

RENDERED_INTO_THE_HEAD = ("tools", "functions", "documents", "chat_template_kwargs")
"""Fields that chat templates write into (or before) the first messages: with them nothing is public."""


@dataclass(frozen=True, slots=True)
class PrefixRules:
    """What one tenant's file says. `share` None is nobody; sizes are tokens, a ceiling of None is none."""

    share: Scope | None = Scope.TENANT
    reserve_tokens: int = 0
    max_tokens: int | None = None
    rewrite: RewriteRules = field(default_factory=RewriteRules)

    def share_for(self, policy: CachePolicy, directives: Directives) -> Scope | None:
        """Give who may reuse this request's prompt: never more than the file says, or than share its answers."""
        if self.share is None or directives.no_store:
            return None
        return Scope.USER if Scope.USER in (self.share, policy.scope) else Scope.TENANT


@dataclass(frozen=True, slots=True)
class PublicMessages:
    """Digests (SHA-256) of the contents that all tenants may share: said by the system, or by anybody."""

    by_system: frozenset[bytes] = frozenset()
    by_anybody: frozenset[bytes] = frozenset()

    def __len__(self) -> int:
        return len(self.by_system) + len(self.by_anybody)

    def leading(self, body: Mapping[str, Any]) -> int:
        """Count the messages at the head of a chat body that are public, up to the first that is not."""
        if not self.by_system and not self.by_anybody:
            return 0
        if any(body.get(name) for name in RENDERED_INTO_THE_HEAD):
            return 0
        messages: Sequence[Any] = body["messages"]
        for number, message in enumerate(messages):
            if not self._holds(message):
                return number
        return len(messages)

    def _holds(self, message: Mapping[str, Any]) -> bool:
        if message.keys() != {"role", "content"}:
            return False  # a name or a call would be rendered, too, and nobody registered it
        text = content_text(message["content"])
        if text is None:
            return False
        digest = content_digest(text)
        return digest in self.by_anybody or (digest in self.by_system and message["role"] in SYSTEM)


NOTHING_PUBLIC = PublicMessages()


def content_text(content: Any) -> str | None:
    """Give a message's content as the engine reads it: parts of text joined by line breaks; None when it is more."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    whole = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return "\n".join(map(str, texts)) if whole else None


def content_digest(text: str) -> bytes:
    """Digest a content as UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def prefix_rules(knobs: PrefixKnobs) -> PrefixRules:
    """Make a tenant's knobs ready."""
    share = None if knobs.share == "none" else Scope(knobs.share)
    rewrite = RewriteRules(knobs.rewrite.sort_tools, knobs.rewrite.sort_keys)
    return PrefixRules(share, knobs.reserve_tokens, knobs.max_tokens, rewrite)


def public_messages(policy: PolicyFile, texts: Mapping[str, str]) -> PublicMessages:
    """Collect the public messages of a file; `texts` are the contents of the files that it names."""
    found: dict[str, set[bytes]] = {"system": set(), "any": set()}
    for entry in policy.prefix.public:
        digests = found[entry.role]
        if entry.sha256 is not None:
            digests.add(bytes.fromhex(entry.sha256))
            continue
        text = texts[entry.file] if entry.file is not None else entry.text or ""
        digests.add(content_digest(text))
        if entry.file is not None:
            digests.add(content_digest(text.removesuffix("\n").removesuffix("\r")))
    return PublicMessages(frozenset(found["system"]), frozenset(found["any"]))
