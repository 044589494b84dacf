"""Tokens decoded per CPU second, in batches whose rows share a prefix of 1,024 tokens."""

from __future__ import annotations

from collections.abc import Sequence

from engine_rig.client import post, together, usage
from engine_rig.prompts import Messages, Prompts
from engine_rig.rows import CHAT, Row, body, in_turn
from engine_rig.servers import Server

LENGTH = 32
_NO_END = {"0": -100, "2": -100}
"""Bias against the tokens that end an answer (ids of SmolLM2), so that all rows stay in the batch."""


def decode(
    servers: Sequence[Server], prompts: Prompts, rounds: int, *, rows: int, prefix: int = 1024
) -> list[Row]:
    """Decode speed: what answers of 33 tokens cost more than answers of one, all prompts being cached.

    Every asker keeps to one slot of llama.cpp, whose copy of the prompt is there.
    """
    conversations = _conversations(prompts, rows, prefix)
    for server in servers:
        _prime(server, conversations)

    def sample(server: Server, row: Row) -> float:
        start, short = _run(server, conversations, 1)
        end, long = _run(server, conversations, 1 + LENGTH)
        if any(count != 1 + LENGTH for count in long):
            row.note("ANSWERS of " + " ".join(map(str, sorted(set(long)))))
        return (sum(long) - sum(short)) / (end - start)

    return in_turn(f"decode, {rows} row{'s' * (rows > 1)}", "tok/cpu-s", servers, rounds, sample)


def _conversations(prompts: Prompts, rows: int, prefix: int) -> list[Messages]:
    system = prompts.system(prefix)
    return [prompts.ask(system, prompts.question(14)) for _ in range(rows)]


def _prime(server: Server, conversations: Sequence[Messages]) -> None:
    """Have all prompts computed; llama.cpp's other slots get the first one's state instead of computing it."""
    _run(server, conversations[:1], 1)
    if not server.is_ours and len(conversations) > 1:
        post(server.port, "/slots/0?action=save", {"filename": "prefix"}).json  # noqa: B018 - raises on refusal
        for slot in range(1, len(conversations)):
            post(server.port, f"/slots/{slot}?action=restore", {"filename": "prefix"}).json  # noqa: B018 - as above
    _run(server, conversations, 1)


def _run(server: Server, conversations: Sequence[Messages], most: int) -> tuple[float, list[int]]:
    """Ask all at once; gives CPU seconds and the lengths of the answers."""
    bodies = [
        body(server, messages, most, logit_bias=_NO_END, **({} if server.is_ours else {"id_slot": slot}))
        for slot, messages in enumerate(conversations)
    ]
    before = server.cpu()
    replies = together([lambda each=each: post(server.port, CHAT, each) for each in bodies])
    return server.cpu() - before, [usage(reply).completion for reply in replies]
