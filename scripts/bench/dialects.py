"""What each dialect costs beside chat: reading a request, an exact hit over HTTP, a live stream put into other words, a replay.

    .venv/bin/python scripts/bench/dialects.py [--quick] [--realtime] [--rounds N] [--no-proxy] [--json FILE]

Hits go through a real proxy with one connection and warm memory: as the client's own words (`own`: an upstream that speaks
its dialect) and translated (`in chat`: one that speaks chat alone). All else is timed in this process. Every round measures
every case once; figures are medians of the rounds, ratios to chat are formed within a round first.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from rich.table import Table
from rig.driver import Ask, Driver, Window
from rig.report import circumstances, console, headline, middle, quantile, save
from rig.serving import Semcache, cores, hurried, semcache

from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.completions.wire import COMPLETIONS
from semcache.dialects.dialect import Dialect, Wanted
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.ollama.wire import OLLAMA_GENERATE
from semcache.dialects.request import in_chat, request_of
from semcache.dialects.table import ALL, dialect_at

WORD = "benchmark-answer"
SENTENCE = "It depends on what was set up before, and on who may change it. "
SHORT, LONG = 500, 40_000
EVENTS = 400
_BARE = (COMPLETIONS, OLLAMA_GENERATE, EMBEDDINGS)
"""They have no conversations."""
_EMBEDDED = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.25] * 384}],
    "model": WORD,
    "usage": {"prompt_tokens": 12, "total_tokens": 12},
}

Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Asked:
    """A request in a dialect's own words."""

    path: str
    query: bytes
    body: dict[str, Any]

    def written(self, upstream: str) -> bytes:
        """Lay it out for the wire."""
        content = orjson.dumps(self.body)
        target = self.path + (f"?{self.query.decode()}" if self.query else "")
        head = (
            f"POST {target} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"semcache-upstream: {upstream}\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


def asked_in(dialect: Dialect, turns: int, *, stream: bool = False) -> Asked:
    """Give a question after so many turns in a dialect's own words."""
    if dialect is EMBEDDINGS:
        return Asked("/v1/embeddings", b"", {"model": "m", "input": SENTENCE * 3})
    said = [{"role": ("user", "assistant")[n % 2], "content": SENTENCE * 3} for n in range(turns)]
    chat: dict[str, Any] = {"model": "m", "temperature": 0, "messages": said}
    written = dialect.write({**chat, "stream": True} if stream else chat)
    body = written.body
    if dialect.name == "openai.responses":
        body = {**body, "store": False}
    return Asked(written.path, written.query, body)


def answer_of(size: int) -> dict[str, Any]:
    """Give a chat answer of so many characters."""
    text = (WORD + " " + SENTENCE * (size // len(SENTENCE) + 1))[:size]
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 12, "completion_tokens": size // 4, "total_tokens": 12 + size // 4}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return {"object": "chat.completion", "model": "m", "choices": choices, "usage": usage}


def completion_of(dialect: Dialect, size: int) -> Completion:
    """Give an answer as it is kept: a chat's, an embedding's."""
    collector = dialect.assembler("application/json")
    assert collector is not None
    collector.feed(orjson.dumps(_EMBEDDED if dialect is EMBEDDINGS else answer_of(size)))
    found = collector.finish()
    assert isinstance(found, Completion), found
    return found


def timed(work: Callable[[], object], times: int) -> float:
    """Give microseconds of one call: the median of ten means of a tenth of so many."""
    gc.collect()
    each = max(1, times // 10)
    means: list[float] = []
    for _ in range(10):
        began = time.perf_counter()
        for _ in range(each):
            work()
        means.append(1e6 * (time.perf_counter() - began) / each)
    return middle(means)


def alone(dialect: Dialect, found: Samples, times: int) -> None:
    """One round of what needs no proxy."""
    for name, turns in (("read 1", 1), ("read 20", 21)):
        if turns == 1 or dialect not in _BARE:
            asked = asked_in(dialect, turns)
            read = partial(request_of, dialect, asked.body, asked.path, asked.query)
            found[name].append(timed(read, times))
            if turns == 1 and dialect not in (CHAT, EMBEDDINGS):
                found["in chat"].append(timed(partial(in_chat, read()), times))
    if dialect is not EMBEDDINGS:
        live(dialect, found)
    for size in (SHORT, LONG):
        replays(dialect, size, found, max(1, times * SHORT // size))


def live(dialect: Dialect, found: Samples) -> None:
    """Time a chat stream written in a dialect, and the dialect's own stream read as chat, an event each."""
    chunks: list[dict[str, Any]] = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": f" word{n}"}) for n in range(EVENTS)]
    chunks.append(chunk({}, "stop"))
    wanted = Wanted(stream=True, include_usage=True)
    gc.collect()
    writer = dialect.live_writer(wanted, "0123456789abcdef", 1)
    began = time.perf_counter()
    stream = [writer.feed(one) for one in chunks]
    stream.append(writer.finish())
    written = time.perf_counter()
    reader = dialect.live_reader()
    for part in stream:
        reader.feed(part)
    reader.finish()
    ended = time.perf_counter()
    found["write event"].append(1e6 * (written - began) / len(chunks))
    found["read event"].append(1e6 * (ended - written) / len(chunks))


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Give a chat chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def replays(dialect: Dialect, size: int, found: Samples, times: int) -> None:
    """Time laying out an answer that came from chat, writing it again, and telling whether that is possible."""
    completion = completion_of(dialect if dialect is EMBEDDINGS else CHAT, size)
    for stream in (False, True):
        if stream and dialect is EMBEDDINGS:
            continue
        wanted, word = Wanted(stream, include_usage=stream), f"{size}{', streamed' if stream else ''}"
        parts = dialect.layout(completion, wanted)
        found[f"layout {word}"].append(timed(partial(dialect.layout, completion, wanted), times))
        found[f"replay {word}"].append(timed(partial(parts.whole, b"0123456789abcdef", b"1700000000"), times))
        found[f"can replay {word}"].append(
            timed(partial(dialect.can_replay, completion, stream=stream), times)
        )


class _Upstream(BaseHTTPRequestHandler):
    """Answers in the dialect of the path; only what fills the cache comes here."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer whole."""
        self.rfile.read(int(self.headers["content-length"]))
        dialect = dialect_at(urlsplit(self.path).path)
        assert dialect is not None
        named = {**answer_of(SHORT), "id": "x-1"}
        answer = _EMBEDDED if dialect is EMBEDDINGS else dialect.write_answer(named)
        body = orjson.dumps(answer)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[int]:
    """Run the upstream; gives its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def upstreams(port: int) -> str:
    """Give the setting: one that speaks all dialects, one that speaks chat alone."""
    url = f"http://127.0.0.1:{port}/v1"
    every = {"protocol": "openai", "base_url": url, "speaks": [dialect.name for dialect in ALL]}
    return json.dumps({"own": every, "chat": {"protocol": "openai", "base_url": url, "speaks": [CHAT.name]}})


def asks() -> Iterator[tuple[str, Dialect, Ask]]:
    """Give what is asked of the proxy: name of the case, dialect, request."""
    for dialect in ALL:
        for upstream in ("own", "chat"):
            for stream in (False, True):
                if dialect is EMBEDDINGS and (stream or upstream == "chat"):
                    continue
                asked = asked_in(dialect, 1, stream=stream)
                name = f"hit, {'own' if upstream == 'own' else 'in chat'}{', streamed' if stream else ''}"
                yield name, dialect, Ask(asked.written(upstream), (WORD.encode(),))


def hits(proxy: Semcache, driver: Driver, found: dict[str, Samples], seconds: float, realtime: bool) -> None:
    """One round of all hits."""
    for name, dialect, ask in asks():
        with hurried([proxy.pid, driver.pid], realtime):
            seen = driver.run(Window(proxy.port, [ask], 1, seconds, cycle=True))
        if seen.failed or seen.wrong or set(seen.outcomes) != {"exact"}:
            raise RuntimeError(f"{dialect.name}: {name}: {seen.outcomes} {seen.reasons} failed {seen.failed}")
        found[dialect.name][name].append(1e6 * quantile(list(seen.whole), 0.5))


def filled(proxy: Semcache, driver: Driver) -> None:
    """Ask everything until it is answered from memory."""
    for name, dialect, ask in asks():
        for _ in range(100):
            seen = driver.run(Window(proxy.port, [ask], 1, 0.02, cycle=True))
            if set(seen.outcomes) == {"exact"}:
                break
            time.sleep(0.05)
        else:
            raise RuntimeError(f"{dialect.name}: {name} is never a hit: {seen.outcomes} {seen.reasons}")


def summary(found: dict[str, Samples]) -> dict[str, dict[str, dict[str, float]]]:
    """Give medians in microseconds, and medians of the ratios to chat."""
    told: dict[str, dict[str, dict[str, float]]] = {}
    for name, samples in found.items():
        told[name] = {}
        for case, values in samples.items():
            # Whatever its upstream speaks, chat is chat.
            base = found[CHAT.name].get(case.replace("hit, in chat", "hit, own"), [])
            ratios = [own / chat for own, chat in zip(values, base, strict=False)]
            told[name][case] = {"us": middle(values), "times_chat": middle(ratios)}
    return told


def tables(told: dict[str, dict[str, dict[str, float]]]) -> Iterator[Table]:
    """Lay the figures out, some cases a table."""
    cases = list(dict.fromkeys(case for samples in told.values() for case in samples))
    groups = (
        ("read 1", "read 20", "in chat", "write event", "read event"),
        *(
            tuple(case for case in cases if case.startswith(begin))
            for begin in ("layout", "replay", "can replay", "hit")
        ),
    )
    for group in groups:
        shown = [case for case in group if case in cases]
        if not shown:
            continue
        table = Table("us (times chat)", *shown)
        for name, samples in told.items():
            table.add_row(name, *(_cell(samples.get(case)) for case in shown))
        yield table


def _cell(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    ratio = found["times_chat"]
    return f"{found['us']:,.1f}" + (f" ({ratio:.2f})" if not math.isnan(ratio) else "")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a window of hits")
    parser.add_argument(
        "--times", type=int, default=300, help="calls a round of what is timed in this process"
    )
    parser.add_argument("--no-proxy", action="store_true", help="only what needs none")
    parser.add_argument("--realtime", action="store_true", help="windows of hits under round-robin priority")
    parser.add_argument("--quick", action="store_true", help="one short round: shows that it runs")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds, chosen.times = 1, 0.05, 20
    return chosen


def main() -> None:
    """Measure and print."""
    chosen = arguments()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    found: dict[str, Samples] = {dialect.name: defaultdict(list) for dialect in ALL}
    helpers, own = cores()
    with ExitStack() as stack:
        proxy = driver = None
        if not chosen.no_proxy:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-dialects-")))
            port = stack.enter_context(serving())
            environment = {"SEMCACHE_UPSTREAMS": upstreams(port)}
            proxy = stack.enter_context(semcache(folder, environment=environment))
            proxy.settle(own, helpers)
            driver = stack.enter_context(Driver(helpers))
            filled(proxy, driver)
        if helpers is not None:
            os.sched_setaffinity(0, {helpers})
        for _ in range(chosen.rounds):
            for dialect in ALL:
                alone(dialect, found[dialect.name], chosen.times)
            if proxy is not None and driver is not None:
                hits(proxy, driver, found, chosen.seconds, chosen.realtime)
    told = summary(found)
    for table in tables(told):
        screen.print(table)
    setting = {name: str(value) for name, value in vars(chosen).items()}
    save(chosen.json, {"circumstances": facts, "setting": setting, "dialects": told})


if __name__ == "__main__":
    main()
