"""Asking a running proxy many times and reading what its clients see: outcomes, statuses, and times."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import time
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Asked:
    """What one request came to; `seconds` as its client saw them."""

    status: int
    outcome: str
    reason: str
    text: str
    seconds: float


class Client:
    """One connection, kept open as a real client keeps it."""

    def __init__(self, url: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._headers = {"content-type": "application/json", **headers}

    def ask(self, question: str, **headers: str) -> Asked:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": question}]})
        began = time.monotonic()
        self._connection.request("POST", "/v1/chat/completions", body, {**self._headers, **headers})
        reply = self._connection.getresponse()
        content = reply.read()
        took = time.monotonic() - began
        text = ""
        if reply.status == 200:
            text = str(json.loads(content)["choices"][0]["message"]["content"])
        status = reply.headers.get("cache-status", "")
        return Asked(reply.status, reply.headers.get("semcache-outcome", ""), status, text, took)

    def close(self) -> None:
        self._connection.close()


def ask_all(url: str, questions: list[str], *, clients: int = 1) -> list[Asked]:
    """Ask every question once, over so many connections at a time; gives what each came to, in order."""
    share = [list(range(turn, len(questions), clients)) for turn in range(clients)]
    found: dict[int, Asked] = {}

    def work(places: list[int]) -> None:
        client = Client(url)
        try:
            for place in places:
                found[place] = client.ask(questions[place])
        finally:
            client.close()

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(work, places) for places in share]:
            done.result()
    return [found[place] for place in range(len(questions))]


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
