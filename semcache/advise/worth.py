"""What reuse is worth: money and waiting spared, against what it costs. Pure arithmetic on what was found."""

from __future__ import annotations

from semcache.advise.findings import Findings, Worth
from semcache.policy.snapshot import PolicySnapshot


def worth_of(found: Findings, snapshot: PolicySnapshot) -> Worth:
    """Give what reuse is worth a day."""
    raise NotImplementedError
