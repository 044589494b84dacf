"""Writes docs/clients.md from what a run of the clients wrote down.

    python -m tests.clients.table REPORT >docs/clients.md

Refuses a report in which anything that should be there is missing: a table is of one whole run, or of none.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.clients.faults import FAULTS
from tests.clients.lanes import HERE, LANES, NATIVE_ONLY, Lane
from tests.clients.scenes import SCENES
from tests.clients.sheet import STATES

ENGINE = "local engine"
COLUMNS = (*SCENES, ENGINE)
FEW = {"retry": ("miss",), "cut stream": ("miss",), ENGINE: ("miss", "exact")}
"""States of scenarios that have not all of them."""


@dataclass(frozen=True)
class Package:
    """A client as people install it."""

    name: str
    pinned_in: str
    address: str
    """Where it is told to ask, with PROXY for the proxy's address."""


PYTHON, LITELLM, NODE = "requirements-clients.txt", "requirements-litellm.txt", "node/package.json"
PACKAGES = (
    Package("openai", PYTHON, '`base_url="PROXY/v1"`'),
    Package("anthropic", PYTHON, '`base_url="PROXY"`'),
    Package("langchain-openai", PYTHON, '`base_url="PROXY/v1"`'),
    Package("langchain-anthropic", PYTHON, '`base_url="PROXY"`'),
    Package("ollama", PYTHON, '`host="PROXY"` (or `OLLAMA_HOST`)'),
    Package("google-genai", PYTHON, '`http_options={"base_url": "PROXY"}`'),
    Package(
        "litellm",
        LITELLM,
        '`api_base="PROXY/v1"`; anthropic and ollama_chat `"PROXY"`, gemini `"PROXY/v1beta"`',
    ),
    Package("openai", NODE, "`baseURL: 'PROXY/v1'`"),
    Package("@anthropic-ai/sdk", NODE, "`baseURL: 'PROXY'`"),
    Package("ollama", NODE, "`host: 'PROXY'`"),
    Package("@google/genai", NODE, "`httpOptions: { baseUrl: 'PROXY' }`"),
    Package("ai", NODE, "by its providers"),
    Package("@ai-sdk/openai", NODE, "`baseURL: 'PROXY/v1'`"),
    Package("@ai-sdk/openai-compatible", NODE, "`baseURL: 'PROXY/v1'`"),
    Package("@ai-sdk/anthropic", NODE, "`baseURL: 'PROXY/v1'`"),
    Package("@ai-sdk/google", NODE, "`baseURL: 'PROXY/v1beta'`"),
)
NOTES = {
    "responses": (
        "Responses have a part in the cache only where the request says `store: false`, as it does in these tests"
        " (AI SDK: `providerOptions: { openai: { store: false } }`); what is stored upstream has a name there, so it is forwarded."
    ),
    "retry": (
        "The AI SDK, google-genai and LiteLLM's own protocols do not mind `x-should-retry: false`: they repeat what they"
        " hold for repeatable. ollama and curl never repeat."
    ),
    "structured output": (
        "With a model that it does not know for structured outputs, the AI SDK's anthropic provider (and LiteLLM's) asks"
        " by a forced tool; that is a tool call, and repeats only where the policy keeps those."
    ),
    "usage": (
        "On hits the tokens are zero, or those of the first answer where the policy says `usage_on_hit: original`; a draft"
        " tells what its revision took."
    ),
}
"""What is worth knowing, by scenario."""
HEAD = """\
# Clients

What official clients see through the proxy, each at its current version, in a program of its own over a real socket. This page is
written by `./scripts/clients`, which makes their environments, runs `tests/clients` and stops at anything that is not as it says here.

{made}

## Where to point them

`PROXY` is the address that `semcache serve` prints, such as `http://127.0.0.1:8080`. Keys and models stay as they are.

| client | version | setting |
|---|---|---|
{packages}

## What works

Each cell has a mark for a miss, an exact hit, a hit by meaning and a draft, in this order. ✓: as it should be; ✗: it is not, see the note.

- **chat**, **stream**: the right text and finish reason; one entry serves both.
- **usage**: tokens whole and at the end of a stream.
- **tools**: the call comes through whole and in pieces. By meaning nothing is served and nothing drafted, which is what ✓ says there;
  an equal question gets the stored call only where the policy keeps calls.
- **structured output**: the client's own parser gives the object, whole and streamed.
- **error**: 400, 401, 429 and 500 of the upstream raise what they raise without the proxy, and nothing of them is kept; so do refusals of the
  proxy itself. What is stored is served while the upstream fails.
- **timeout**: the client gives up when it wants to; the proxy gives an upstream up with 504; stored answers come all the same, and a draft
  that takes too long is not waited for.
- **abort**: leaving in the middle stops the upstream's call, nothing half is kept, and replays can be left as well.
- **cut stream**: an upstream that breaks off raises an error, and nothing of it is kept (a mark for a miss only).
- **retry**: failed calls are made again, and a spent budget of the proxy is not asked again (a mark for a miss only).
- **local engine**: a fresh `semcache serve` without any upstream answers, whole and streamed, and repeats itself (marks for miss and exact hit).
"""


