"""How much of the pool a tenant may fill, and how much nobody can take from it. In tokens.

A tenant above its ceiling makes room among its own; one at or below its floor gives no room for
another, unless a request would fail without it. The public ("" as a tenant) is counted apart, like one more tenant. Knows no nodes: who
holds how much is an argument, as the tree counts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from semcache.engine.prefix.faults import TreeError
from semcache.engine.report import TenantShare

PUBLIC_TENANT = ""


class SharesError(TreeError):
    """Floors and ceilings that cannot be kept: negative, crossed, or promising more than there is."""

    code = "prefix_shares_error"


class CeilingError(TreeError):
    """More tokens at once than their tenant may ever hold."""

    code = "prefix_ceiling_exceeded"


@dataclass(frozen=True, slots=True)
class Share:
    """Limits of one tenant: `floor` tokens are its own, above `ceiling` (None: no limit) it may not grow."""

    floor: int = 0
    ceiling: int | None = None

    def __post_init__(self) -> None:
        if self.floor < 0:
            message = f"a floor of {self.floor} tokens"
            raise SharesError(message)
        if self.ceiling is not None and self.ceiling < self.floor:
            message = f"a ceiling of {self.ceiling} tokens is below the floor of {self.floor}"
            raise SharesError(message)


class Cut(NamedTuple):
    """Evict so many `tokens`: of `tenant` alone, or (None) in the order that holds for all."""

    tokens: int
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Shares:
    """The limits of all tenants in a pool of `capacity` tokens.

    `default` holds for tenants without a word in `tenants`, `public` for public tokens. The floors
    named one by one must fit the pool together with one default floor. The default floor is
    promised to as many as come: where all of them would promise more than is left, each has an
    equal part of that instead.

    Raises:
        SharesError: the floors promise more than the capacity.
    """

    capacity: int
    default: Share = Share()
    public: Share = Share()
    tenants: Mapping[str, Share] = field(default_factory=lambda: MappingProxyType({}))
    _named: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if PUBLIC_TENANT in self.tenants:
            message = "the public's share is `public`, not a tenant's"
            raise SharesError(message)
        named = self.public.floor + sum(share.floor for share in self.tenants.values())
        object.__setattr__(self, "_named", named)
        promised = named + self.default.floor
        if promised > self.capacity:
            message = f"floors of {promised} tokens do not fit a pool of {self.capacity}"
            raise SharesError(message)

    @property
    def have_floors(self) -> bool:
        """True if anybody has a floor at all."""
        return bool(self.default.floor or self._named)

    def share_of(self, tenant: str) -> Share:
        """Give the limits that are set for a tenant ("" for the public)."""
        if tenant == PUBLIC_TENANT:
            return self.public
        return self.tenants.get(tenant, self.default)

    def floor(self, tenant: str, held: Mapping[str, int]) -> int:
        """Give the floor in force, given what all hold: the default one may be less than was set. O(1)."""
        floor = self.share_of(tenant).floor
        if not floor or tenant == PUBLIC_TENANT or tenant in self.tenants:
            return floor
        return min(floor, (self.capacity - self._named) // max(len(held), 1))

    def spare(self, tenant: str, held: Mapping[str, int]) -> int:
        """Count the tokens of a tenant that others may push out; at least 0. O(1)."""
        return max(held.get(tenant, 0) - self.floor(tenant, held), 0)

    def cuts(self, tenant: str, tokens: int, held: Mapping[str, int], free: int) -> tuple[Cut, ...]:
        """Say what to evict, in this order, before a tenant may take `tokens` slots of which `free` are free.

        First its own, as far as it would pass its ceiling, then anybody's, as far as slots lack.
        Whoever still finds too few free may evict the tenant's own: `Cut(missing, tenant)`.

        Raises:
            CeilingError: the tenant may not hold so many even alone.
        """
        ceiling = self.share_of(tenant).ceiling
        own = 0
        if ceiling is not None:
            if tokens > ceiling:
                message = f"{tokens} tokens are more than the {ceiling} that their tenant may hold"
                raise CeilingError(message)
            own = max(held.get(tenant, 0) + tokens - ceiling, 0)
        others = max(tokens - free - own, 0)
        return tuple(cut for cut in (Cut(own, tenant), Cut(others, None)) if cut.tokens)

    def report(self, held: Mapping[str, int]) -> Iterator[TenantShare]:
        """Give what every tenant that holds anything holds, with its limits, in the order of names."""
        for tenant in sorted(held):
            yield TenantShare(tenant, held[tenant], self.floor(tenant, held), self.share_of(tenant).ceiling)
