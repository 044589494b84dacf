"""How vectors are renewed here: by which worker, on which shelf, beside which index. Put together for `app` and the commands."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from semcache.ports import Encoder
from semcache.renewing import Entries, Renewing
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.vector_shelf import VectorShelf

_DEADLINE = 5.0
"""Seconds for an operation of the shelf: no request waits for it."""


def renewing_of(
    store_url: str, entries: Entries, encoder: Encoder, foreign: Callable[[], int]
) -> tuple[Renewing, VectorShelf]:
    """Give what renews vectors beside the requests of a worker, and the shelf that is to be closed at the end."""
    shelf = vector_shelf(store_url)
    return Renewing(entries, shelf, encoder, secrets.token_hex(8), foreign), shelf


def vector_shelf(store_url: str) -> VectorShelf:
    """Open the shelf on the server of a URL.

    Raises:
        StoreError: `config`: the URL is not usable.
    """
    return VectorShelf(open_link(store_url, LinkRules(deadline=_DEADLINE)), Keys())
