"""The seam between the tree and the order of eviction: what one tells and what the other answers.

Knows neither how the tree finds nodes nor by which rule victims are chosen. A node is a small int,
the index of its row in the tree's columns: a million nodes would be too many objects. Numbers of
dead nodes are given out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from typing import NamedTuple, Protocol

from semcache.engine.layers import Owner


class Nodes(Protocol):
    """The tree's columns, to be read (never written) by an eviction order: `nodes.end[node]`.

    While a node is queued, none of its columns changes, `weight` excepted if the `Decay` itself
    rescales the whole column. `held` changes at any time.
    """

    @property
    def end(self) -> Sequence[int]:
        """Length in tokens of the prefix that ends with this node, this node included."""
        ...

    @property
    def length(self) -> Sequence[int]:
        """Tokens (and slots) of this node alone; the prefix before it has `end - length`."""
        ...

    @property
    def parent(self) -> Sequence[int]:
        """The node that ends where this one begins; 0, which is no node, for the first of a prefix."""
        ...

    @property
    def hits(self) -> Sequence[int]:
        """How often a user reused this node, since it was made; never decays."""
        ...

    @property
    def weight(self) -> Sequence[float]:
        """The decayed frequency of hits as the `Decay` stores it; `Decay.value` reads it."""
        ...

    @property
    def touched(self) -> Sequence[float]:
        """Time of the last use in seconds, at least that of everything that ever hung below."""
        ...

    @property
    def created(self) -> Sequence[float]:
        """Time in seconds when the KV was computed."""
        ...

    @property
    def held(self) -> Mapping[str, int]:
        """Tokens in the tree by tenant ("" is the public), pinned ones too; absent means 0."""
        ...

    def owner_of(self, node: int) -> Owner:
        """Give the owner of a node's tokens; `owner.tenant` is whom it counts on."""
        ...

    def place_of(self, node: int) -> bytes:
        """Name the place where a node hangs: the prefix before it, its owner and its first token. O(1).

        Equal whenever the same token is put behind the same prefix again (same owners), whatever
        the number, the length and the time: by it a queue recognises what it once gave up.
        """
        ...


class Decay(Protocol):
    """How hits are summed so that old ones count less. Owns the meaning of the column `weight`."""

    @property
    def initial(self) -> float:
        """Give the stored value of a node that was never hit."""
        ...

    def count(self, weight: MutableSequence[float], path: Sequence[int], now: float) -> None:
        """Add one hit at `now` (seconds) to the stored value of every node of a path, head first.

        Called once for each counted lock, so the loop is inside. None of the path is queued then.
        May rescale the whole column.
        """
        ...

    def value(self, stored: float, now: float) -> float:
        """Give the decayed number of hits at `now`; comparable over nodes; 0 for `initial`."""
        ...


class Victim(NamedTuple):
    """The node that goes next, and why in one short word for the counters ("recency", ...).

    `most` tokens at most may be cut off (None: all): a floor that holds is not undercut for another tenant.
    """

    node: int
    reason: str
    most: int | None = None


class Queue(Protocol):
    """The nodes that may be evicted, in the order in which they should be.

    Holds exactly the unpinned leaves. The memory goal of the index leaves it about 60 bytes for
    each; all calls cost at most O(log n), amortised.
    """

    def add(self, node: int) -> None:
        """Take in a node that became an unpinned leaf (or was trimmed and stays one)."""
        ...

    def remove(self, node: int) -> None:
        """Let go of a queued node that was pinned or got a child; its columns are still as at `add`."""
        ...

    def pop(self, now: float, tenant: str | None = None, *, floors: bool = True) -> Victim | None:
        """Take out the next victim, of one tenant if named; None when there is none.

        The tree then frees it whole, or cuts off its tail and adds it again with its new `end`.
        Without `floors` those that are at theirs give, too, when nobody else has anything to give. The
        first such victim costs O(tenants at their floors).
        """
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def __len__(self) -> int:
        """Count the queued nodes."""
        ...

    def queued(self) -> Iterable[int]:
        """List the queued nodes in any order (for the integrity check)."""
        ...

    def check_integrity(self) -> None:
        """Recount what the queue keeps for itself. Slow.

        Raises:
            IntegrityError: something does not add up.
        """
        ...
