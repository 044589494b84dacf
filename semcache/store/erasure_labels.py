"""Labels of costs and lint whose value is the name of somebody to be erased; see `store.erasure`.

Who they are is known by a digest only, so each value is digested and compared: names of keys, projects and the like are
few. Sums stay right: what stood under the name is added up under `~other`. Knows no prices.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from semcache.core import TenantId
from semcache.errors import StoreError
from semcache.store.cluster import ClusterLink
from semcache.store.cost_book import OTHER
from semcache.store.erasure_lua import ErasureScripts
from semcache.store.evidence_record import json_of
from semcache.store.keys import Keys
from semcache.store.link import Link
from semcache.store.shapes import a_list, a_number, pairs, some_bytes

_BETWEEN = b"\x1f"
_NAMED = slice(3, 8)
"""Where names that clients or operators give stand in a key of the book: key, project, environment, line, task."""
_LABELS = 12
"""Where labels stand in a row of lint."""

_REMEMBERED = 50_000

SubjectOf = Callable[[TenantId, str], str]
"""Gives the digest of a name inside a tenant (`core.Entry.subject`)."""


class LabelEraser:
    """Takes a name out of a tenant's labels."""

    def __init__(
        self, link: Link | ClusterLink, keys: Keys, scripts: ErasureScripts, subject_of: SubjectOf
    ) -> None:
        self._subject_of = subject_of
        self._known: dict[tuple[TenantId, str], str] = {}
        self._link = link
        self._keys = keys
        self._scripts = scripts

    async def sums(self, tenant: TenantId, subject: str, *, remove: bool) -> int:
        """Count the sums of costs under the name, and add them up under `~other` if asked to.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        base, count = self._keys.base(tenant), 0
        for day in a_list(await self._link.call("ZRANGE", base + b"cost-days", 0, -1)):
            key = base + b"cost:%d" % a_number(day)
            for field in a_list(await self._link.call("HKEYS", key)):
                folded = self._folded(tenant, subject, some_bytes(field))
                if folded != field:
                    count += 1
                    if remove:
                        await self._link.run(self._scripts.fold, (key,), (field, folded))
        return count

    async def findings(self, tenant: TenantId, subject: str, *, remove: bool) -> int:
        """Count the findings of lint that name somebody, and take the label off them if asked to.

        Raises:
            StoreError: unreachable, late or read-only; `corrupt`.
        """
        base, count = self._keys.base(tenant), 0
        for day in a_list(await self._link.call("ZRANGE", base + b"lint-days", 0, -1)):
            key = base + b"lint:%d" % a_number(day)
            for worker, value in pairs(a_list(await self._link.call("HGETALL", key))):
                rows = json_of(value)
                if not isinstance(rows, list):
                    raise StoreError("lint: a stored value is damaged", kind="corrupt")
                found = [row for row in rows if self._is_named(tenant, subject, row)]
                count += len(found)
                if found and remove:
                    for row in found:
                        row[_LABELS] = [one for one in row[_LABELS] if not self._is(tenant, subject, one[1])]
                    await self._link.call("HSET", key, worker, orjson.dumps(rows))
        return count

    def _is_named(self, tenant: TenantId, subject: str, row: object) -> bool:
        if not isinstance(row, list) or len(row) <= _LABELS or not isinstance(row[_LABELS], list):
            return False
        return any(
            isinstance(one, list) and len(one) == 2 and self._is(tenant, subject, one[1])
            for one in row[_LABELS]
        )

    def _folded(self, tenant: TenantId, subject: str, field: bytes) -> bytes:
        words = field.split(_BETWEEN)
        for at in range(*_NAMED.indices(len(words))):
            name = words[at].replace(b"%1F", _BETWEEN).replace(b"%25", b"%").decode("utf-8", "surrogatepass")
            if self._is(tenant, subject, name):
                words[at] = OTHER.encode()
        return _BETWEEN.join(words)

    def _is(self, tenant: TenantId, subject: str, name: object) -> bool:
        if not isinstance(name, str) or not name:
            return False
        # The same few names stand in many keys.
        known = self._known.get((tenant, name))
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[tenant, name] = self._subject_of(tenant, name)
        return known == subject
