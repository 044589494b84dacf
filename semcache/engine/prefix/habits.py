"""What is known of each node's past, beyond the tree's columns: how often it was reused, and when last.

Time is a clock of tokens taken in, which is what makes nodes old: it stands still at night. A node
that comes back after its eviction goes on with its count. Knows no order and no queue; nodes are
met when they are queued or used for the first time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from semcache.engine.prefix.ghosts import Ghost, Ghosts
from semcache.engine.prefix.moments import Moments
from semcache.engine.prefix.reuse import BRANCHES, CONTINUES, LEFT, STARTS, ReuseTable, kind_of
from semcache.engine.prefix.victims import Nodes


class _Cut(NamedTuple):
    """The last victim: by start and age its rest is told from another node of its number."""

    node: int
    start: int
    created: float
    ghost: Ghost


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
        self._tails: dict[int, Ghost] = {}
        self._moments = Moments()
        self._cut: _Cut | None = None

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
        else:
            upper = self._nodes.parent[node]
            self._reach(upper)
            if upper and not self._is_known[upper]:
                # Only a split puts a node that is not known above one that is.
                self._returned_from(upper)
                self._split(upper, node)
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
        tail = self._tails.pop(node, None)
        length = nodes.length[node] + (0 if tail is None else tail.length)
        ghost = Ghost(self.uses[node], self.kind(node), self.since[node], length)
        self._ghosts.leave(place, ghost)
        self._let_go(place)
        self._is_known[node] = False
        self._cut = _Cut(node, nodes.end[node] - nodes.length[node], nodes.created[node], ghost)

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
        nodes, cut = self._nodes, self._cut
        start = nodes.end[node] - nodes.length[node]
        if cut is None or (cut.node, cut.start, cut.created) != (node, start, nodes.created[node]):
            return False
        self._is_known[node] = True
        self._ghosts.recall(nodes.place_of(node))
        known_end = self._known_end.get(node)
        if known_end is None:
            # What hangs here next is most likely the text that was cut off: texts seldom part in its middle.
            self._tails[node] = cut.ghost._replace(length=cut.ghost.length - nodes.length[node])
        elif known_end >= nodes.end[node]:
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
            self._tails.pop(node, None)
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
        tail = self._tails.pop(nodes.parent[pieces[0]], None)
        ghost = self._ghosts.recall(nodes.place_of(pieces[0])) or tail
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
            known = min(nodes.end[node], known_end) - nodes.end[node] + nodes.length[node]
            self.table.reuse(ghost.kind, self.clock - ghost.since, known)
            self.uses[node] += ghost.uses + 1
            if nodes.end[node] > known_end:
                self._known_end[node] = known_end

    def _meet(self, node: int) -> list[int]:
        """Meet a node that is used before it was ever queued: of a prompt still running, or split from one.

        Gives the nodes below it whose count was another's.
        """
        rest = self._returned_from(node)
        if rest:
            self._split(node, rest[0])
            for lower in rest:
                self.uses[lower] = self._nodes.hits[lower]
                self._known_end.pop(lower, None)
            return rest
        self._is_known[node] = True
        self._origin[node] = self._origin_of(node)
        self.uses[node] = max(self._nodes.hits[node] - 1, 0)
        self.since[node] = self._moments.clock_at(self._nodes.created[node])
        self.table.begin(self.kind(node), self._nodes.length[node])
        return []

    def _split(self, upper: int, lower: int) -> None:
        """Let the upper part of a node go on with its past. What nobody used of it is left behind."""
        nodes, uses = self._nodes, self.uses
        kind = kind_of(uses[lower], self._origin[lower])
        self._is_known[upper] = True
        self._origin[upper] = self._origin[lower]
        uses[upper], self.since[upper] = uses[lower], self.since[lower]
        if uses[lower] > nodes.hits[lower]:
            # The count came back with the whole node, and belongs to the part that is used again.
            uses[lower] = nodes.hits[lower]
            self._known_end.pop(lower, None)
        if not uses[lower]:
            self._origin[lower] = LEFT
            self.table.leave(kind, nodes.length[lower])

    def _returned_from(self, upper: int) -> list[int]:
        """Give the nodes that returned with a count and are, after a split, below the node in their place."""
        if not self._returned:
            return []
        place = self._nodes.place_of(upper)
        group = self._returned.get(place)
        if group is None:
            return []
        at = next((at for at, piece in enumerate(group) if piece[1] == place), len(group))
        rest = group[at:]
        del group[at:]
        for _, own in rest:
            self._returned.pop(own, None)
        return [node for node, _ in rest]

    def _let_go(self, place: bytes) -> None:
        """Forget that the node at a place returned."""
        group = self._returned.pop(place, None)
        if group is not None:
            # By place alone: after a split the same place may belong to a node of another number.
            group[:] = [piece for piece in group if piece[1] != place]
