"""What a measurement is: samples of several servers, taken in turn, and a ratio of two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from engine_rig.client import Reply, Usage, post
from engine_rig.prompts import Messages
from engine_rig.servers import Server

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Goal:
    """What a ratio is to reach: at most (`less`) or at least; `floor` must hold, `reach` is the wish."""

    floor: float
    reach: float | None = None
    less: bool = False

    def verdict(self, value: float) -> str:
        """Say which of the two a value keeps."""
        if self._keeps(value, self.floor) and self.reach is not None and self._keeps(value, self.reach):
            return "reached"
        return "held" if self._keeps(value, self.floor) else "MISSED"

    def _keeps(self, value: float, bound: float) -> bool:
        return value <= bound if self.less else value >= bound

    def __str__(self) -> str:
        sign = "<=" if self.less else ">="
        return f"{sign} {self.floor:g}" + ("" if self.reach is None else f", {sign} {self.reach:g}")


@dataclass
class Row:
    """One line of the table: samples of one server, or ratios of two servers' samples round by round."""

    figure: str
    server: str
    unit: str
    samples: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    goal: Goal | None = None

    def note(self, text: str) -> None:
        """Keep a remark once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.samples)


def ratio(name: str, above: Row, below: Row, goal: Goal | None = None) -> Row:
    """Divide two rows round by round: the neighbours that disturb one side in a round disturb the other, too."""
    pairs = zip(above.samples, below.samples, strict=True)
    samples = [a / b for a, b in pairs if b > 0]
    return Row(name, f"{above.server} / {below.server}", "", samples, goal=goal)


def in_turn(
    figure: str, unit: str, servers: Sequence[Server], rounds: int, sample: Callable[[Server, Row], float]
) -> list[Row]:
    """Take `rounds` samples of each server, alternating, each round beginning with another one."""
    rows = [Row(figure, server.name, unit) for server in servers]
    for number in range(rounds):
        for place in range(len(servers)):
            at = (place + number) % len(servers)
            rows[at].samples.append(sample(servers[at], rows[at]))
    return rows


@dataclass(frozen=True)
class Asked:
    """What one request cost: CPU seconds of the server until its first text and until the end."""

    first: float
    whole: float
    wall: float
    reply: Reply


def body(server: Server, messages: Messages, most: int, **more: object) -> dict[str, object]:
    """Build a greedy request."""
    return {"model": server.model, "messages": messages, "max_tokens": most, "temperature": 0, **more}


def ask(server: Server, messages: Messages, most: int, **more: object) -> Asked:
    """Send one request and meter it."""
    before = server.cpu()
    seen: list[float] = []
    request = body(server, messages, most, **more)
    reply = post(server.port, CHAT, request, lambda: seen.append(server.cpu()))
    after = server.cpu()
    return Asked((seen[0] if seen else after) - before, after - before, reply.whole, reply)


def check(row: Row, found: Usage, prompt: int, cached: int) -> None:
    """Note when a server counts other tokens than were meant."""
    if found.prompt != prompt:
        row.note(f"PROMPT {found.prompt} tokens, not {prompt}")
    if found.cached != cached:
        row.note(f"cached {found.cached}, not {cached}")
