"""What the auditor of a worker is built from. Builders only; `app` puts them in."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping

from semcache.asking.likeness import similar_by
from semcache.asking.pace import Pace
from semcache.asking.purse import Price, Purse
from semcache.auditing.auditor import Auditing, AuditLimits, Heard, Spawn
from semcache.auditing.books import Books
from semcache.auditing.told import Told
from semcache.auditing.verdicts import Bench
from semcache.core import CachePolicy
from semcache.cost.prices import micro_usd
from semcache.evidence_port import Spending
from semcache.journey import Backend
from semcache.ports import Clock, Encoder, SideSink
from semcache.store.evidence_hits import EvidenceShelves

_WORD = 8


def auditing_of(
    shelves: EvidenceShelves,
    backends: Mapping[str, Backend],
    encoder: Encoder | None,
    share: Callable[[CachePolicy], float],
    clock: Clock,
    spawn: Spawn,
    told: Told,
    heard: Heard | None = None,
    sides: SideSink | None = None,
    price: Price = micro_usd,
) -> Auditing:
    """Give the auditor of a worker; the caller spawns its `run` and calls `flush` once at the end.

    Args:
        shelves: the shared evidence.
        backends: upstreams by name; a policy may name one as judge.
        encoder: tells how alike two answers are; None: comparing does without.
        share: gives the share of hits to check under a policy.
        clock: time.
        spawn: starts a task that the lifespan owns.
        told: the metrics.
        heard: hears of each label.
        price: of tokens.
        sides: gets a record of each call.
    """
    purse = Purse(shelves.budget, price, audit_caps, sides)
    bench = Bench(
        similar=similar_by(encoder, Pace(rate=1.0, burst=4.0), clock) if encoder is not None else None,
        backends=backends,
        purse=purse,
        clock=clock,
        new_word=lambda: secrets.token_hex(_WORD),
    )
    auditing = Auditing(
        shelves.labels,
        Books(shelves.labels, shelves.hits),
        purse,
        bench,
        share=share,
        coin=random.random,
        clock=clock,
        spawn=spawn,
        told=told,
        limits=AuditLimits(),
    )
    auditing.heard = heard
    return auditing


def audit_caps(policy: CachePolicy) -> Spending:
    """Give the most that a day's audits may cost."""
    return Spending(policy.audit.max_money, policy.audit.max_calls)
