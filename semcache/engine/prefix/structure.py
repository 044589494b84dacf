"""How nodes hang together, and the few changes that are possible: grow, split, trim, drop.

Every change keeps rows, edges, digests and the eviction queue in step. Knows nothing of handles
or matches; whoever changes something that a match may rely on sees `version` replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.engine.layers import Owner
from semcache.engine.prefix.digest import Digester
from semcache.engine.prefix.spans import Span
from semcache.engine.prefix.store import ROOT, NodeStore
from semcache.engine.prefix.victims import Queue
from semcache.engine.runs import Run

PARENT_BITS = 28
OWNER_SHIFT = 60


class Structure:
    """The tree's shape over a `NodeStore`.

    A child is found in one of two ways. Most nodes have one child, of their own owner: it stands in
    the column `only`, and no other child of that owner exists. All others have an edge.
    `edges` maps (parent, first token, owner) to the child: one int of the parent's number, the
    token above it, and above that the owner where it differs from the parent's (0 where not; most
    keys are small so). `pinned` counts the tokens of pinned nodes. `forgotten` are nodes that no
    match may reach again: they have neither edges nor digests and are pinned.
    """

    def __init__(self, store: NodeStore, queue: Queue, digester: Digester) -> None:
        self.store = store
        self.queue = queue
        self.digester = digester
        self.table = store.table
        self.edges: dict[int, int] = {}
        self.forgotten: set[int] = set()
        self.pinned = 0
        self.version = object()
        self._ids = memoryview(store.text).cast("I")

    def key(self, node: int) -> int:
        """Give the key of the edge that leads to a node."""
        store = self.store
        parent, code = store.parent[node], store.owner[node]
        turn = 0 if code == store.owner[parent] else (code + 1) << OWNER_SHIFT
        return int(self._ids[store.start[node]]) << PARENT_BITS | parent | turn

    def is_leaf(self, node: int) -> bool:
        """True for an unpinned node without children: what may be evicted, and is queued."""
        return not (self.store.pins[node] or self.store.below[node]) and node != ROOT

    def spans(self, node: int) -> tuple[Span, ...]:
        """Say who owns the prefix that ends with a node."""
        store = self.store
        spans: list[Span] = []
        while node:
            owner = store.owner_of(node)
            if not spans or spans[-1][1] != owner:
                spans.append((store.end[node], owner))
            node = store.parent[node]
        return tuple(reversed(spans))

    def text(self, node: int) -> bytes:
        """Copy the tokens of the prefix that ends with a node."""
        path: list[int] = []
        while node:
            path.append(node)
            node = self.store.parent[node]
        return b"".join(map(self.store.texts.__getitem__, reversed(path)))

    def chain(self, parent: int, owner: Owner, run: Run, tokens: bytes, digest: bytes, now: float) -> int:
        """Hang a new node below `parent`, pinned once. `tokens` are those of the run alone.

        The parent is pinned or the root, so it is not queued.
        """
        store = self.store
        node = store.new(parent, owner, run)
        store.write(run, tokens)
        store.created[node] = max(now, store.created[parent])
        store.touched[node] = now
        store.pins[node] = 1
        self._link(node)
        self.table.add(node, digest)
        self._book(owner, run.length, run.length)
        return node

    def lengthen(self, node: int, run: Run, tokens: bytes, digest: bytes, now: float) -> None:
        """Let a pinned childless node go on into the slots right behind its own."""
        store = self.store
        store.write(run, tokens)
        store.length[node] += run.length
        store.changed(node)
        store.end[node] += run.length
        store.created[node] = max(now, store.created[node])
        store.touched[node] = now
        self._rename(node, digest)
        self._book(store.owner_of(node), run.length, run.length)
        self.version = object()

    def split(self, node: int, length: int) -> int:
        """Cut a node so that a prefix of `length` tokens ends at a border; give the new upper node.

        The lower part keeps the number: handles that end with it, and its children, stay right.
        """
        store = self.store
        is_queued = self.is_leaf(node)
        if is_queued:
            self.queue.remove(node)
        parent, whole = store.parent[node], store.run(node)
        is_only = store.only[parent] == node
        edge = 0 if is_only else self.key(node)
        head = length - store.end[parent]
        upper = store.new(parent, store.owner_of(node), Run(whole.start, head))
        for numbers in (store.pins, store.hits):
            numbers[upper] = numbers[node]
        store.weight[upper] = store.weight[node]
        store.created[upper] = store.created[node]
        store.touched[upper] = store.touched[node]
        store.below[upper] = 1
        store.parent[node] = upper
        store.start[node] = whole.start + head
        store.length[node] = whole.length - head
        store.changed(node)
        store.only[upper] = node
        if is_only:
            store.only[parent] = upper
        else:
            self.edges[edge] = upper
        self.table.add(upper, self._digest(upper))
        if is_queued:
            self.queue.add(node)
        self.version = object()
        return upper

    def trim(self, node: int, tokens: int) -> Run:
        """Cut the last `tokens` off a leaf that was just taken from the queue, and queue it again."""
        store = self.store
        store.length[node] -= tokens
        store.changed(node)
        store.end[node] -= tokens
        tail = Run(store.start[node] + store.length[node], tokens)
        store.erase(tail)
        self._rename(node, self._digest(node))
        self._book(store.owner_of(node), -tokens, 0)
        self.queue.add(node)
        self.version = object()
        return tail

    def drop(self, node: int) -> Run:
        """Free a leaf that is not queued (any more); its parent may become a leaf and be queued."""
        store = self.store
        parent, run, owner = store.parent[node], store.run(node), store.owner_of(node)
        is_known = node not in self.forgotten
        self.forgotten.discard(node)
        if is_known:
            self.table.remove(node)
            if store.only[parent] == node:
                store.only[parent] = 0
            else:
                del self.edges[self.key(node)]
        # The root has no count of forgotten nodes below it.
        if parent or is_known:
            store.below[parent] -= 1
        store.touched[parent] = max(store.touched[parent], store.touched[node])
        if self.is_leaf(parent) and parent not in self.forgotten:
            self.queue.add(parent)
        store.erase(run)
        self._book(owner, -run.length, 0)
        store.free(node)
        self.version = object()
        return run

    def pin(self, path: Sequence[int]) -> None:
        """Pin nodes, head first, each the parent of the next; the last may be queued."""
        store = self.store
        pins, length = store.pins, store.length
        if path and self.is_leaf(path[-1]):
            self.queue.remove(path[-1])
        pinned = 0
        for node in path:
            users = pins[node]
            if not users:
                pinned += length[node]
            pins[node] = users + 1
        self.pinned += pinned

    def unpin(self, node: int) -> None:
        """Give back one pin of a node and of all above it; what then is a leaf is queued."""
        store = self.store
        pins, length, parent = store.pins, store.length, store.parent
        at, free = node, 0
        while at:
            left = pins[at] - 1
            pins[at] = left
            if not left:
                free += length[at]
            at = parent[at]
        self.pinned -= free
        if node and self.is_leaf(node) and node not in self.forgotten:
            self.queue.add(node)

    def forget(self) -> tuple[Run, ...]:
        """Free every unpinned node and cut the pinned ones off; give the freed slots. Walks all rows."""
        store = self.store
        freed: list[Run] = []
        self.edges.clear()
        self.table.clear()
        self.queue.clear()
        for node in store.living():
            if store.pins[node]:
                self.forgotten.add(node)
                store.only[node] = 0
                continue
            run = store.run(node)
            freed.append(run)
            if store.pins[store.parent[node]]:
                store.below[store.parent[node]] -= 1
            store.erase(run)
            self._book(store.owner_of(node), -run.length, 0)
            store.free(node)
        store.below[ROOT] = 0
        self.version = object()
        return tuple(freed)

    def _link(self, node: int) -> None:
        """Make a new node reachable from its parent."""
        store = self.store
        parent = store.parent[node]
        other = store.only[parent]
        has_parents_owner = store.owner[node] == store.owner[parent]
        store.below[parent] += 1
        if has_parents_owner and store.below[parent] == 1:
            store.only[parent] = node
            return
        if has_parents_owner and other:
            store.only[parent] = 0
            self.edges[self.key(other)] = other
        self.edges[self.key(node)] = node

    def _digest(self, node: int) -> bytes:
        return self.digester.of(self.text(node), self.spans(node))

    def _rename(self, node: int, digest: bytes) -> None:
        self.table.remove(node)
        self.table.add(node, digest)

    def _book(self, owner: Owner, tokens: int, pinned: int) -> None:
        self.store.count(owner, tokens)
        self.pinned += pinned
