"""The prefix tree: which prefixes have KV, in which slots, and who holds or may reuse them.

Four verbs move slots between a caller and the tree: `lock` (after a `match`), `insert`, `unlock`
and `evict`. A slot belongs to the tree from `insert` until one of `evict`, `unlock` or `clear`
gives it back; slots named as duplicates were never the tree's. Tokens are bytes of little-endian
int32. Owned by one thread; time is an argument. Knows no tensors, no pool, and no rule of
eviction: that is the queue's, with the decay of frequencies.

    match   reads         valid until the tree changes (`lock` notices)     O(nodes on the path + tokens compared)
    lock    pins, counts  the handle is valid until it is unlocked          O(nodes on the path), + O(tokens) if it splits
    insert  grows, pins   the new handle, as above; the old one is used up  O(nodes on the path + tokens)
    unlock  unpins        ends the handle                                   O(nodes on the path)
    evict   frees         -                                                 O(log nodes) a victim, + O(prefix) for the last
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from semcache.engine.layers import Layers
from semcache.engine.prefix import integrity, view
from semcache.engine.prefix.digest import Digester, Hash, Identity, short_sha256
from semcache.engine.prefix.faults import (
    ForgottenError,
    HandleError,
    InsertError,
    StaleMatchError,
    TokensError,
    TreeError,
)
from semcache.engine.prefix.growth import ending_at, grow
from semcache.engine.prefix.handles import Counts, Found, Handle, Inserted, Leaving, Match, Valuable
from semcache.engine.prefix.lookup import longest
from semcache.engine.prefix.spans import TOKEN_BYTES, Span, public_part, spans_of, token_count
from semcache.engine.prefix.store import MOST_SLOTS, ROOT, NodeStore
from semcache.engine.prefix.structure import Structure
from semcache.engine.prefix.victims import Decay, Nodes, Queue, Victim
from semcache.engine.report import TreeNode
from semcache.engine.runs import Run, cut, total


class PrefixTree:
    """A radix tree over token ids whose nodes are runs of KV slots, each of one owner.

    `capacity` is the number of slots of the pool. `order` makes the eviction queue over the
    tree's columns. `identity` says what computes the KV; `digest` may be replaced in tests.
    """

    def __init__(
        self,
        capacity: int,
        order: Callable[[Nodes], Queue],
        decay: Decay,
        identity: Identity = (),
        digest: Hash = short_sha256,
    ) -> None:
        if not 0 < capacity <= MOST_SLOTS:
            message = f"a tree indexes 1 to {MOST_SLOTS} slots, not {capacity}"
            raise TreeError(message)
        self._hash = digest
        self._store = NodeStore(capacity)
        self._decay = decay
        self._structure = Structure(self._store, order(self._store), Digester(identity, digest))
        self._handles: dict[int, Handle] = {}
        self._serials = count()
        self._collisions = 0
        self._inserted = 0
        self._duplicates = 0
        self._evictions: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """Count the slots that are the tree's."""
        return self._store.tokens

    @property
    def evictable(self) -> int:
        """Count the slots that `evict` could free now."""
        return self._store.tokens - self._structure.pinned

    @property
    def held(self) -> Mapping[str, int]:
        """Tokens by tenant ("" is the public), a live view; absent means 0."""
        return self._store.held

    def match(self, tokens: bytes, layers: Layers) -> Match:
        """Find the longest prefix of `tokens` that the tree holds under the same owners, position by position.

        Changes nothing and counts nothing; true until the tree changes, which `lock` notices.

        Raises:
            TokensError: `tokens` are not int32, or `layers` do not grow.
        """
        spans = spans_of(layers, token_count(tokens))
        path, length = longest(self._structure, tokens, spans)
        return Match(length, path, self._structure.version, tokens, layers, spans)

    def lock(self, match: Match, length: int, now: float, *, counts: bool = True) -> Handle:
        """Pin the first `length` tokens of a match in one step: nothing comes between found and pinned.

        Splits the last node if `length` ends inside. With `counts`, for a user's reuse, every node
        on the path gets one hit and `now` as its last use; without (work in the background,
        matching again after a preemption) neither. `length` 0 gives a handle that pins nothing
        and is as good to insert behind. If the tree has changed, it is matched again.

        Raises:
            StaleMatchError: the tree has changed and holds less than `length` by now.
            TokensError: `length` is not within the match.
        """
        if not 0 <= length <= match.length:
            message = f"cannot lock {length} of {match.length} matched tokens"
            raise TokensError(message)
        structure, store = self._structure, self._store
        if match.version is not structure.version:
            match = self.match(match.tokens, match.layers)
            if match.length < length:
                message = f"{match.length} tokens are left of a match that had {length}"
                raise StaleMatchError(message)
        path = ending_at(structure, match.path, length)
        structure.pin(path)
        if counts:
            hits, touched = store.hits, store.touched
            for node in path:
                hits[node] += 1
                touched[node] = now
            self._decay.count(store.weight, path, now)
        return self._hand_out(path, length, match.spans)

    def insert(
        self, handle: Handle, tokens: bytes, layers: Layers, runs: tuple[Run, ...], now: float
    ) -> Inserted:
        """Give the tree the KV of `tokens[handle.length:]`, which lies in the caller's `runs`.

        Extends a locked handle (used up by this) to the end of `tokens`; a sequence that runs may
        do so after every chunk. The tree's own KV is never replaced: what it already holds of the
        range comes back as `duplicates`, still the caller's to free, and the new handle points to
        the tree's copy. Nodes end at the ends of runs and where the owner changes; a run that
        follows the handle's own last slots directly lengthens that node, if nobody else uses it.

        Raises:
            HandleError: the handle is used up or not from this tree.
            ForgottenError: the tree was cleared under the handle; it stays valid for `unlock`.
            InsertError: `tokens` and `layers` do not begin with the handle's prefix, `runs` have
                not as many slots as there are new tokens, or a slot is the tree's already.
            TokensError: as for `match`.
        """
        self._check(handle)
        structure = self._structure
        if handle.node in structure.forgotten:
            message = "the prefix was computed by a model that is gone"
            raise ForgottenError(message)
        spans = spans_of(layers, token_count(tokens))
        self._check_runs(runs, token_count(tokens) - handle.length)
        path, known = longest(structure, tokens, spans)
        if known < handle.length or (handle.node and handle.node not in path):
            message = "tokens or owners differ from the prefix that is extended"
            raise InsertError(message)
        path = ending_at(structure, path, known)
        ours = path.index(handle.node) + 1 if handle.node else 0
        structure.pin(path[ours:])
        for node in path[ours:]:
            self._store.touched[node] = max(now, self._store.touched[node])
        fresh = known - handle.length
        grow(structure, path, tokens, spans, cut(runs, fresh, total(runs)), now)
        del self._handles[handle.serial]
        self._inserted += token_count(tokens) - known
        self._duplicates += fresh
        return Inserted(self._hand_out(path, token_count(tokens), spans), cut(runs, 0, fresh))

    def unlock(self, handle: Handle) -> tuple[Run, ...]:
        """End a handle. Its nodes stay in the tree; those no longer pinned may be evicted from now on.

        Gives the slots that are freed by it: none, unless the tree was cleared under the handle
        and this was the last user.

        Raises:
            HandleError: the handle is used up or not from this tree.
        """
        self._check(handle)
        del self._handles[handle.serial]
        self._structure.unpin(handle.node)
        freed: list[Run] = []
        node = handle.node
        while node in self._structure.forgotten and self._structure.is_leaf(node):
            parent = self._store.parent[node]
            freed.append(self._structure.drop(node))
            node = parent
        return tuple(freed)

    def evict(
        self,
        tokens: int,
        now: float,
        *,
        tenant: str | None = None,
        floors: bool = True,
        leaving: Callable[[Leaving], None] | None = None,
    ) -> tuple[Run, ...]:
        """Free `tokens` slots, or all evictable ones if fewer, of one tenant if named; give them back.

        Only unpinned nodes go, tails before heads, in the queue's order; of the last victim only
        as much as is needed. No walk over the tree. Fewer go if the queue withholds some, which it
        does for tenants' floors; without `floors` these go last.
        `leaving` is told of each victim (for a second tier), and must not call the tree.
        """
        freed: list[Run] = []
        wanted = tokens
        while wanted > 0:
            victim = self._structure.queue.pop(now, tenant, floors=floors)
            if victim is None:
                break
            run = self._free(victim, wanted, leaving)
            freed.append(run)
            wanted -= run.length
            self._evictions[victim.reason] = self._evictions.get(victim.reason, 0) + run.length
        return tuple(freed)

    def clear(self, identity: Identity | None = None) -> tuple[Run, ...]:
        """Forget everything at once, for another model (`identity`, if given) computes from now on.

        Gives the slots that nobody uses. Pinned prefixes cannot be matched any more; their slots
        come back from the last `unlock`. Walks all nodes.
        """
        freed = self._structure.forget()
        if identity is not None:
            self._structure.digester = Digester(identity, self._hash)
        return freed

    def find(
        self, digest: bytes, now: float, tokens: bytes | None = None, layers: Layers = ()
    ) -> Found | None:
        """Look up a prefix by its digest: in the hash table, without a descent.

        Given `tokens` (and their `layers`), finds only exactly these; another prefix of the same
        digest is a miss, and counted as a collision. Without, the digest is believed: good for
        routing and diagnosis, never for reuse, so no slots come with it.

        Raises:
            TokensError: as for `match`.
        """
        wanted = None if tokens is None else spans_of(layers, token_count(tokens))
        for node in self._structure.table.find(digest):
            if tokens is None or self._is_prefix(node, tokens, wanted):
                frequency = self._decay.value(self._store.weight[node], now)
                return Found(
                    self._store.end[node], self._store.owner_of(node), self._store.hits[node], frequency
                )
            self._collisions += 1
        return None

    def digest(self, tokens: bytes, layers: Layers) -> bytes:
        """Name a prefix, whether the tree holds it or not.

        Raises:
            TokensError: as for `match`.
        """
        return self._structure.digester.of(tokens, spans_of(layers, token_count(tokens)))

    def counts(self) -> Counts:
        """Give present sizes and counters. Cheap."""
        store = self._store
        return Counts(
            tokens=store.tokens,
            pinned=self._structure.pinned,
            evictable=self.evictable,
            forgotten=sum(store.length[node] for node in self._structure.forgotten),
            nodes=store.nodes,
            handles=len(self._handles),
            owners=len(store.codes),
            collisions=self._collisions,
            inserted=self._inserted,
            duplicates=self._duplicates,
            evictions=tuple(sorted(self._evictions.items())),
        )

    def snapshot(self, now: float, limit: int, min_tokens: int = 1) -> tuple[TreeNode, ...]:
        """Show the most valuable nodes (and all above them), as a tree in depth-first order.

        At most `limit`, of at least `min_tokens` tokens each unless they are above such a one;
        siblings by value. For people: passes over all rows.
        """
        return view.snapshot(self._structure, self._decay, now, limit, min_tokens)

    def top(self, n: int, now: float) -> tuple[Valuable, ...]:
        """Give the `n` prefixes of highest frequency x length, best first; no token of them.

        A prefix is left out if a longer one is as frequent. Passes over all rows.
        """
        return view.top(self._structure, self._decay, n, now)

    def check_integrity(self) -> None:
        """Recount everything. Slow: for tests and for finding faults.

        Raises:
            IntegrityError: something does not add up; says what.
        """
        integrity.check(self._structure, self._handles.values())

    def _free(self, victim: Victim, wanted: int, leaving: Callable[[Leaving], None] | None) -> Run:
        """Free a victim or as much of its tail as is wanted, and allowed."""
        structure, store = self._structure, self._store
        node, size = victim.node, store.length[victim.node]
        part = min(wanted, size if victim.most is None else victim.most)
        owner, end = store.owner_of(node), store.end[node]
        text = store.texts[node][-part * TOKEN_BYTES :] if leaving else b""
        before = store.parent[node] if part >= size else node
        run = structure.drop(node) if part >= size else structure.trim(node, part)
        if leaving:
            digest = structure.table.digest(before) if before else b""
            leaving(Leaving(run, digest, end - part, text, owner))
        return run

    def _check(self, handle: Handle) -> None:
        if self._handles.get(handle.serial) is not handle:
            message = "the handle was used already, or is another tree's"
            raise HandleError(message)

    def _check_runs(self, runs: tuple[Run, ...], wanted: int) -> None:
        if total(runs) != wanted or wanted < 0:
            message = f"{total(runs)} slots for {wanted} new tokens"
            raise InsertError(message)
        before = 0
        for run in sorted(runs):
            if run.length <= 0 or run.start < before or run.end > self._store.capacity:
                message = f"slots {run.start} to {run.end} overlap or do not exist"
                raise InsertError(message)
            if not self._store.is_vacant(run):
                message = f"slots {run.start} to {run.end} are the tree's already"
                raise InsertError(message)
            before = run.end

    def _hand_out(self, path: list[int], length: int, spans: tuple[Span, ...]) -> Handle:
        store = self._store
        node = path[-1] if path else ROOT
        handle = Handle(
            next(self._serials),
            node,
            length,
            tuple(map(store.runs.__getitem__, path)),
            public_part(spans, length),
            store.created[node],
            self._structure.table.digest(node) if node else b"",
        )
        self._handles[handle.serial] = handle
        return handle

    def _is_prefix(self, node: int, tokens: bytes, spans: tuple[Span, ...] | None) -> bool:
        return self._structure.text(node) == tokens and self._structure.spans(node) == spans
