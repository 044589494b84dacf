"""Names of everything the store owns in Redis, and the digests they are made of (pure).

Every key of a tenant begins with `<prefix>:{<tenant>}:`. The braces are Redis Cluster's hash tag:
all keys of one tenant live in one slot, so one script may touch them together. What belongs to
no tenant (change stream, its sequence, list of tenants, identity) shares the tag `{!}`, which
no quoted tenant can produce.

    e:<id>        the entry's bytes (`store.codec`), server-side expiry
    k:<digest>    exact key -> id, same expiry
    s:<digest>    sorted set of ids by expiry: one a namespace, model and tag
    age           sorted set of ids by order of storing, verified ones 2^52 behind all others: listing, scan
    exp           sorted set of ids by expiry: what the server has dropped already
    meta          hash id -> bytes held, `#b` their sum, `#s` the order's counter, `#v` the time of `val` (`store.worth`)
    val           sorted set of ids by what they are worth, verified ones 2^40 behind all others: who goes first
    own           hash id -> whose share of the room it takes (`store.lua_worth`)
    h:<who>       sorted set of the ids of one API key or end user, by what they are worth; verified ones are nobody's
    hnk, hnu      sorted sets of API keys and of end users by how many entries they hold; hbk, hbu: how many bytes
    ep            hash of invalidation counters; never expires
    et            the same: when each was last raised, in milliseconds; never expires
    er            subject (`core.Entry.subject`) -> when they were erased (`store.erasure`); never expires
    d:<id>        tombstone of an entry deleted by id, or rejected and gone; lives as long as the entry would have
    x:<digest>    tombstone of its exact key (`key:<exact key>` in `core.Epochs`)
    b:<digest>    set of questions that entries of an exact key must not answer (`core.Entry.barred`)
    c:<id>        set of users who got its answer from the model themselves (`core.Entry.confirmed`), same expiry
    v:<id>        list of earlier versions of an entry, newest first
    al, ah        audit log: its lines, and a hash of where it ends and what it let go (`store.verdicts`); never expire
    rq            entries that wait for a human (`store.queue`, whose keys all begin with r)
    lint:<day>    what keeps prompts from being reused (`store.lint_shelf`)
    alr, all      alarms that are raised, and their last changes (`store.alarm_shelf`)
    warm          heads of prompts to compute beforehand (`store.warm_shelf`)
    gs, g:<digest>  vectors of encoders that are not in service (`store.vector_shelf`)
    cost:<day>    what requests cost (`store.cost_book`, whose keys all begin with cost)

This module knows no Redis: it only names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from semcache.core import Entry, TenantId
from semcache.ports import Selector
from semcache.review_rules import PUBLIC

DIGEST_SIZE = 12
"""Bytes of the digests in key names: 96 bits, so a chance collision needs 2^48 names in one tenant."""

PUBLIC_TENANT = TenantId(PUBLIC)
"""Holds answers made public; no policy file's tenant can be called so, their names have no "~"."""

KEY_EPOCH = "key:"
"""Prefix of the epoch of one exact key: a tombstone with a lifetime, not a durable counter."""


def digest(text: str) -> bytes:
    """Digest one epoch key or exact key: blake2b, 12 bytes.

    Lone surrogates are kept apart instead of refused: names come from clients.
    """
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


def epoch_field(key: str) -> bytes:
    """Give the field of an epoch key in the `ep` hash; the tenant's own key `""` stays empty."""
    return digest(key) if key else b""


def epoch_keys(entry: Entry) -> Iterator[str]:
    """Yield the durable epoch keys that an entry lives under: tenant, namespace, model, end user, tags."""
    yield ""
    yield f"ns:{entry.namespace}"
    yield f"model:{entry.model}"
    if entry.subject:
        yield f"subject:{entry.subject}"
    for tag in dict.fromkeys(entry.tags):
        yield f"tag:{tag}"


def selector_keys(selector: Selector) -> list[str]:
    """Give the epoch keys that everything a selector names lives under; ids and tenant aside."""
    words = (
        ("ns:", selector.namespace),
        ("model:", selector.model),
        ("subject:", selector.subject),
        ("tag:", selector.tag),
    )
    return [f"{word}{text}" for word, text in words if text]


@dataclass(frozen=True, slots=True)
class Keys:
    """The key names of one deployment; `prefix` keeps deployments in one database apart."""

    prefix: str = "sc"

    def base(self, tenant: TenantId) -> bytes:
        """Give the beginning of every key of a tenant, its hash tag included."""
        # A bare "%" never comes out of quote(): the empty tenant cannot be mistaken for another one.
        tag = quote(tenant, safe="", errors="surrogatepass") or "%"
        return f"{self.prefix}:{{{tag}}}:".encode()

    def shared(self, name: str) -> bytes:
        """Give the name of a key that belongs to no tenant."""
        return f"{self.prefix}:{{!}}:{name}".encode()
