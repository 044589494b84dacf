"""Cached tokens on several engines behind one route: by affinity, in turn, and by chance, in one run.

    .venv/bin/python scripts/bench/routes.py [--nodes 3] [--rounds 3] [--kv-mib 2048] [--quick] [--json FILE]

Starts so many engines as processes and sends the same made-up traffic through a route, once for each way of sharing it
out, in every round. A salt of its own keeps every pass from what others left, and there is memory for all passes: with
little memory, what is computed on several nodes also pushes out what is needed, and the differences grow. How to read
it: `cached` is the share of prompt tokens that the engines had computed before, as their replies say it, `computed` the
rest in tokens; `CPU` is that of all engines; `busiest` the share of calls of the node that got most; `stayed` the share
of later turns that went where the one before went. Medians over the rounds, and ratios to `in turn` round by round.
Ways: `by conversation` has a home for each conversation, on any node; `by prompt` on one node for each system prompt;
`as served` (`balance: prefix`) on as many nodes as a system prompt's share of the traffic is worth, by a worker that has
seen such traffic for a while. Kinds of traffic:

- conversations: 12 of 3 turns on 3 system prompts
- single questions: 12 system prompts with 4 questions each
- one hot prompt: 36 questions on one system prompt, 12 for each node at once
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import secrets
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from engine_rig.servers import Server, ours
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import models_folder
from routes_rig.work import Message, Talk, Traffic, kinds

from semcache.answer.upstream import HttpUpstream
from semcache.core import ChatRequest
from semcache.dialects.chat.request import parse_chat
from semcache.ports import UpstreamCall
from semcache.routing.affinity import affinity_of
from semcache.routing.balance import Balance, Node
from semcache.routing.route import Ordering, Route
from semcache.routing.sharing import Sharing
from semcache.routing.target import Target
from semcache.routing.told import answered
from semcache.routing.widths import Widths

_OWNER = "bench"
_BEFORE = 20
"""Times that the worker has seen such traffic before, as far as it remembers shares."""


class Homeless:
    """No call belongs to anybody."""

    def note(self, affinity: bytes) -> None:
        """Take no notice."""

    def home(self, affinity: bytes, nodes: Sequence[Node]) -> str:
        """Give nobody."""
        del affinity, nodes
        return ""


@dataclass
class InTurn(Homeless):
    """One after another."""

    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def order(self, affinity: bytes, nodes: Sequence[Node]) -> list[str]:
        """Begin with the next one."""
        del affinity
        first = next(self.numbers) % len(nodes)
        return [node.name for node in [*nodes[first:], *nodes[:first]]]


class ByChance(Homeless):
    """Whoever comes up."""

    def order(self, affinity: bytes, nodes: Sequence[Node]) -> list[str]:
        """Shuffle them."""
        del affinity
        return random.sample([node.name for node in nodes], len(nodes))


IN_TURN = "in turn"
WAYS = (IN_TURN, "by chance", "by conversation", "by prompt", "as served")


def sharing(way: str, nodes: int) -> Ordering:
    """Give what shares the calls out over so many nodes."""
    match way:
        case "by conversation":
            return Sharing(Balance())
        case "by prompt":
            return Sharing(Balance(), 1)
        case "as served":
            return Sharing(Balance(), Widths(nodes))
        case "by chance":
            return ByChance()
        case _:
            return InTurn()


@dataclass
class Pass:
    """What came of one kind of traffic, shared out in one way."""

    prompt: int = 0
    cached: int = 0
    stayed: int = 0
    later: int = 0
    cpu: float = 0.0
    seconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, float]:
        """Give the numbers of the table."""
        return {
            "cached": self.cached / self.prompt,
            "computed": self.prompt - self.cached,
            "cpu": self.cpu,
            "seconds": self.seconds,
            "busiest": max(self.calls.values()) / self.calls.total(),
            "stayed": self.stayed / self.later if self.later else 1.0,
        }


async def run(servers: Sequence[Server], traffic: Traffic, ordering: Ordering, seed: int) -> Pass:
    """Send the traffic through a route over the servers."""
    upstreams = [HttpUpstream(server.name, f"http://127.0.0.1:{server.port}") for server in servers]
    speaks = frozenset({"openai.chat"})
    route = Route("bench", tuple(Target(upstream, speaks) for upstream in upstreams), ordering)
    got, salt, chance = Pass(), secrets.token_hex(8), random.Random(seed)
    everybody = traffic.make(seed)
    for talk in everybody * _BEFORE:
        ordering.note(affinity_of(_request(talk.messages, salt), _OWNER))
    places = asyncio.Semaphore(traffic.at_once)
    before, begun = sum(server.cpu() for server in servers), time.perf_counter()

    async def turn(talk: Talk) -> None:
        async with places:
            await _ask(route, talk, salt, got)

    while going := [talk for talk in everybody if not talk.is_over]:
        chance.shuffle(going)
        await asyncio.gather(*map(turn, going))
    got.seconds = time.perf_counter() - begun
    got.cpu = sum(server.cpu() for server in servers) - before
    for talk in everybody:
        got.later += len(talk.where) - 1
        got.stayed += sum(a == b for a, b in itertools.pairwise(talk.where))
    await route.aclose()
    return got


async def _ask(route: Route, talk: Talk, salt: str, got: Pass) -> None:
    messages: list[Message] = talk.asked()
    body = {"model": "local", "messages": messages, "max_tokens": 4, "temperature": 0, "cache_salt": salt}
    request = parse_chat(body, "/v1/chat/completions")
    headers = ((b"content-type", b"application/json"),)
    call = UpstreamCall(
        "POST", request.path, headers, orjson.dumps(body), affinity=affinity_of(request, "bench")
    )
    reply = await route.open(call)
    said = orjson.loads(b"".join([part async for part in reply.body()]))
    who = answered(reply.headers)
    await reply.aclose()
    if reply.status != 200 or who is None:
        raise RuntimeError(f"status {reply.status}: {said}")
    got.prompt += said["usage"]["prompt_tokens"]
    got.cached += (said["usage"].get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    got.calls[who.upstream] += 1
    talk.heard(said["choices"][0]["message"]["content"], who.upstream)


def _request(messages: list[Message], salt: str) -> ChatRequest:
    body = {"model": "local", "messages": messages, "max_tokens": 4, "temperature": 0, "cache_salt": salt}
    return parse_chat(body, "/v1/chat/completions")


@contextmanager
def engines(model: Path, flags: Sequence[str], count: int) -> Iterator[list[Server]]:
    """Run engines, started side by side."""
    with ExitStack() as stack, ThreadPoolExecutor(count) as starters:
        started = [
            starters.submit(stack.enter_context, ours(model, *flags, name=f"n{number}"))
            for number in range(count)
        ]
        yield [one.result() for one in started]


Figures = dict[str, dict[str, list[dict[str, float]]]]


def show(found: Figures) -> None:
    """Print a table for each kind of traffic."""
    screen = console()
    for kind, ways in found.items():
        table = Table(title=kind, title_justify="left")
        columns = ("way", "cached", "ratio", "computed", "ratio", "CPU s", "seconds", "busiest", "stayed")
        for column in columns:
            table.add_column(column, justify="left" if column == "way" else "right")
        for way, rounds in ways.items():
            base = ways[IN_TURN]
            table.add_row(
                way,
                f"{_middle(rounds, 'cached'):.1%}",
                f"{_ratio(rounds, base, 'cached'):.2f}",
                f"{_middle(rounds, 'computed'):,.0f}",
                f"{_ratio(rounds, base, 'computed'):.2f}",
                f"{_middle(rounds, 'cpu'):.1f}",
                f"{_middle(rounds, 'seconds'):.1f}",
                f"{_middle(rounds, 'busiest'):.0%}",
                f"{_middle(rounds, 'stayed'):.0%}",
            )
        screen.print(table)


def _middle(rounds: Sequence[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


def _ratio(rounds: Sequence[dict[str, float]], base: Sequence[dict[str, float]], name: str) -> float:
    pairs = zip(rounds, base, strict=True)
    return statistics.median(a[name] / b[name] if b[name] else 0.0 for a, b in pairs)


def main() -> None:
    """Measure and show."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--nodes", type=int, default=3)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--kv-mib", type=int, default=2048)
    options.add_argument("--only", help="one kind of traffic")
    options.add_argument("--quick", action="store_true", help="one small round: only shows that it runs")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    facts, rounds = circumstances(), 1 if given.quick else given.rounds
    print(headline(facts), flush=True)
    model = models_folder() / "SmolLM2-135M-Instruct"
    flags = ("--precision", "int8", "--kv-bytes", str(given.kv_mib << 20))
    traffics = [one for one in kinds(given.nodes, given.quick) if given.only in (None, one.name)]
    found: Figures = {traffic.name: {way: [] for way in WAYS} for traffic in traffics}
    with engines(model, flags, given.nodes) as servers:
        for number, traffic, way in itertools.product(range(rounds), traffics, WAYS):
            got = asyncio.run(run(servers, traffic, sharing(way, given.nodes), number))
            found[traffic.name][way].append(got.figures())
            print(f"round {number + 1}, {traffic.name}, {way}: {got.figures()}", flush=True)
    show(found)
    save(given.json, {"circumstances": facts, "nodes": given.nodes, "kv_mib": given.kv_mib, "figures": found})


if __name__ == "__main__":
    main()
