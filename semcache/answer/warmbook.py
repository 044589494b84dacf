"""The book of heads: which beginnings of prompts come again and again, bounded, fair to tenants.

At first sight only a digest is kept; a head's text is remembered when it comes a second time, so a
prompt that is asked once leaves nothing behind. Frequencies halve with time. Pure: time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import orjson

from semcache.answer.heads import Head
from semcache.core import TenantId

VERSION = 1


@dataclass(frozen=True, slots=True)
class BookRules:
    """Bounds of a book, per tenant unless said otherwise. `half_life` in seconds, sizes in bytes."""

    tenants: int = 256
    sightings: int = 256
    heads: int = 32
    bytes: int = 512 << 10
    half_life: float = 86_400.0
    least: float = 0.5
    """Below this frequency a head is forgotten."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A head with its frequency (sightings, decayed) at the Unix time `at`; `body` is its JSON.

    `owner` as in `heads.Head`.
    """

    key: str
    frequency: float
    at: float
    body: bytes
    owner: str = ""

    def decayed(self, now: float, half_life: float) -> Remembered:
        """Give the same as seen at a later time; clocks that jump back change nothing."""
        if now <= self.at:
            return self
        return replace(self, frequency=self.frequency * 0.5 ** ((now - self.at) / half_life), at=now)

    @property
    def tokens(self) -> int:
        """Its length in tokens, estimated: four bytes each."""
        return max(1, len(self.body) // 4)

    @property
    def value(self) -> float:
        """What keeping it computed saves: frequency x length."""
        return self.frequency * self.tokens


@dataclass(slots=True)
class _Page:
    """One tenant's part. `seen` are digests met once, oldest first; `heads` what was met again."""

    epoch: int | None = None
    seen: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    heads: dict[bytes, Remembered] = field(default_factory=dict)
    fresh: dict[bytes, float] = field(default_factory=dict)
    """Sightings that are not on the shelf yet."""
    bytes: int = 0


class WarmBook:
    """Counts heads by tenant.

    Args:
        rules: its bounds.
    """

    def __init__(self, rules: BookRules | None = None) -> None:
        self.rules = rules or BookRules()
        self._pages: OrderedDict[TenantId, _Page] = OrderedDict()

    def note(self, head: Head, now: float) -> None:
        """Count a sighting."""
        page = self._pages.get(head.tenant)
        if page is None:
            page = self._pages[head.tenant] = _Page()
            if len(self._pages) > self.rules.tenants:
                self._pages.popitem(last=False)
        self._pages.move_to_end(head.tenant)
        known = page.heads.get(head.key)
        if known is not None:
            aged = known.decayed(now, self.rules.half_life)
            page.heads[head.key] = replace(aged, frequency=aged.frequency + 1.0)
            page.fresh[head.key] = page.fresh.get(head.key, 0.0) + 1.0
        elif head.key in page.seen:
            del page.seen[head.key]
            self._remember(page, head, now)
        else:
            page.seen[head.key] = None
            if len(page.seen) > self.rules.sightings:
                page.seen.popitem(last=False)

    def _remember(self, page: _Page, head: Head, now: float) -> None:
        body = head.dumps()
        if len(body) > self.rules.bytes:
            return
        page.heads[head.key] = Remembered(head.key.hex(), 2.0, now, body, head.owner)
        page.fresh[head.key] = 2.0
        page.bytes += len(body)
        while len(page.heads) > self.rules.heads or page.bytes > self.rules.bytes:
            least = min(page.heads, key=lambda key: self._value(page.heads[key], now))
            page.bytes -= len(page.heads.pop(least).body)
            page.fresh.pop(least, None)

    def _value(self, head: Remembered, now: float) -> float:
        return head.decayed(now, self.rules.half_life).value

    def drop(self, tenant: TenantId) -> None:
        """Forget everything of a tenant."""
        self._pages.pop(tenant, None)

    def clear(self) -> None:
        """Forget everything."""
        self._pages.clear()

    @property
    def tenants(self) -> tuple[TenantId, ...]:
        """Who has a page."""
        return tuple(self._pages)

    def epoch(self, tenant: TenantId) -> int | None:
        """Give the invalidation counter that a page was begun under; None while it is not known."""
        page = self._pages.get(tenant)
        return page.epoch if page is not None else None

    def begun_under(self, tenant: TenantId, epoch: int) -> None:
        """Say under which counter a page was begun."""
        if (page := self._pages.get(tenant)) is not None:
            page.epoch = epoch

    def fresh(self, tenant: TenantId, now: float) -> list[Remembered]:
        """Give what was counted since it was last written, by how much."""
        page = self._pages.get(tenant)
        if page is None:
            return []
        return [replace(page.heads[key], frequency=count, at=now) for key, count in page.fresh.items()]

    def written(self, tenant: TenantId, heads: Iterable[Remembered]) -> None:
        """Take what `fresh` gave for written."""
        page = self._pages.get(tenant)
        if page is None:
            return
        for head in heads:
            key = bytes.fromhex(head.key)
            left = page.fresh.get(key, 0.0) - head.frequency
            if left > 0:
                page.fresh[key] = left
            else:
                page.fresh.pop(key, None)

    @property
    def size(self) -> tuple[int, int]:
        """Give (heads, bytes) held."""
        pages = self._pages.values()
        return sum(len(page.heads) for page in pages), sum(page.bytes for page in pages)


