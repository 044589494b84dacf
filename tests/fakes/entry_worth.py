"""Who goes first where room is short, in memory and without any cleverness: all are looked at each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from semcache.core import Entry, EntryId
from semcache.store.keys import digest
from semcache.store.packing import Quota
from semcache.store.worth import added, level, made_for, step


@dataclass
class _Held:
    score: float
    size: int
    verified: bool
    holders: tuple[bytes, ...]


@dataclass
class Worths:
    """What the entries of one tenant are worth, and whose they are."""

    time: float = 0.0
    held: dict[EntryId, _Held] = field(default_factory=dict)

    def score(self, name: EntryId | None) -> float:
        return self.held[name].score if name in self.held else 0.0

    def put(self, entry: Entry, size: int, quota: Quota, before: float) -> None:
        self.time += step(size, quota.entries, quota.bytes)
        score = max(before, self.time + level(made_for(entry)))
        verified = entry.status.is_verified
        who = tuple(_holders(entry)) if quota.share and not verified else ()
        self.held[entry.id] = _Held(score, size, verified, who)

    def use(self, uses: Mapping[EntryId, float]) -> None:
        for name, saved in uses.items():
            if (held := self.held.get(name)) is not None:
                held.score = added(held.score, self.time + level(max(1.0, saved)))

    def first(self, quota: Quota, keep: EntryId, *, by_number: bool) -> EntryId:
        """Who goes first; `keep` only where all others are verified and it is not, or nobody else is there."""
        return self._greedy(quota, keep, by_number) or self._least(keep)

    def _greedy(self, quota: Quota, keep: EntryId, by_number: bool) -> EntryId | None:
        room = quota.entries if by_number else quota.bytes
        for letter in (b"u", b"k") if quota.share else ():
            shares: dict[bytes, list[EntryId]] = {}
            for name, held in self.held.items():
                for who in held.holders:
                    if who.startswith(letter):
                        shares.setdefault(who, []).append(name)
            weights = {
                who: sum(1 if by_number else self.held[name].size for name in names)
                for who, names in shares.items()
            }
            top = max(weights, key=lambda who: (weights[who], who), default=None)
            if top is None or weights[top] <= (quota.share or 0) * room:
                continue
            others = [name for name in shares[top] if name != keep]
            if others:
                return min(others, key=self.score)
        return None

    def _least(self, keep: EntryId) -> EntryId:
        def goes(name: EntryId) -> bool:
            mine = self.held.get(keep)
            return name != keep and (mine is None or mine.verified or not self.held[name].verified)

        others = [name for name in self.held if goes(name)]
        return min(others or [keep], key=lambda name: (self.held[name].verified, self.score(name)))


def _holders(entry: Entry) -> Iterator[bytes]:
    for letter, text in ((b"k", entry.holder), (b"u", entry.subject)):
        if text:
            yield letter + digest(text)[:8]
