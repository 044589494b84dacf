"""How much of the prompts is a beginning that came before: what a cache of prefixes would not have computed again.

An unlimited cache, of the same tenant and model, in blocks; beside it what a provider's prompt cache takes of it by its
rules. Holds digests and counts, no texts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from semcache.advise.chains import BLOCK_TOKENS, PARTS, Chain
from semcache.advise.findings import Head, Overlap, Shared
from semcache.advise.remembered import Remembered
from semcache.advise.rows import LogRow

DEPTHS = (256, 1024, 4096, 16384)
PROVIDER_LEAST = 1024
PROVIDER_LIFE = 300.0
PROVIDER_STEP = 128
"""Beyond the least, providers count in steps."""
MOST_NODES = 2_000_000
_MOST_GROUPS = 200
_SHOWN_GROUPS = 20
_MOST_HEADS = 20_000
_SHOWN_HEADS = 10
_LEAST_HEAD = BLOCK_TOKENS
OTHERS = "~other"


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    tokens: float = 0.0
    reused: float = 0.0

    def add(self, tokens: float, reused: float) -> None:
        self.requests += 1
        self.tokens += tokens
        self.reused += reused

    def shared(self, name: str) -> Shared:
        return Shared(name, self.requests, round(self.tokens), round(self.reused))


@dataclass(slots=True)
class _Groups:
    """Sums by a name that comes from the log: the number of names is bounded."""

    sums: dict[str, _Sum] = field(default_factory=dict)

    def add(self, name: str, tokens: float, reused: float) -> None:
        if name not in self.sums and len(self.sums) >= _MOST_GROUPS:
            name = OTHERS
        self.sums.setdefault(name, _Sum()).add(tokens, reused)

    def largest(self) -> tuple[Shared, ...]:
        ranked = sorted(self.sums.items(), key=lambda each: (each[0] == OTHERS, -each[1].tokens, each[0]))
        shown, rest = ranked[:_SHOWN_GROUPS], ranked[_SHOWN_GROUPS:]
        found = [each.shared(name) for name, each in shown]
        if rest:
            other = _Sum()
            for _, each in rest:
                other.requests += each.requests
                other.tokens += each.tokens
                other.reused += each.reused
            found.append(other.shared(OTHERS))
        return tuple(found)


class PrefixOverlap:
    """Takes prompts in time order, gives what they share.

    Args:
        most_nodes: blocks remembered.
    """

    def __init__(self, most_nodes: int = MOST_NODES) -> None:
        self._nodes = Remembered(most_nodes)
        self._all = _Sum()
        self._provider = _Sum()
        self._timed = False
        self._depths = [_Sum() for _ in (*DEPTHS, 0)]
        self._parts = [_Sum() for _ in PARTS]
        self._models, self._tenants = _Groups(), _Groups()
        self._heads = _Heads()

    def add(self, row: LogRow, chain: Chain) -> int:
        """Take a prompt; gives how many of its blocks came before."""
        known, warm = self._met(row, chain)
        total, reused = chain.total, sum(chain.tokens[:known])
        self._all.add(total, reused)
        self._models.add(row.model, total, reused)
        self._tenants.add(row.tenant, total, reused)
        self._provider.add(total, _provided(sum(chain.tokens[:warm])))
        self._spread(chain, known)
        if known and reused >= _LEAST_HEAD:
            self._heads.add(chain.names[known - 1], PARTS[chain.parts[known - 1]], reused, row)
        return known

    def _met(self, row: LogRow, chain: Chain) -> tuple[int, int]:
        """Count the blocks at the front that came before, and those a provider still holds; remember all."""
        known = warm = 0
        going = warming = True
        at = row.at if row.at is not None else 0.0
        self._timed = self._timed or row.at is not None
        nodes = self._nodes
        for name in chain.names:
            if going:
                last = nodes.get(name)
                going = last is not None
                known += going
                warming = warming and last is not None and row.at is not None and at - last <= PROVIDER_LIFE
                warm += warming
            nodes.put(name, at)
        return known, warm

    def _spread(self, chain: Chain, known: int) -> None:
        """Tell tokens apart by depth and by part; a group counts a prompt once."""
        before, depth, edges = 0.0, 0, DEPTHS
        by_part = [0.0] * (2 * len(PARTS))
        by_depth = [0.0] * (2 * len(self._depths))
        for number, (tokens, part) in enumerate(zip(chain.tokens, chain.parts, strict=True)):
            while depth < len(edges) and before >= edges[depth]:
                depth += 1
            again = number < known
            by_part[2 * part] += tokens
            by_depth[2 * depth] += tokens
            if again:
                by_part[2 * part + 1] += tokens
                by_depth[2 * depth + 1] += tokens
            before += tokens
        for sums, found in ((self._parts, by_part), (self._depths, by_depth)):
            for number, each in enumerate(sums):
                if found[2 * number]:
                    each.add(found[2 * number], found[2 * number + 1])

    @property
    def reused(self) -> float:
        """Tokens that came before, in all."""
        return self._all.reused

    def findings(self) -> Overlap:
        """Give what was found so far."""
        return Overlap(
            all=self._all.shared("all"),
            provider=self._provider.shared("provider") if self._timed else None,
            by_depth=_named(self._depths, _depth_names()),
            by_part=_named(self._parts, PARTS),
            by_model=self._models.largest(),
            by_tenant=self._tenants.largest(),
            heads=self._heads.largest(),
            block=BLOCK_TOKENS,
            nodes=len(self._nodes),
            forgotten=self._nodes.forgotten,
            provider_least=PROVIDER_LEAST,
            provider_life=PROVIDER_LIFE,
        )


def _provided(tokens: float) -> float:
    """What a provider takes off of so many tokens at the front."""
    if tokens < PROVIDER_LEAST:
        return 0.0
    return PROVIDER_LEAST + (tokens - PROVIDER_LEAST) // PROVIDER_STEP * PROVIDER_STEP


def _named(sums: Iterable[_Sum], names: Iterable[str]) -> tuple[Shared, ...]:
    return tuple(each.shared(name) for each, name in zip(sums, names, strict=True))


def _depth_names() -> list[str]:
    lows = (0, *DEPTHS)
    return [f"{low}-{high}" for low, high in zip(lows, DEPTHS, strict=False)] + [f"{DEPTHS[-1]}-"]


class _Heads:
    """Counts where prompts part from what came before; the rarest are given up when there are too many."""

    def __init__(self) -> None:
        self._found: dict[int, list[int]] = {}
        self._what: dict[int, tuple[str, float, str, str]] = {}
        self._floor = 0

    def add(self, name: int, part: str, tokens: float, row: LogRow) -> None:
        if name not in self._found:
            if len(self._found) >= _MOST_HEADS:
                self._thin()
            self._found[name] = [self._floor]
            self._what[name] = (part, tokens, row.model, row.tenant)
        self._found[name][0] += 1

    def _thin(self) -> None:
        """Lossy counting: what is met again starts with as many as it may have lost."""
        while len(self._found) >= _MOST_HEADS // 2:
            self._floor += 1
            for name in [name for name, count in self._found.items() if count[0] <= self._floor]:
                del self._found[name], self._what[name]

    def largest(self) -> tuple[Head, ...]:
        ranked = sorted(self._found, key=lambda name: -self._found[name][0] * self._what[name][1])
        return tuple(self._head(name) for name in ranked[:_SHOWN_HEADS])

    def _head(self, name: int) -> Head:
        part, tokens, model, tenant = self._what[name]
        # The prompt that came first parted from nothing.
        prompts = self._found[name][0] + 1
        return Head(f"{name:016x}", part, round(tokens), prompts, model, tenant)
