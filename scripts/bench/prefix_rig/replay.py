"""A trace through the engine's own tree and allocator, one request after another, without a model."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from prefix_rig.traces import Request, Segment
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.baselines import LeastFrequent, LeastRecent
from semcache.engine.prefix.eviction import HybridPolicy
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.tree import PrefixTree

_TO_ID = bytes(byte & 0x7F for byte in range(256))


class Result(NamedTuple):
    """Tokens of prompts, and how many of them were found; evicted tokens by reason; nodes at the end."""

    prompt: int
    reused: int
    evictions: tuple[tuple[str, int], ...]
    nodes: int

    @property
    def rate(self) -> float:
        return self.reused / self.prompt


class Texts:
    """The tokens that segments stand for, as int32 bytes."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def of(self, segments: tuple[Segment, ...]) -> bytes:
        return b"".join([self._one(segment) for segment in segments])

    def _one(self, segment: Segment) -> bytes:
        text = self._known.get(segment.number)
        if text is None:
            text = Random(segment.number).randbytes(4 * segment.length).translate(_TO_ID)
            self._known[segment.number] = text
        return text


def hybrid(capacity: int, rules: EvictionRules | None = None) -> PrefixTree:
    """Make a tree with the engine's own order."""
    policy = HybridPolicy(capacity, rules)
    return PrefixTree(capacity, policy.order, policy)


ORDERS: dict[str, Callable[[int], PrefixTree]] = {
    "LRU": lambda capacity: PrefixTree(capacity, LeastRecent, HalfLife()),
    "LFU": lambda capacity: PrefixTree(capacity, LeastFrequent, HalfLife()),
    "plain rule": lambda capacity: hybrid(capacity, EvictionRules(learns=False)),
    "hybrid": hybrid,
}


def replay(requests: list[Request], tree: PrefixTree, capacity: int, texts: Texts) -> Result:
    """Run a trace: match, lock, evict what is missing, insert prompt and answer, unlock.

    A prompt's last token is always computed, so it never counts as reused.
    """
    slots = RunAllocator(capacity)
    prompt_tokens = reused = 0
    for request in requests:
        prompt = texts.of(request.prompt)
        whole = prompt + texts.of((request.answer,))
        match = tree.match(prompt, ())
        handle = tree.lock(match, min(match.length, len(prompt) // 4 - 1), request.now)
        prompt_tokens += len(prompt) // 4
        reused += handle.length
        missing = len(whole) // 4 - handle.length
        if missing > slots.free:
            slots.give(tree.evict(missing - slots.free, request.now))
        runs = slots.take(missing, handle.runs[-1].end if handle.runs else None)
        if runs is None:
            message = f"{missing} slots are not to be had from {capacity}"
            raise MemoryError(message)
        inserted = tree.insert(handle, whole, (), runs, request.now)
        slots.give(inserted.duplicates)
        tree.unlock(inserted.handle)
    counts = tree.counts()
    return Result(prompt_tokens, reused, counts.evictions, counts.nodes)
