"""A route over real engines: what stays put is found computed, and a killed one's conversations go on elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from semcache.routing.balance import Node
from semcache.routing.route import Route
from tests.e2e.running import models_folder
from tests.routing.pool import Conversation, Process, routed, turns

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
_LISTENING = re.compile(r"listening on http://[^/\s]+:(\d+)/v1")
SYSTEM = "You are the guide of a small museum of clocks. " * 12


@contextmanager
def engine(name: str, folder: Path) -> Iterator[Process]:
    log = folder / f"{name}.log"
    model = models_folder() / "SmolLM2-135M-Instruct"
    command = [
        sys.executable,
        "-m",
        "semcache",
        "engine",
        "--model",
        str(model),
        "--name",
        "m",
        "--port",
        "0",
    ]
    with log.open("w") as output:
        child = subprocess.Popen(
            [*command, "--precision", "int8", "--max-tokens", "4", "--exit-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        )
        process = Process(name, child=child)
        try:
            until = time.monotonic() + 240
            while not (found := _LISTENING.search(log.read_text())):
                assert child.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < until, "the engine does not listen"
                time.sleep(0.1)
            process.port = int(found[1])
            while not is_ready(process):
                assert time.monotonic() < until, "the engine does not get ready"
                time.sleep(0.1)
            yield process
        finally:
            assert child.stdin is not None
            child.stdin.close()
            process.end()


def is_ready(process: Process) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{process.port}/readyz") as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


class InTurn:
    """One after another."""

    def __init__(self) -> None:
        self.number = 0

    def note(self, affinity: bytes) -> None:
        pass

    def order(self, affinity: bytes, nodes: Sequence[Node]) -> list[str]:
        self.number += 1
        first = self.number % len(nodes)
        return [node.name for node in [*nodes[first:], *nodes[:first]]]

    def home(self, affinity: bytes, nodes: Sequence[Node]) -> str:
        return ""


def talks(word: str) -> list[Conversation]:
    # Seven over three nodes: in turn, each conversation is elsewhere in every round.
    return [Conversation(number, f"{word} {number}: {SYSTEM}") for number in range(7)]


def share(conversations: list[Conversation]) -> float:
    return sum(talk.cached for talk in conversations) / sum(talk.prompt for talk in conversations)


async def test_conversations_find_their_prompts_computed(tmp_path: Path) -> None:
    with ExitStack() as stack:
        pool = [stack.enter_context(engine(f"n{number}", tmp_path)) for number in range(3)]
        hurry = {"first_byte_timeout": 300.0}
        async with routed(pool, hurry) as route:
            by_affinity, in_turn = talks("affine"), talks("in turn")
            rivals = Route("pool", route.targets, InTurn())
            for _ in range(3):
                await turns(route, by_affinity, 3)
                await turns(rivals, in_turn, 3)
            assert share(by_affinity) > share(in_turn) + 0.2
            homes = [talk.where[-1] for talk in by_affinity]
            assert all(len(set(talk.where)) == 1 for talk in by_affinity)
            lost = homes[0]
            next(process for process in pool if process.name == lost).kill()
            moved = await turns(route, by_affinity, 3)
            assert lost not in moved
            assert [new for new, old in zip(moved, homes, strict=True) if old != lost] == [
                old for old in homes if old != lost
            ]
