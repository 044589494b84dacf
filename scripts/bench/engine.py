"""Our engine against llama.cpp's server, over HTTP on loopback, one thread each, in turn in one run.

    python scripts/bench/engine.py [--only ttft,cold,...] [--ours "fp32,int8,fp32 fast"] [--quick] [--json FILE]

How to read it: every number is CPU time of the server process (user and system, all threads) or made of it, so a
busy machine disturbs it little; a sample is taken of each server in turn, and a ratio is made round by round.
Rows of one server give median and range; rows `a / b` give the ratio that a goal is about, always against the
setting of llama.cpp that is best in that figure: flash attention wins with many new tokens, its absence with
few, and a head of Q4_0 (its own quantiser leaves Q8_0 here) in decoding; the unified KV buffer, snapshots of idle
slots and larger physical batches were tried and never won. `kept` says MISSED where the median keeps not even the floor. Remarks in
CAPITALS say that a sample was not what it should have been. Figures:

- ttft: 1,000 cached tokens and 11 new ones, one token of answer; and until the first text of a stream
- cold: 1,024 tokens of which nothing is cached; the same length with all but 11 cached; their ratio
- four: four requests at once on a prefix that one request left, 8 tokens each; then four more
- decode1, decode8, decode16: tokens a CPU second in batches that share a prefix of 1,024 tokens
- slots, tenants, accounts: what is held once, what is reachable by whom, and that nothing is lost (ours alone)
- outside: share of a cached request's CPU time that is not the forward pass (ours alone)

The other side runs the same weights as Q4_0 (see engine_rig/quantised.py) and needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

from engine_rig import outside
from engine_rig.figures import FIGURES, Rig
from engine_rig.prompts import Prompts
from engine_rig.quantised import gguf_of
from engine_rig.rows import Row
from engine_rig.servers import LlamaOptions, Server, llama, ours
from engine_rig.table import plain, table_of
from rich.console import Console
from rig.report import circumstances, console, headline, save
from rig.serving import models_folder

VARIANTS = {
    "fp32": ("--precision", "fp32"),
    "int8": ("--precision", "int8"),
    "fp32 fast": ("--precision", "fp32", "--mode", "fast"),
    "int8 fast": ("--precision", "int8", "--mode", "fast"),
}
"""Flags of our engine by the name in the table."""

THEIRS = {
    "fa": ("Q8_0", "on"),
    "no fa": ("Q8_0", "off"),
    "fa, Q4_0 head": ("Q4_0", "on"),
    "no fa, Q4_0 head": ("Q4_0", "off"),
}
"""Settings of llama.cpp by the name in the table: type of the embedding (and head), flash attention."""

OUTSIDE = "outside"


@contextmanager
def their_servers(model: Path, slots: int, names: Sequence[str]) -> Iterator[list[Server]]:
    """Run llama.cpp's server in each of the settings; none for 0 slots."""
    with ExitStack() as stack:
        servers = []
        for name in names if slots else ():
            embedding, flash = THEIRS[name]
            options = LlamaOptions(str(gguf_of(model, embedding)), slots=slots, flash=flash)
            servers.append(stack.enter_context(llama(options, f"llama.cpp {name}")))
        yield servers


def measure(args: argparse.Namespace, mine: list[Server], say: Console) -> list[Row]:
    """Run the figures, those that need the same servers of the other side together."""
    prompts = Prompts(args.model, args.seed)
    rows: list[Row] = []

    def wanted(name: str) -> tuple[int, tuple[str, ...]]:
        figure = FIGURES[name]
        return figure.slots, figure.theirs if args.theirs is None else tuple(args.theirs.split(";"))

    for (slots, settings), names in groupby(args.only, key=wanted):
        with their_servers(args.model, slots, [each for each in settings if each]) as theirs:
            for name in names:
                rig = Rig(mine, theirs, prompts, args.rounds, args.tenants)
                found = FIGURES[name].run(rig)
                rows += found
                say.print(table_of(found, f"{name} (load {os.getloadavg()[0]:.1f})"))
    return rows


def beside(args: argparse.Namespace) -> list[Row]:
    """Measure `outside`, one engine after the other, each started with a meter in it."""
    rows: list[Row] = []
    for name in args.ours:
        with tempfile.NamedTemporaryFile(prefix="semcache-meter-") as meter:
            launcher = (str(outside.LAUNCHER), meter.name)
            flags = (*VARIANTS[name], *args.flags)
            with ours(args.model, *flags, name=f"ours {name}", launcher=launcher) as server:
                rows += outside.outside(server, Path(meter.name), Prompts(args.model, args.seed), args.rounds)
    return rows


def main() -> None:
    """Read the command line, start the servers, measure, print."""
    args = _arguments()
    say = console()
    facts = circumstances()
    with ExitStack() as stack:
        mine = [
            stack.enter_context(ours(args.model, *VARIANTS[name], *args.flags, name=f"ours {name}"))
            for name in (args.ours if args.only else ())
        ]
        facts |= {"ours": mine[0].version if mine else "", "theirs": _their_version()}
        say.print(headline(facts))
        rows = measure(args, mine, say)
    if args.outside:
        rows += (found := beside(args))
        say.print(table_of(found, f"outside (load {os.getloadavg()[0]:.1f})"))
    save(args.json, {"circumstances": facts, "load_after": os.getloadavg()[0], "rows": plain(rows)})


def _their_version() -> str:
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        return "absent"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our engine against llama.cpp's server.")
    parser.add_argument("--model", type=Path, default=models_folder() / "SmolLM2-135M-Instruct")
    parser.add_argument("--only", default=",".join([*FIGURES, OUTSIDE]), help="figures by name, with commas")
    parser.add_argument("--ours", default="fp32,int8", help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--theirs", help=f"of {'; '.join(THEIRS)}, with semicolons; '': none")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tenants", type=int, default=256)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="two rounds, 16 tenants: shows that it runs")
    parser.add_argument(
        "--flag", dest="flags", action="append", default=[], help="one more flag of our engine"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.tenants = 2, 16
    args.only, args.ours = ([word for word in text.split(",") if word] for text in (args.only, args.ours))
    theirs = [word for word in (args.theirs or "").split(";") if word]
    for words, known in ((args.only, [*FIGURES, OUTSIDE]), (args.ours, VARIANTS), (theirs, THEIRS)):
        if unknown := set(words) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}")
    args.outside = OUTSIDE in args.only
    args.only = [name for name in FIGURES if name in args.only]
    return args


if __name__ == "__main__":
    main()
