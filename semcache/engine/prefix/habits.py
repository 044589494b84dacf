"""What is known of each node's past, beyond the tree's columns: how often it was reused, and when last.

Time is a clock of tokens taken in, which is what makes nodes old: it stands still at night. A node
that comes back after its eviction goes on with its count. Knows no order and no queue; nodes are
met when they are queued or used for the first time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from semcache.engine.prefix.ghosts import Ghost, Ghosts
from semcache.engine.prefix.moments import Moments
from semcache.engine.prefix.reuse import BRANCHES, CONTINUES, STARTS, ReuseTable, kind_of
from semcache.engine.prefix.victims import Nodes


class Habits:
    """Columns by node number, 13 bytes a node, and what was learned from all nodes together.

    `uses`: reuses, those before an eviction included. `since`: the clock at the last use (or when
    the node was met). `table` outlives `restart`, for habits do not change with the model.
    """

    def __init__(self, nodes: Nodes, table: ReuseTable, ghosts: int) -> None:
        self._nodes = nodes
        self._most_ghosts = ghosts
        self.table = table
        self.restart()

    def restart(self) -> None:
        """Forget all nodes."""
        self.clock = 0
        self.uses = array("I")
        self.since = array("q")
        self._is_known = bytearray()
        self._origin = bytearray()
        self._ghosts = Ghosts(self._most_ghosts)
        self._returned: dict[bytes, list[tuple[int, bytes]]] = {}
        self._known_end: dict[int, int] = {}
        self._moments = Moments()
        self._cut: tuple[int, int, float] | None = None

    def kind(self, node: int) -> int:
        """Give the kind of a node, that of its last tokens if they differ (see `reuse`)."""
        if node in self._known_end:
            return BRANCHES if self.uses[node] > 1 else CONTINUES
        return kind_of(self.uses[node], self._origin[node])

    def excess(self, node: int) -> int:
        """Count the last tokens of a node that are new, where those before them came back. They go first."""
        known_end = self._known_end.get(node)
        return 0 if known_end is None else self._nodes.end[node] - known_end

    def worth(self, node: int) -> float:
        """Give what a slot at the end of a node is worth now."""
        return self.table.worth(self.kind(node), self.clock - self.since[node])

    def see(self, node: int) -> bool:
        """Meet a node that is queued, with all new ones above it; True if it was not known yet."""
        self._reach(node)
        is_new = not self._is_known[node] and not self._is_rest(node)
        if is_new:
            self._welcome(node)
        self._cut = None
        return is_new

    def use(self, path: Sequence[int], now: float) -> list[int]:
        """Learn that every node of a path was reused at `now` (seconds); its hits are counted by now.

        Gives nodes off the path whose count was another's and is put right: their kinds changed.
        """
        self.clock += 1
        self._cut = None
        clock, table = self.clock, self.table
        self._moments.note(now, clock)
        self._reach(max(path, default=0))
        length, uses, since, is_known = self._nodes.length, self.uses, self.since, self._is_known
        origin = self._origin
        corrected = [lower for node in path if not is_known[node] for lower in self._meet(node)]
        for node in path:
            before, size = uses[node], length[node]
            table.reuse(kind_of(before, origin[node]), clock - since[node], size)
            table.begin(kind_of(before + 1), size)
            uses[node] = before + 1
            since[node] = clock
            self._known_end.pop(node, None)
        return corrected

    def bury(self, node: int, now: float) -> None:
        """Turn a victim into a ghost; if only its tail goes, `see` knows the rest again."""
        nodes = self._nodes
        self._moments.note(now, self.clock)
        place = nodes.place_of(node)
        self._ghosts.leave(
            place, Ghost(self.uses[node], self.kind(node), self.since[node], nodes.length[node])
        )
        self._let_go(node, place)
        self._is_known[node] = False
        self._cut = (node, nodes.end[node] - nodes.length[node], nodes.created[node])

    def _reach(self, node: int) -> None:
        """Make the columns long enough for a node."""
        missing = node + 1 - len(self._is_known)
        if missing > 0:
            more = missing + len(self._is_known) // 16
            self._is_known.extend(bytes(more))
            self._origin.extend(bytes(more))
            for column in (self.uses, self.since):
                column.frombytes(bytes(more * column.itemsize))

    def _is_rest(self, node: int) -> bool:
        """Recognise the rest of the last victim; its columns here are still right."""
        nodes = self._nodes
        if self._cut != (node, nodes.end[node] - nodes.length[node], nodes.created[node]):
            return False
        self._is_known[node] = True
        self._ghosts.recall(nodes.place_of(node))
        if self._known_end.get(node, 0) >= nodes.end[node]:
            del self._known_end[node]
        return True

    def _welcome(self, leaf: int) -> None:
        """Meet the nodes of one insertion (its runs), or a part of a split that nobody has used yet."""
        nodes, is_known = self._nodes, self._is_known
        pieces = [leaf]
        above = nodes.parent[leaf]
        while above and (above >= len(is_known) or not is_known[above]):
            pieces.append(above)
            above = nodes.parent[above]
        self._reach(max(pieces))
        pieces.reverse()
        self.clock += sum(nodes.length[node] for node in pieces if not nodes.hits[node])
        self._moments.note(nodes.touched[leaf], self.clock)
        for node in pieces:
            is_known[node] = True
            self._origin[node] = self._origin_of(node)
            self.since[node] = self._moments.clock_at(nodes.touched[node])
            self.uses[node] = nodes.hits[node]
            self._known_end.pop(node, None)
        self._recall(pieces)
        for node in pieces:
            self.table.begin(self.kind(node), nodes.length[node])

    def _origin_of(self, node: int) -> int:
        above = self._nodes.parent[node]
        if not above:
            return STARTS
        return BRANCHES if self.uses[above] > 1 else CONTINUES

    def _recall(self, pieces: Sequence[int]) -> None:
        """Let new nodes go on with their count, as far as their text was here before and evicted."""
        nodes = self._nodes
        ghost = self._ghosts.recall(nodes.place_of(pieces[0]))
        if ghost is None:
            return
        known_end = nodes.end[pieces[0]] - nodes.length[pieces[0]] + ghost.length
        group: list[tuple[int, bytes]] = []
        for node in pieces:
            if nodes.end[node] - nodes.length[node] >= known_end:
                break
            place = nodes.place_of(node)
            group.append((node, place))
            self._returned[place] = group
            self.table.reuse(ghost.kind, self.clock - ghost.since, nodes.length[node])
            self.uses[node] += ghost.uses + 1
            if nodes.end[node] > known_end:
                self._known_end[node] = known_end

    def _meet(self, node: int) -> list[int]:
        """Meet a node that is used before it was ever queued: mostly the upper part of a split.

        If the node that was split had returned with a count, the count belongs to the part that
        was used again: all below it, which nobody used, loses it.
        """
        nodes, uses = self._nodes, self.uses
        self._is_known[node] = True
        self._origin[node] = self._origin_of(node)
        place = nodes.place_of(node) if self._returned else b""
        group = self._returned.get(place)
        if group is None:
            uses[node] = max(nodes.hits[node] - 1, 0)
            self.since[node] = self._moments.clock_at(nodes.created[node])
            self.table.begin(self.kind(node), nodes.length[node])
            return []
        at = next(at for at, piece in enumerate(group) if piece[1] == place)
        rest = group[at:]
        del group[at:]
        uses[node], self.since[node] = uses[rest[0][0]], self.since[rest[0][0]]
        for lower, own in rest:
            uses[lower] = nodes.hits[lower]
            self._known_end.pop(lower, None)
            self._returned.pop(own, None)
        return [lower for lower, _ in rest]

    def _let_go(self, node: int, place: bytes) -> None:
        """Forget that a node returned."""
        group = self._returned.pop(place, None)
        if group is not None:
            group.remove((node, place))
