"""What a worker's drafts and sightings are built from. Builders only; `app` puts them in."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from semcache.cost.prices import micro_usd
from semcache.evidence_port import EvidenceStore
from semcache.journey import Backend
from semcache.ports import Clock, Verifier
from semcache.revising.band import Bands, Count
from semcache.revising.revising import Revising
from semcache.revising.revision import RevisingLimits
from semcache.revising.told import Told

_WORD = 8
Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


def revising_of(
    backends: Mapping[str, Backend],
    evidence: EvidenceStore,
    count: Count,
    verifier: Verifier | None,
    clock: Clock,
    spawn: Spawn,
    new_id: Callable[[], str],
    told: Told,
) -> Revising:
    """Give what makes answers from drafts.

    Args:
        backends: upstreams by name; a policy may name one as reviser.
        evidence: where the tallies of drafts are read.
        count: adds to them.
        verifier: asked about revised answers; None: nothing is revised.
        clock: time.
        spawn: starts a task that the lifespan owns.
        new_id: gives fresh ids of answers.
        told: the metrics.
    """
    return Revising(
        backends,
        Bands(evidence, count, clock, spawn),
        micro_usd,
        verifier=verifier,
        clock=clock,
        new_id=new_id,
        new_word=lambda: secrets.token_hex(_WORD),
        told=told,
        limits=RevisingLimits(),
    )
