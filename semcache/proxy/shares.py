"""Whose requests are being handled: where most places are taken, nobody who has half of them gets another.

A request has its place before it is known whose it is; who lets it in says so. Knows no policies.
"""

from __future__ import annotations

from collections import Counter

from semcache.core import TenantId
from semcache.errors import RequestError
from semcache.proxy.types import Scope

_PLACE = "semcache.place"
"""Name in the connection's scope."""


class Shares:
    """Counts the requests of each tenant.

    Args:
        limit: requests handled at a time, of all.
    """

    def __init__(self, limit: int) -> None:
        self._crowded = limit - limit // 4
        self._half = max(1, limit // 2)
        self._of: Counter[TenantId] = Counter()
        self.inside = 0
        """Requests being handled, known whose or not."""

    def claim(self, tenant: TenantId) -> None:
        """Count a request for a tenant.

        Raises:
            RequestError: 429 `tenant_busy`: it has half of all places, and few are left.
        """
        if self.inside > self._crowded and self._of[tenant] >= self._half:
            raise RequestError(
                "This tenant has as many requests under way as it may have while others need room.",
                status=429,
                type="rate_limit_error",
                code="tenant_busy",
                headers=(("retry-after", "1"),),
            )
        self._of[tenant] += 1

    def give(self, tenant: TenantId) -> None:
        """Count it no more."""
        self._of[tenant] -= 1
        if not self._of[tenant]:
            del self._of[tenant]


class Place:
    """The place of one request, from its coming to its end."""

    __slots__ = ("_shares", "_tenant")

    def __init__(self, shares: Shares, scope: Scope) -> None:
        self._shares = shares
        self._tenant: TenantId | None = None
        shares.inside += 1
        scope[_PLACE] = self

    def belong(self, tenant: TenantId) -> None:
        """Say whose it is; the first word holds.

        Raises:
            RequestError: as for `Shares.claim`.
        """
        if self._tenant is None:
            self._shares.claim(tenant)
            self._tenant = tenant

    def leave(self) -> None:
        """Give it back."""
        self._shares.inside -= 1
        if self._tenant is not None:
            self._shares.give(self._tenant)


def place_of(scope: Scope) -> Place | None:
    """Give the place that a request has, if it takes one."""
    place = scope.get(_PLACE)
    return place if isinstance(place, Place) else None
