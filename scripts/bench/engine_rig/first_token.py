"""Time to the first token, in CPU time of the server: cached, cold, and four askers at once."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from engine_rig.client import post, together, usage
from engine_rig.prompts import Prompts
from engine_rig.rows import CHAT, Asked, Row, ask, body, check, in_turn
from engine_rig.servers import Server

NEW = 11
"""New tokens of a cached request: a short question and the template around it."""

FOUR = 4
ANSWER = 8


def cached(
    servers: Sequence[Server], prompts: Prompts, rounds: int, *, prefix: int = 1000, streamed: bool = False
) -> list[Row]:
    """A prefix that is there and 11 new tokens; mean of five questions a sample.

    `streamed`: until the first text of a stream, else the whole request for one token.
    """
    figure = f"cached TTFT, {prefix} + {NEW}" + (", streamed" if streamed else "")
    system = prompts.system(prefix)
    for server in servers:
        for _ in range(2):
            ask(server, prompts.ask(system, prompts.question(NEW - prompts.closing)), 1)

    def sample(server: Server, row: Row) -> float:
        costs = []
        for _ in range(5):
            messages = prompts.ask(system, prompts.question(NEW - prompts.closing))
            asked = ask(server, messages, ANSWER, stream=True) if streamed else ask(server, messages, 1)
            costs.append(asked.first if streamed else asked.whole)
            if not streamed:
                check(row, usage(asked.reply), prefix + NEW, prefix)
            elif asked.reply.status != 200:
                row.note(f"status {asked.reply.status}")
        return 1000 * mean(costs)

    return in_turn(figure, "cpu-ms", servers, rounds, sample)


def cold(servers: Sequence[Server], prompts: Prompts, rounds: int, *, tokens: int = 1024) -> list[Row]:
    """A conversation of which nothing was seen but the template's opening."""

    def sample(server: Server, row: Row) -> float:
        messages = prompts.ask(prompts.system(tokens - NEW), prompts.question(NEW - prompts.closing))
        asked = ask(server, messages, 1)
        found = usage(asked.reply)
        if found.prompt != tokens:
            row.note(f"PROMPT {found.prompt} tokens, not {tokens}")
        if found.cached > 8:
            row.note(f"cached {found.cached}")
        return 1000 * asked.whole

    return in_turn(f"cold TTFT, {tokens}", "cpu-ms", servers, rounds, sample)


def four(
    servers: Sequence[Server], prompts: Prompts, rounds: int, *, prefix: int = 1001
) -> tuple[list[Row], list[Row]]:
    """Four questions at once on a prefix that one earlier request left; 8 tokens each.

    Gives two figures: the first four, and four more on the same prefix, when a server that keeps
    a copy for each of them has all copies.
    """
    again = [Row("4 at once, once more", server.name, "cpu-ms") for server in servers]
    rows_again = dict(zip([server.name for server in servers], again, strict=True))

    def sample(server: Server, row: Row) -> float:
        system = prompts.system(prefix)
        ask(server, prompts.ask(system, prompts.question(14)), ANSWER)
        first = _burst(server, prompts, system, row)
        rows_again[server.name].samples.append(_burst(server, prompts, system, rows_again[server.name]))
        return first

    return in_turn("4 at once, warm prefix", "cpu-ms", servers, rounds, sample), again


def _burst(server: Server, prompts: Prompts, system: str, row: Row) -> float:
    bodies = [body(server, prompts.ask(system, prompts.question(14)), ANSWER) for _ in range(FOUR)]
    before = server.cpu()
    replies = together([lambda each=each: post(server.port, CHAT, each) for each in bodies])
    spent = server.cpu() - before
    found = [usage(reply) for reply in replies]
    row.note("cached " + " ".join(str(each.cached) for each in sorted(found, key=lambda each: -each.cached)))
    if any(each.completion != ANSWER for each in found):
        row.note("ANSWERS of " + " ".join(str(each.completion) for each in found))
    return 1000 * spent


def wall(asked: Sequence[Asked]) -> float:
    """Median wall time of requests, in milliseconds."""
    return 1000 * median(each.wall for each in asked)
