"""From what a request says about reuse to the owners of its tokens.

Pure. A salt is a list of typed, length-prefixed parts, so that no two lists look alike: tenant
"ab" is not tenant "a" with user "b", and a caller's `cache_salt` can never spell a tenant's key.
"""

from __future__ import annotations

from semcache.engine.fields import PrefixCache
from semcache.engine.layers import NOBODY, PUBLIC, Layer, Layers, Owner


def layers_of(
    asked: PrefixCache | None,
    cache_salt: str | None,
    *,
    public_end: int,
    tenant_end: int,
    length: int,
    answered: bool = True,
) -> Layers:
    """Give the layers of a prompt of `length` tokens; borders are positions in it.

    Without a word from the caller there are none. `cache_salt` narrows: it sets apart whatever
    is not public, inside the tenant when there is one. When the prompt is `answered`, its last
    token is private whatever was asked, since the answer belongs to the last layer's owner.
    """
    if asked is None and cache_salt is None:
        return ()
    tenant, private = _owners(asked, cache_salt)
    room = length - 1 if answered else length
    borders = ((min(public_end, room), PUBLIC), (min(tenant_end, room), tenant), (length, private))
    layers: list[Layer] = []
    for end, owner in borders:
        if end > (layers[-1].end if layers else 0):
            layers.append(Layer(end, owner))
    return _joined(layers)


def _owners(asked: PrefixCache | None, cache_salt: str | None) -> tuple[Owner, Owner]:
    """Give the owner of a tenant's shared part, and that of the rest."""
    salted = b"" if cache_salt is None else part(b"s", cache_salt)
    if asked is None:
        owner = Owner(NOBODY.tenant, NOBODY.salt + salted)
        return owner, owner
    shared = part(b"t", asked.tenant) + salted
    tenant = Owner(asked.tenant, shared)
    if asked.user is None:
        return tenant, tenant
    return tenant, Owner(asked.tenant, shared + part(b"u", asked.user))


def part(kind: bytes, key: str) -> bytes:
    """Write one part of a salt: its kind (one byte), the length of its key in bytes, the key."""
    written = key.encode("utf-8", "surrogatepass")
    return kind + len(written).to_bytes(4, "little") + written


def _joined(layers: list[Layer]) -> Layers:
    """Leave out borders between layers of one owner."""
    kept: list[Layer] = []
    for layer in layers:
        if kept and kept[-1].owner == layer.owner:
            kept.pop()
        kept.append(layer)
    return tuple(kept)