def merged(
    old: Iterable[Remembered], new: Iterable[Remembered], now: float, rules: BookRules
) -> list[Remembered]:
    """Add what was counted to what was known; give the most valuable, best first, within the bounds."""
    both: dict[str, Remembered] = {}
    for head in (*old, *new):
        aged = head.decayed(now, rules.half_life)
        known = both.get(aged.key)
        both[aged.key] = aged if known is None else replace(known, frequency=known.frequency + aged.frequency)
    kept: list[Remembered] = []
    size = 0
    for head in sorted(both.values(), key=lambda h: (-h.value, h.key)):
        if head.frequency < rules.least or len(kept) == rules.heads:
            continue
        if size + len(head.body) <= rules.bytes:
            kept.append(head)
            size += len(head.body)
    return kept


def best_first(
    shelf: dict[TenantId, list[Remembered]], now: float, rules: BookRules
) -> Iterator[tuple[TenantId, Remembered]]:
    """Give heads in the order of computing: each tenant's best by falling value, then each one's second, and so on."""
    ranked = [
        (rank, -head.value, tenant, head)
        for tenant, heads in shelf.items()
        for rank, head in enumerate(merged(heads, (), now, rules))
    ]
    for _, _, tenant, head in sorted(ranked, key=lambda row: row[:3]):
        yield tenant, head


def dumps(heads: Iterable[Remembered]) -> bytes:
    """Write heads as versioned JSON."""
    rows = [
        {
            "key": h.key,
            "owner": h.owner,
            "frequency": round(h.frequency, 4),
            "at": h.at,
            "body": orjson.Fragment(h.body),
        }
        for h in heads
    ]
    return orjson.dumps({"version": VERSION, "heads": rows})


def loads(data: bytes) -> list[Remembered]:
    """Read what `dumps` wrote; another version holds nothing.

    Raises:
        ValueError: it is something else.
    """
    try:
        document = orjson.loads(data)
        if document["version"] != VERSION:
            return []
        return [_head(row) for row in document["heads"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no book of heads") from error


def _is_conversation(messages: object) -> bool:
    return isinstance(messages, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages
    )


def _head(row: dict[str, object]) -> Remembered:
    key, owner, frequency, at, body = (row[name] for name in ("key", "owner", "frequency", "at", "body"))
    if not isinstance(key, str) or not isinstance(owner, str):
        raise TypeError
    if not isinstance(body, dict) or not _is_conversation(body.get("messages")):
        raise TypeError
    if not isinstance(frequency, int | float) or not isinstance(at, int | float):
        raise TypeError
    return Remembered(key, float(frequency), float(at), orjson.dumps(body), owner)