def pins() -> dict[Package, str]:
    """Read what the committed files pin."""
    found = {}
    for package in PACKAGES:
        text = (HERE / package.pinned_in).read_text(encoding="utf-8")
        if package.pinned_in == NODE:
            found[package] = str(json.loads(text)["dependencies"][package.name])
        else:
            match = re.search(rf"^{re.escape(package.name)}==(\S+)$", text, re.MULTILINE)
            assert match, f"{package.pinned_in} does not pin {package.name}"
            found[package] = match[1]
    return found


def packages_table() -> str:
    """Give the rows of the clients, with the versions that are pinned."""
    kind = {PYTHON: "Python", LITELLM: "Python", NODE: "Node"}
    rows = [
        f"| {package.name} ({kind[package.pinned_in]}) | {version} | {package.address} |"
        for package, version in pins().items()
    ]
    return "\n".join([*rows, "| curl | the system's | any path of the protocols |"])


Cells = Mapping[tuple[str, str, str], Mapping[str, bool]]
"""By lane, upstream and scenario: which states came out right."""


def read_report(lines: Iterable[str]) -> Cells:
    """Read what a run wrote down."""
    found = {}
    for line in lines:
        row = json.loads(line)
        marks = {**dict.fromkeys(row["right"], True), **dict.fromkeys(row["wrong"], False)}
        found[row["lane"], row["backend"], row["scenario"]] = marks
    return found


def marks(cells: Cells, lane: Lane, scenario: str, notes: list[str]) -> str:
    """Give one cell of the table; what is wrong adds a note.

    Raises:
        KeyError: the run did not come to it.
    """
    if scenario == "retry" and not lane.retries:
        return ""
    if scenario in (*NATIVE_ONLY, ENGINE) and not lane.is_native:
        return ""
    backend = ENGINE if scenario == ENGINE else lane.backend
    found, told = cells[lane.name, backend, scenario], ""
    for state in FEW.get(scenario, STATES):
        if found[state]:
            told += "✓"
            continue
        why = FAULTS[lane.name, backend, scenario][state]
        if why not in notes:
            notes.append(why)
        told += f"✗<sup>{notes.index(why) + 1}</sup>"
    return told


def table(cells: Cells, native: bool, notes: list[str]) -> str:
    """Give the table of one kind of upstreams."""
    columns = [name for name in COLUMNS if native or name not in (*NATIVE_ONLY, ENGINE)]
    rows = [f"| client | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for lane in (seat for one in LANES for seat in one.seats if seat.is_native == native):
        told = [marks(cells, lane, scenario, notes) for scenario in columns]
        rows.append(f"| {lane.name} | {' | '.join(told)} |")
    return "\n".join(rows)


def page(cells: Cells, made: str) -> str:
    """Give the whole page."""
    notes: list[str] = []
    parts = [
        HEAD.format(made=made, packages=packages_table()),
        "### At an upstream that speaks the client's protocol\n",
        table(cells, True, notes) + "\n",
        "### At an upstream that speaks chat completions only\n",
        "Requests are put into chat's words and answers back into the client's; entries are shared with chat clients.\n",
        table(cells, False, notes) + "\n",
        "### Notes\n",
        *(f"{number}. {why}" for number, why in enumerate(notes, 1)),
        *(f"- {note}" for note in NOTES.values()),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    cells = read_report(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    sys.stdout.write(page(cells, f"Run of {today} ({machine})."))


if __name__ == "__main__":
    main()
