"""What an order of eviction could reach at most that knows the future: Belady's rule on prefix nodes.

The nodes are those of the radix tree over the whole trace, cut at segments; all tokens of one have
the same next use. Room is made by giving up the node whose next use is furthest away, the deeper
one among equals, as many tokens as are missing, last ones first; what is never used again goes at
once. A node is never used before those above it, so what is held is always a set of prefixes, as
in the real tree. As there, a prompt and its answer must lie in the pool while they are computed.
With items of one token each, all held for a request, furthest next use is optimal (Belady 1966):
no order of eviction over the same pool reuses more.
"""

from __future__ import annotations

from heapq import heappop, heappush

from prefix_rig.traces import Request, Segment

_NEVER = 1 << 60


class _Node:
    __slots__ = ("children", "depth", "held", "length", "number", "uses")

    def __init__(self, number: int, depth: int, length: int) -> None:
        self.number = number
        self.depth = depth
        self.length = length
        self.children: dict[int, _Node] = {}
        self.uses: list[int] = []
        self.held = 0


def optimal_reuse(requests: list[Request], capacity: int) -> int:
    """Count the prompt tokens that are reused at best. The last token of a prompt is always computed."""
    paths = _paths(requests)
    queue: list[tuple[int, int, int, _Node]] = []
    used = reused = 0
    for turn, (path, prompt_nodes) in enumerate(paths):
        tokens = sum(node.length for node in path[:prompt_nodes])
        reused += min(_found(path[:prompt_nodes]), tokens - 1)
        for node in path:
            used += node.length - node.held
            node.held = node.length
            while node.uses and node.uses[-1] <= turn:
                node.uses.pop()
            heappush(queue, (-_next(node), -node.depth, node.number, node))
        used -= _make_room(queue, set(path), used - capacity)
        for node in path:
            if not node.uses:
                used -= node.held
                node.held = 0
    return reused


def _paths(requests: list[Request]) -> list[tuple[list[_Node], int]]:
    """Give every request's nodes, and how many of them are its prompt's; a node's uses are latest first."""
    root = _Node(0, 0, 0)
    made = 0
    paths = []
    for turn, request in enumerate(requests):
        node, path = root, []
        for segment in (*request.prompt, request.answer):
            if segment.number not in node.children:
                made += 1
                node.children[segment.number] = _Node(made, node.depth + 1, segment.length)
            node = node.children[segment.number]
            path.append(node)
        for node in path[:-1]:
            node.uses.append(turn)
        paths.append((path, len(request.prompt)))
    for path, _ in paths:
        for node in path:
            node.uses.sort(reverse=True)
    return paths


def _found(path: list[_Node]) -> int:
    found = 0
    for node in path:
        found += node.held
        if node.held < node.length:
            break
    return found


def _next(node: _Node) -> int:
    return node.uses[-1] if node.uses else _NEVER


def _make_room(queue: list[tuple[int, int, int, _Node]], kept: set[_Node], missing: int) -> int:
    freed = 0
    spared = []
    while freed < missing:
        entry = heappop(queue)
        node = entry[-1]
        if -entry[0] != _next(node) or not node.held:
            continue
        if node in kept:
            spared.append(entry)
            continue
        part = min(node.held, missing - freed)
        node.held -= part
        freed += part
        if node.held:
            spared.append(entry)
    for entry in spared:
        heappush(queue, entry)
    return freed


def prompt_tokens(requests: list[Request]) -> int:
    """Count the tokens of all prompts."""
    return sum(segment.length for request in requests for segment in request.prompt)


__all__ = ["Segment", "optimal_reuse", "prompt_tokens"]
