"""Decides who a caller is: keys by hash, and what strangers and nameless callers may be.

Knows tenants and key hashes; no policies, no HTTP beyond two header values. Keys are found by
their full SHA-256, so neither time nor text tells a near miss from nonsense: whoever can choose
a key cannot choose its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from semcache.core import Caller, Labels, TenantId
from semcache.errors import RequestError
from semcache.policy.schema import PolicyFile

MAX_CREDENTIAL = 8192
"""Characters; longer ones are refused unread."""

_PRINCIPAL = b"semcache principal\x00"
"""Sets the digests that name cache partitions apart from the digests in policy files."""


def hash_key(key: str) -> str:
    """Give the form of a key that stands in a policy file."""
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """Whose key it is, and the labels of all its requests."""

    tenant: TenantId
    name: str
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """All keys of all tenants, and the tenants (one each at most) that take others in."""

    keys: Mapping[str, KeyOwner]
    anonymous: TenantId | None
    passthrough: TenantId | None

    def authenticate(self, authorization: str | None, api_key: str | None, loopback: bool) -> Caller:
        """Decide who the caller is.

        `authorization` is the header of that name, `api_key` that of `x-api-key`; `loopback`
        whether the connection comes from this machine.

        Raises:
            RequestError: 401, with one text for missing, wrong and malformed keys.
        """
        header = (authorization or "").strip()
        if header.lower() == "bearer":  # client libraries without a key send the scheme alone
            header = ""
        bearer, key = _bearer(header), (api_key or "").strip()
        if not header and not key:
            return self._nameless(loopback)
        owners = {owner for text in (bearer, key) if text and (owner := self._owner(text)) is not None}
        if len(owners) > 1:  # keys of two tenants in one request: whose it is must never be a guess
            raise refused()
        for owner in owners:
            return Caller(tenant=owner.tenant, key_name=owner.name, labels=owner.labels)
        return self._stranger(header, bearer, key)

    def _owner(self, credential: str) -> KeyOwner | None:
        if len(credential) > MAX_CREDENTIAL:
            return None
        return self.keys.get(hashlib.sha256(credential.encode("utf-8", "surrogatepass")).hexdigest())

    def _nameless(self, loopback: bool) -> Caller:
        if self.anonymous is None or not loopback:
            raise refused()
        return Caller(tenant=self.anonymous)

    def _stranger(self, header: str, bearer: str, key: str) -> Caller:
        """Let a key of the upstream's own pass, into a partition of its own."""
        if self.passthrough is None or not _is_clean(header) or not _is_clean(key):
            raise refused()
        # Clean texts hold no NUL, so two different pairs never join to the same bytes.
        identity = f"{bearer or header}\0{key}".encode()
        digest = hashlib.sha256(_PRINCIPAL + identity).hexdigest()
        return Caller(
            tenant=self.passthrough,
            principal=digest,
            authorization=header or f"Bearer {key}",
            by_key=not header,
        )


def gatekeeper(files: Iterable[PolicyFile]) -> Gatekeeper:
    """Collect the access rules of all tenants (checked before: no key twice, one door each)."""
    keys: dict[str, KeyOwner] = {}
    anonymous: TenantId | None = None
    passthrough: TenantId | None = None
    for file in files:
        tenant = TenantId(file.tenant)
        keys.update({key.hash: KeyOwner(tenant, key.name, key.labels.pairs()) for key in file.access.keys})
        anonymous = tenant if file.access.anonymous == "loopback" else anonymous
        passthrough = tenant if file.access.unknown_keys == "passthrough" else passthrough
    return Gatekeeper(keys, anonymous, passthrough)


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_clean(header: str) -> bool:
    """Allow visible ASCII and spaces only: this goes into a header upstream."""
    return len(header) <= MAX_CREDENTIAL and header.isascii() and header.isprintable()


def refused() -> RequestError:
    """Make the one answer to every missing, wrong or malformed key."""
    return RequestError(
        "Missing or invalid API key.",
        status=401,
        type="authentication_error",
        code="invalid_api_key",
        headers=(("www-authenticate", "Bearer"),),
    )
