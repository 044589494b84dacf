"""The engine's account of itself, put together from the books of its parts. Read on its own thread."""

from __future__ import annotations

from dataclasses import replace

from semcache.engine.forward import Network
from semcache.engine.layers import Owner
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.prefix.view import short_name
from semcache.engine.report import EngineReport, TopPrefix
from semcache.engine.scheduling.counters import Counters


def report(
    network: Network,
    allocator: RunAllocator,
    tree: PrefixTree,
    shares: Shares,
    counters: Counters,
    *,
    active: int,
    queued: int,
    host_tokens: int,
) -> EngineReport:
    """Give counters and present sizes; `active` choices run, `queued` requests wait."""
    held = tree.counts()
    evictions = dict(counters.evictions)
    for reason, tokens in held.evictions:
        evictions[reason] = evictions.get(reason, 0) + tokens
    return EngineReport(
        capacity=allocator.capacity,
        free=allocator.free,
        tree=held.tokens,
        running=allocator.used - held.tokens,
        pinned=held.pinned,
        nodes=held.nodes,
        high_water=max(allocator.high_water, counters.high_water),
        bytes_per_token=network.bytes_per_slot,
        host_tokens=host_tokens,
        prompt=counters.prompt,
        cached=counters.cached,
        generated=counters.generated,
        recomputed=counters.recomputed,
        background=counters.background,
        accepted_draft=counters.accepted_draft,
        rejected_draft=counters.rejected_draft,
        steps=counters.steps,
        decode_rows=counters.decode_rows,
        preemptions=counters.preemptions,
        failures=counters.failures,
        recoveries=counters.recoveries,
        active=active,
        queued=queued,
        evictions=tuple(sorted(evictions.items())),
        tenants=tuple(
            replace(share, tenant=short_name(Owner(share.tenant, b""))) for share in shares.report(tree.held)
        ),
    )


def top_prefixes(tree: PrefixTree, count: int, now: float) -> tuple[TopPrefix, ...]:
    """Give the prefixes most worth keeping, best first."""
    return tuple(
        TopPrefix(found.digest.hex(), found.length, found.frequency, short_name(found.owner))
        for found in tree.top(count, now)
    )
