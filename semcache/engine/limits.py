"""How much of the engine's memory a tenant may fill: one line of the command line a tenant, read and written.

The tenant is the opaque key that requests name (`prefix_cache.tenant`). Knows no pool and no tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"([^=\s]{1,128})=([0-9]{1,12}):([0-9]{0,12})")


@dataclass(frozen=True, slots=True)
class TenantLimit:
    """`floor` tokens of a tenant cannot be pushed out by others; above `ceiling` (None: no limit) it may not grow."""

    tenant: str
    floor: int = 0
    ceiling: int | None = None

    def __str__(self) -> str:
        return f"{self.tenant}={self.floor}:{'' if self.ceiling is None else self.ceiling}"


def read_limit(text: str) -> TenantLimit:
    """Read `TENANT=FLOOR:CEILING` (nothing behind the colon: no ceiling).

    Raises:
        ValueError: it has another form, or the ceiling is below the floor.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError("should be TENANT=FLOOR:CEILING in tokens, as in a1b2=1000:50000, or a1b2=1000:")
    limit = TenantLimit(found[1], int(found[2]), int(found[3]) if found[3] else None)
    if limit.ceiling is not None and limit.ceiling < max(limit.floor, 1):
        raise ValueError("the ceiling should be at least 1 and at least the floor")
    return limit
