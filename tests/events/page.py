"""Writes docs/events.md from the tests that show each event: `python -m tests.events.page` prints it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "events.md"
HEAD = """\
# What may happen, and what semcache does then

Hostile input and failing dependencies, each with the behaviour that is right and the tests that show it: most of them against real processes (a proxy, Valkey, scripted upstreams, a TCP
proxy that breaks what passes), over sockets. In all of them: no 5xx that the upstream did not cause, nothing incomplete is replayed, nothing rejected or
flushed is served again, and an ordinary request afterwards is answered. This page is written from the marks of the tests (`pytest.mark.event`), and a test compares them.

| | what happens | what is right | shown by |
|---|---|---|---|
"""
EVENTS: Mapping[int, tuple[str, str]] = {
    1: ("a body that is no JSON, empty, or of another content type", "400 in the words of the client's protocol; forwarded paths pass whatever comes"),
    2: ("a name that stands twice in a body", "the value that was keyed is the one that the upstream gets"),
    3: ("nesting without end, numbers of thousands of digits, NaN, 1e999", "400, and memory stays where it was"),
    4: ("half surrogates, invalid UTF-8, NUL, bidi and zero-width text", "400 for what is no text; odd text is kept as it is, compared in its plain form, and looked at in both"),
    5: ("bodies over the limit, lengths that lie", "413 early, the connection closed, no more read than the limit"),
    6: ("packed bodies, and bombs", "415 for requests; of upstreams no more is unpacked than the bounds of size and ratio allow"),
    7: ("heads and bodies in drops, readers that do not read", "deadlines; buffers are bounded, and the upstream call is given up"),
    8: ("framing, hosts and paths that two programs read in two ways", "400; one normal form of the path decides who is asked and who may"),
    9: ("headers by which a client says who it is or where it comes from", "count for nothing"),
    10: ("hostile keys: huge, with SQL, line breaks, nearly right", "401, the same words in the same time, and none of it in any log"),
    11: ("URLs from clients, redirects to inner addresses", "only configured names are asked, and no redirect is followed"),
    12: ("a client leaves", "the upstream call ends unless others wait for it; what it cost is booked; nothing partial is kept"),
    13: ("an upstream's answer is cut, at every byte of three protocols", "an error event (or a 502), never stored; complete is what says so"),
    14: ("an error inside a stream with status 200", "passed on, never stored"),
    15: ("an upstream that stalls or trickles", "given up after the idle timeout with an error; what trickles is waited for"),
    16: ("429, 5xx, 529, pages for people", "pass byte for byte, Retry-After included, and are never stored"),
    17: ("packed, wrongly labelled, endless or page-like answers, 1xx, trailers, large heads", "read or passed as they are, within bounds; what is no answer is never stored"),
    18: ("no name, no TLS, no connection", "502 in time, then at once while the breaker is open; nothing is asked twice after it may have been asked"),
    19: ("a thousand equal requests at once", "one upstream call, all answered, whoever came first may leave"),
    20: ("many nearly equal requests at once, many lives that end at once", "batches are bounded, each gets its own answer, one call each"),
    21: ("the store is away: at the start, during, and comes back", "served as a proxy meanwhile; no storm of connections; joined again by itself"),
    22: ("the store takes five seconds", "a request loses the store's deadline at most, and nothing once the breaker is open"),
    23: ("the store refuses: read-only, loading, full, password, moved, wrong types", "what cannot be written is dropped and counted; no request fails"),
    24: ("the store has dropped an entry whose vector remains", "the next candidate is looked at, and the vector goes"),
    25: ("the store was flushed, or put back to an older state", "seen by its identity; index and memory are built anew"),
    26: ("index files: flipped, cut, of another version or store, unreadable", "refused by checksum, set aside, the index filled from the store; served meanwhile"),
    27: ("killed at any point of saving", "the old or the new is there, never a mix"),
    28: ("a disk that is full, read-only or over quota", "served from memory, told by metrics and log, no partial file, written again when it can be"),
    29: ("no GPU, or one that fails", "the CPU does it"),
    30: ("vectors that are not finite, zero, not of unit length, of another dimension", "refused at one gate; the request goes on as a miss"),
    31: ("another encoder, or other weights under its name", "another generation: nothing old is compared; entries are renewed beside requests ([encoders.md](encoders.md))"),
    32: ("another model behind the same name", "an answer carries who gave it, and can be invalidated by that"),
    33: ("two replicas write, lag, or are cut off from each other", "idempotent by exact key; a rejection holds everywhere within a second; who hears nothing trusts no memory"),
    34: ("policy files that break, vanish, grow or bomb; rules tightened while hits are under way", "the last good ones stay in force and that is told; no hit is served under rules that are gone"),
    35: ("clocks that jump", "lives end by the server's clock, ages are never negative, budgets go by UTC"),
    36: ("no price, odd prices, odd usage", "unknown is not 0; every sum stays finite"),
    37: ("a thousand calls at once against one budget", "what is set aside bounds what is spent"),
    38: ("labels without end, with line breaks", "refused or bounded; no header and no log line is forged"),
    39: ("the admin API without token, role, or right; forged requests, stored scripts, odd paths", "401, 403, 404; what is stored is shown as text; no default password, and no exposed listener without tokens"),
    40: ("two reviewers at once; an edit of what is gone", "412 with a clear message"),
    41: ("an end user is erased while answers are served, exported, backed up", "not served after the commit, and brought back by no import and no backup ([archive.md](archive.md))"),
    42: ("a hostile export is imported", "read line by line within bounds; the tenant is the caller's; each bad line is told and harms nothing else"),
    43: ("told to end under open streams, told twice, killed", "what is open may end until the deadline; a second signal cuts; the next start is clean"),
    44: ("no descriptors, places or threads left", "503 with Retry-After, and better by itself"),
    45: ("a poisoned answer was found", "one call puts all of its kind out of service, names who was served, and keeps it from being learned again"),
}  # fmt: skip


def shown_by() -> dict[int, list[str]]:
    """Give the tests of each event: file and function."""
    found: dict[int, list[str]] = {number: [] for number in EVENTS}
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.event(" in text:
            for number, name in _marked(ast.parse(text)):
                found[number].append(f"{file.relative_to(TESTS.parent)}::{name}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.event":
                    for given in mark.args:
                        assert isinstance(given, ast.Constant)
                        assert isinstance(given.value, int)
                        yield given.value, node.name


def page() -> str:
    lines = [HEAD]
    for number, tests in shown_by().items():
        event, right = EVENTS[number]
        by_file: dict[str, list[str]] = {}
        for test in tests:
            file, _, name = test.partition("::")
            by_file.setdefault(file, []).append(name.removeprefix("test_"))
        told = "; ".join(f"`{file}`: {', '.join(names)}" for file, names in by_file.items())
        lines.append(f"| {number} | {event} | {right} | {told} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page())
