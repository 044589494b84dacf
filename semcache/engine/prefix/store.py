"""The rows of the tree: packed columns, one row to a node, and the tokens of every slot.

Numbers in columns instead of objects: a node costs about 100 bytes and nothing for the garbage
collector to visit. Tokens stand in one byte string indexed by slot, so a node, being one run,
needs none of its own and a split copies nothing. Columns that the hot loops read are lists (small
ints are shared and read fastest), the others arrays. Knows rows, owners and slots; not how
nodes hang together.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import inf

from semcache.engine.layers import PUBLIC, Owner
from semcache.engine.prefix.digest import DigestTable, short_sha256
from semcache.engine.prefix.hot import RunsOfNodes, TextsOfNodes
from semcache.engine.prefix.spans import TOKEN_BYTES
from semcache.engine.runs import Run

ROOT = 0
"""The row above all nodes; owns no token."""

MOST_SLOTS = 1 << 28
"""So that a node's number fits its place in an edge's key; a node holds at least one slot."""

_VACANT = b"\xff" * TOKEN_BYTES
"""Stands in the text where no node is. No vocabulary has a token -1."""


class NodeStore:
    """Columns by node number (see `victims.Nodes` for the public ones). A dead row has length 0.

    `pins` counts the handles that end at a node or below, `below` its children (`only` is
    one that needs no edge, or 0: see `structure`), `owner` is an
    index into `owners` (`codes` is the way back), `start` its first slot. `text` holds the tokens, by
    slot, `table` the digests. `spare` rows are dead. `runs` and `texts` remember what was asked for
    lately; whoever changes a node calls `changed`.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.text = bytearray(_VACANT) * capacity
        self.parent: list[int] = []
        self.length: list[int] = []
        self.owner: list[int] = []
        self.pins: list[int] = []
        self.hits: list[int] = []
        self.below: list[int] = []
        self.only: list[int] = []
        self.weight: list[float] = []
        self.start = array("i")
        self.end = array("i")
        self.touched = array("d")
        self.created = array("d")
        self.owners: list[Owner] = []
        self.codes: dict[Owner, int] = {}
        self.table = DigestTable()
        self.runs = RunsOfNodes(self.start, self.length)
        self.texts = TextsOfNodes(self.text, self.start, self.length)
        self.nodes = 0
        self.tokens = 0
        self._held: dict[str, int] = {}
        self._uses: list[int] = []
        self._spare_codes: list[int] = []
        self.spare: list[int] = []
        self._widen()
        self.spare.pop()
        self.owner[ROOT] = -1
        self.created[ROOT] = -inf

    @property
    def held(self) -> Mapping[str, int]:
        """Tokens by tenant; absent means 0."""
        return self._held

    def owner_of(self, node: int) -> Owner:
        """Give the owner of a node's tokens."""
        return self.owners[self.owner[node]]

    def place_of(self, node: int) -> bytes:
        """Name the place where a node hangs: the prefix before it, its owner and its first token."""
        parent = self.parent[node]
        owner = self.owner_of(node)
        tenant = owner.tenant.encode()
        first = self.start[node] * TOKEN_BYTES
        before = self.table.digest(parent) if parent else b""
        token = self.text[first : first + TOKEN_BYTES]
        return short_sha256(b"".join((before, token, len(tenant).to_bytes(8, "little"), tenant, owner.salt)))

    def run(self, node: int) -> Run:
        """Give a node's slots."""
        return Run(self.start[node], self.length[node])

    def changed(self, node: int) -> None:
        """Take note that a node's slots are others now."""
        self.runs.pop(node, None)
        self.texts.pop(node, None)

    def is_vacant(self, run: Run) -> bool:
        """True when no node holds any slot of the run."""
        return self.text[run.start * TOKEN_BYTES : run.end * TOKEN_BYTES] == _VACANT * run.length

    def write(self, run: Run, tokens: bytes) -> None:
        """Put the tokens of slots."""
        self.text[run.start * TOKEN_BYTES : run.end * TOKEN_BYTES] = tokens

    def erase(self, run: Run) -> None:
        """Forget the tokens of slots."""
        self.write(run, _VACANT * run.length)

    def new(self, parent: int, owner: Owner, run: Run) -> int:
        """Take a row for a node behind `parent`; times, hits and pins are still 0, tokens not counted."""
        if not self.spare:
            self._widen()
        node = self.spare.pop()
        code = self._code(owner)
        self._uses[code] += 1
        self.owner[node] = code
        self.parent[node] = parent
        self.start[node] = run.start
        self.length[node] = run.length
        self.end[node] = self.end[parent] + run.length
        self.nodes += 1
        return node

    def free(self, node: int) -> None:
        """Give a row back, all its columns zero again."""
        self._release(self.owner[node])
        self.changed(node)
        for column in self._whole_numbers():
            column[node] = 0
        for numbers in (self.weight, self.touched, self.created):
            numbers[node] = 0.0
        self.start[node] = self.end[node] = 0
        self.nodes -= 1
        self.spare.append(node)

    def count(self, owner: Owner, tokens: int) -> None:
        """Book tokens that came (or went, if negative)."""
        self.tokens += tokens
        left = self._held.get(owner.tenant, 0) + tokens
        if left:
            self._held[owner.tenant] = left
        else:
            self._held.pop(owner.tenant, None)

    def living(self) -> list[int]:
        """List the numbers of all nodes. Walks all rows."""
        return [node for node, length in enumerate(self.length) if length]

    def _whole_numbers(self) -> tuple[list[int], ...]:
        return self.parent, self.length, self.owner, self.pins, self.hits, self.below, self.only

    def _code(self, owner: Owner) -> int:
        code = self.codes.get(owner)
        if code is None:
            if not self._spare_codes:
                self._spare_codes.append(len(self.owners))
                self.owners.append(PUBLIC)
                self._uses.append(0)
            code = self._spare_codes.pop()
            self.owners[code] = owner
            self.codes[owner] = code
        return code

    def _release(self, code: int) -> None:
        self._uses[code] -= 1
        if not self._uses[code]:
            # Owners come and go with users; who holds nothing is forgotten.
            del self.codes[self.owners[code]]
            self.owners[code] = PUBLIC
            self._spare_codes.append(code)

    def _widen(self) -> None:
        """Add rows, by a sixteenth: lists grow by the block, without room of their own behind it."""
        old = len(self.length)
        more = max(64, old // 16)
        for column in self._whole_numbers():
            column.extend([0] * more)
        self.weight.extend([0.0] * more)
        for numbers in (self.start, self.end, self.touched, self.created):
            numbers.frombytes(bytes(more * numbers.itemsize))
        self.spare.extend(range(old + more - 1, old - 1, -1))
