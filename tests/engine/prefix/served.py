"""The tree with the shipped order of eviction, a pool and prompts under way: what serving does to them."""

from __future__ import annotations

from dataclasses import dataclass

from semcache.engine.layers import PUBLIC, Layer, Layers, Owner
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.eviction import RESERVE, HybridPolicy
from semcache.engine.prefix.handles import Handle, Leaving
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import total
from tests.engine.prefix.recent import tokens


@dataclass
class Running:
    """A prompt that is being computed: the tree has the first `handle.length` tokens of `text`."""

    handle: Handle
    text: bytes
    layers: Layers
    is_forgotten: bool = False

    @property
    def missing(self) -> int:
        return len(self.text) // 4 - self.handle.length


class Served:
    """Every step keeps the contracts of the tree, and looks at what each victim leaves its tenant.

    Without `floors` what is lacking comes from below them.
    """

    def __init__(
        self,
        capacity: int,
        rules: EvictionRules | None = None,
        shares: Shares | None = None,
        *,
        floors: bool = True,
    ):
        self.floors = floors
        self.policy = HybridPolicy(capacity, rules, shares)
        self.tree = PrefixTree(capacity, self.policy.order, self.policy)
        self.pool = RunAllocator(capacity)
        self.shares = shares
        self.running: list[Running] = []
        self.now = 0.0

    def ask(self, head: list[int], rest: list[int], owner: Owner, *, is_public: bool, counts: bool) -> None:
        """Begin a prompt whose head is everybody's, or its owner's like all of it."""
        text = tokens(head + rest)
        layers = (Layer(len(text) // 4 + 1, owner),)
        if is_public:
            layers = (Layer(len(head), PUBLIC), *layers)
        match = self.tree.match(text, layers)
        handle = self.tree.lock(match, match.length, self.now, counts=counts)
        self.running.append(Running(handle, text, layers))

    def advance(self, one: Running, count: int) -> None:
        """Compute some more of a prompt, or give it up where the pool has no room; end it when it is done."""
        count = min(count, one.missing)
        if not count or one.is_forgotten:
            self.end(one)
            return
        self.evict(count - self.pool.free)
        if not self.floors:
            self.evict(count - self.pool.free, floors=False)
        runs = self.pool.take(count)
        if runs is None:
            self.end(one)
            return
        text = one.text[: 4 * (one.handle.length + count)]
        inserted = self.tree.insert(one.handle, text, one.layers, runs, self.now)
        one.handle = inserted.handle
        self.pool.give(inserted.duplicates)

    def end(self, one: Running) -> None:
        self.running.remove(one)
        self.pool.give(self.tree.unlock(one.handle))

    def evict(self, count: int, name: str | None = None, *, floors: bool = True) -> None:
        """Free slots; a tenant named is the only one to lose any, and without a name `floors` hold.

        If these do not, everything that nobody uses can be had, and they are undercut only by what is lacking.
        """

        def leaving(left: Leaving) -> None:
            tenant, held = left.owner.tenant, self.tree.held
            assert name in (None, tenant), "another tenant's tokens went"
            if name is None and floors and self.shares is not None and tenant in held:
                assert held[tenant] >= self.shares.floor(tenant, held), "a floor was undercut for another"

        if count > 0:
            most, broken = self.tree.evictable, self.broken
            freed = self.tree.evict(count, self.now, tenant=name, floors=floors, leaving=leaving)
            if name is None and (self.shares is None or not floors):
                assert total(freed) == min(count, most)
            if floors or self.shares is None:
                assert self.broken == broken
            self.pool.give(freed)

    @property
    def broken(self) -> int:
        """Count the tokens that floors kept and had to give."""
        return dict(self.tree.counts().evictions).get(RESERVE, 0)

    def warm(self, one: Running, seconds: float) -> None:
        if one.handle.length and not one.is_forgotten:
            self.policy.warm(one.handle.node, self.now + seconds)

    def clear(self) -> None:
        self.pool.give(self.tree.clear())
        for one in self.running:
            one.is_forgotten = one.is_forgotten or one.handle.length > 0

    def check(self) -> None:
        self.tree.check_integrity()
        self.pool.check_integrity()
        assert self.pool.used == self.tree.tokens
