"""Whose the parts of a prompt are, in the words of the local engine: the `prefix_cache` field of a chat body.

A tenant and a user are named by keyed digests under a secret of this installation, so that nobody
who only writes requests can name another's. Knows bodies and the secret; which part is public and
who may share the rest is decided before. Pure, apart from names that nobody may guess.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.core import Scope, TenantId

FIELD = "prefix_cache"
SALT = "cache_salt"
"""A client's own word to be kept apart, as other engines have it; honoured inside its tenant, and removed."""

_NAMES = 4096
_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Sharing:
    """What was decided about one prompt.

    `share` is who may reuse what is not public (None: nobody), `public` the number of leading
    messages that all tenants may share.
    """

    share: Scope | None
    public: int = 0


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: tenant, digest of a passed-through key ("" for configured ones), end user ("" for none).

    `apart` is a word by which the client sets itself apart inside all that ("" for none).
    """

    tenant: TenantId
    principal: str = ""
    user: str = ""
    apart: str = ""

    @property
    def is_alone(self) -> bool:
        """True when not even the tenant's other callers share with it."""
        return bool(self.principal or self.apart)


def nobody() -> str:
    """Give a name that is never given again."""
    return secrets.token_hex(32)


@dataclass(frozen=True, slots=True)
class Owners:
    """Names owners to the engine.

    Args:
        secret: at least 16 bytes; the same over restarts and in all workers, or nothing is found again.
        nobody: gives a fresh name, for prompts that nobody may reuse.
    """

    secret: bytes
    nobody: Callable[[], str] = nobody
    names: dict[TenantId, str] = field(default_factory=dict, compare=False, repr=False)
    """Tenants' names made before: as many as there are tenants, and no more than `_NAMES`."""

    def tenant(self, tenant: TenantId) -> str:
        """Give the engine's name of a tenant: 64 hex digits."""
        name = self.names.get(tenant)
        if name is None:
            if len(self.names) >= _NAMES:
                self.names.clear()
            name = self.names[tenant] = self._digest("tenant", tenant)
        return name

    def marked(self, body: Mapping[str, Any], asker: Asker, sharing: Sharing) -> dict[str, Any]:
        """Give a chat body that says whose its parts are, whatever it said itself before."""
        kept = {name: value for name, value in body.items() if name not in (FIELD, SALT)}
        kept[FIELD] = self.extension(body["messages"], asker, sharing)
        return kept

    def extension(self, messages: Sequence[Any], asker: Asker, sharing: Sharing) -> dict[str, Any]:
        """Give the `prefix_cache` object: tenant, user, and how many leading messages are public and the tenant's.

        Without a user everything behind the public messages is the tenant's. A caller whose key was
        only passed through shares with that key alone, one that sets itself apart with its own like.
        """
        user = self._user(asker, sharing.share)
        common = sharing.share is not None and not asker.is_alone
        own = max(0, leading_system(messages) - sharing.public) if common else 0
        return {
            "tenant": self.tenant(asker.tenant),
            "user": user,
            "public_messages": sharing.public,
            "tenant_messages": own,
        }

    def _user(self, asker: Asker, share: Scope | None) -> str | None:
        if share is None:
            return self.nobody()
        if share is Scope.USER:
            return self._digest("user", *_words(asker)) if asker.user else self.nobody()
        return self._digest("alone", *_words(asker)[:3]) if asker.is_alone else None

    def _digest(self, kind: str, *words: str) -> str:
        """Digest words with their lengths, so that no two lists of words look alike."""
        parts = [word.encode("utf-8", "surrogatepass") for word in (kind, *words)]
        message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self.secret, message, "sha256").hex()


def _words(asker: Asker) -> tuple[str, str, str, str]:
    return asker.tenant, asker.principal, asker.apart, asker.user


def leading_system(messages: Sequence[Any]) -> int:
    """Count the system and developer messages at the head."""
    for number, message in enumerate(messages):
        if message["role"] not in _SYSTEM:
            return number
    return len(messages)
