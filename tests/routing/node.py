"""An upstream as a process of its own: `python -m tests.routing.node NAME PORT DELAY`; says its port on a line.

Answers chats with its name. As a node that holds computed prompts does, it counts the messages at the
beginning of a chat that it has seen before as cached. GET /seen tells how many calls it had at most at once.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.fakes.upstream_server import ByRequest, Exchange, Seen, UpstreamServer, chat_body, json_reply


class Node:
    """Counts what passes."""

    def __init__(self, name: str, delay: float) -> None:
        self.name = name
        self.delay = delay
        self.seen: set[str] = set()
        self.active = self.most = self.calls = 0

    def behaviour(self, request: Seen):
        if request.method == "GET":
            return json_reply({"most": self.most, "calls": self.calls})
        return self.answer

    async def answer(self, exchange: Exchange) -> None:
        self.active += 1
        self.calls += 1
        self.most = max(self.most, self.active)
        try:
            messages = exchange.request.json()["messages"]
            heads = [json.dumps(messages[: number + 1]) for number in range(len(messages))]
            cached = sum(head in self.seen for head in heads)
            self.seen.update(heads)
            usage = {"prompt_tokens": len(heads), "completion_tokens": 1, "total_tokens": len(heads) + 1}
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
            body = chat_body(self.name, usage=usage)
            await json_reply(body, delay=self.delay)(exchange)
        finally:
            self.active -= 1


async def main(name: str, port: int, delay: float) -> None:
    server = UpstreamServer(ByRequest(Node(name, delay).behaviour))
    server.port = port
    async with server:
        print(server.port, flush=True)  # noqa: T201 - its parent reads it
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
