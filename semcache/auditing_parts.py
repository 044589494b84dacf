"""What the auditor of a worker is built from. Builders only; `app` puts them in."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping

from semcache.asking.pace import Pace
from semcache.asking.purse import Price, Purse
from semcache.auditing.auditor import Auditing, AuditLimits, Heard, Spawn
from semcache.auditing.books import Books
from semcache.auditing.told import Told
from semcache.auditing.verdicts import Bench, Similar
from semcache.core import CachePolicy, Embedding
from semcache.cost.prices import micro_usd
from semcache.errors import EncoderError
from semcache.evidence_port import Spending
from semcache.journey import Backend
from semcache.ports import Clock, Encoder, SideSink
from semcache.store.evidence_hits import EvidenceShelves

_WORD = 8
_BEGINNING = 500
"""Characters of an answer that is too long for the encoder."""


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


def similar_by(encoder: Encoder, pace: Pace, clock: Clock) -> Similar:
    """Give what tells how alike two answers are, on the encoder's reference scale.

    It compares their beginnings, and not more of them than `pace` allows: likeness is a hint about wording here and decides
    nothing, and the encoder's time belongs to questions.
    """

    async def encoded(text: str) -> Embedding:
        return await encoder.encode(text[:_BEGINNING])

    async def similar(one: str, other: str) -> float | None:
        if not pace.take(clock.monotonic()):
            return None
        try:
            left, right = await encoded(one), await encoded(other)
        except EncoderError:
            return None  # no text for it, or too busy with requests
        if left.encoder != right.encoder:
            return None
        return encoder.to_reference(left.encoder, float(left.vector @ right.vector))

    return similar
