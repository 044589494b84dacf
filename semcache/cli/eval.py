"""`semcache eval`: what the cache would serve of labelled questions, rightly and wrongly.

Files in, tables out; what is measured and how is told in docs/evaluation.md.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer

from semcache.cli.eval_screen import (
    Progress,
    json_with_value,
    learn_table,
    pair_table,
    stream_table,
    tell_bound,
)
from semcache.cli.logs import configure_logs
from semcache.cli.options import Config, Data, settings_from
from semcache.cli.screen import wide_console
from semcache.errors import SemcacheError
from semcache.evaluate import plot as plotting
from semcache.evaluate.baselines.named import KNOWN, baseline
from semcache.evaluate.bounds import Bound, broken, pair_bounds, stream_bounds
from semcache.evaluate.domains import policies_at, tenant_of
from semcache.evaluate.learning import LearnRun
from semcache.evaluate.runs import Findings, Order, evaluate_pairs, evaluate_streams

_TERMINATED = 143

app = typer.Typer(
    help="Measure on labelled questions what the cache serves rightly and wrongly.", no_args_is_help=True
)

Files = Annotated[list[Path], typer.Argument(help="Files with one JSON object a line.")]
Policy = Annotated[
    Path | None, typer.Option(help="Policy file, or a directory of them. [default: the built-in policy]")
]
Tenant = Annotated[str, typer.Option(help="Whose policy, where there are several.")]
Seed = Annotated[int, typer.Option(help="Of samples, of a stream's order, and of chance in baselines.")]
Baselines = Annotated[
    list[str] | None,
    typer.Option("--baseline", help=f"Another cache's rule beside ours: {KNOWN}. Repeatable."),
]
JsonFile = Annotated[
    str | None, typer.Option("--json", help="Write the records here as JSON; - (or nothing) is stdout.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw the curves into this .png or .svg file.")]
Limit = Annotated[int, typer.Option(min=0, help="Rows a file at most, a sample by the seed. 0: all.")]
Categories = Annotated[bool, typer.Option("--categories", help="Also by category of pair.")]
Learn = Annotated[
    bool, typer.Option("--learn", help="Also with labels as in service, and what they let the cache serve.")
]
PerDay = Annotated[int, typer.Option(min=1, help="With --learn: queries a day.")]
Passes = Annotated[
    int, typer.Option(min=1, help="With --learn: times the file is asked, each in another order.")
]
Renew = Annotated[bool, typer.Option("--renew", help="With --learn: nothing is stored when a pass begins.")]
Budgets = Annotated[
    list[float] | None,
    typer.Option(
        "--budget",
        min=1e-6,
        max=0.5,
        help="With --learn: greatest share of wrong hits. Repeatable. [policy's]",
    ),
]
Share = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Exit with 1 when a file does not hold it.")
]


@app.command("pairs", cls=json_with_value())
def pairs(
    files: Files,
    *,
    policy: Policy = None,
    tenant: Tenant = "",
    seed: Seed = 0,
    baselines: Baselines = None,
    json_file: JsonFile = None,
    plot: Plot = None,
    limit: Limit = 0,
    categories: Categories = False,
    max_trap_rate: Share = None,
    min_good_rate: Share = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Pairs of questions (a, b, same): the answer to a is stored, b is asked."""
    order = _order(files, policy, tenant, baselines, seed, limit, plot, json_file)
    bounds = pair_bounds(max_trap_rate, min_good_rate)
    _run_pairs("pairs", order, data, config, plot, json_file, bounds, categories=categories)


@app.command("chats", cls=json_with_value())
def chats(
    files: Files,
    *,
    policy: Policy = None,
    tenant: Tenant = "",
    seed: Seed = 0,
    baselines: Baselines = None,
    json_file: JsonFile = None,
    plot: Plot = None,
    limit: Limit = 0,
    categories: Categories = False,
    max_trap_rate: Share = None,
    min_good_rate: Share = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Pairs of conversations (turns_a, turns_b, same), system prompts and history as they are."""
    order = _order(files, policy, tenant, baselines, seed, limit, plot, json_file)
    bounds = pair_bounds(max_trap_rate, min_good_rate)
    _run_pairs("chats", order, data, config, plot, json_file, bounds, categories=categories)


@app.command("stream", cls=json_with_value())
def stream(
    files: Files,
    *,
    policy: Policy = None,
    tenant: Tenant = "",
    seed: Seed = 0,
    baselines: Baselines = None,
    json_file: JsonFile = None,
    plot: Plot = None,
    limit: Limit = 0,
    learn: Learn = False,
    per_day: PerDay = 2000,
    passes: Passes = 1,
    renew: Renew = False,
    budgets: Budgets = None,
    max_wrong_rate: Share = None,
    min_hit_rate: Share = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Questions with classes (text, cls) in random order, stored when not served; wrong: another class."""
    order = _order(files, policy, tenant, baselines, seed, limit, plot, json_file)
    if learn:
        order = replace(order, learn=LearnRun(per_day, passes, renew, tuple(budgets or ())))
    with Progress() as progress:
        work = evaluate_streams(settings_from(config, data=data), order, progress)
        findings = _finished(work)
    if json_file != "-":
        console = wide_console()
        console.print(stream_table(findings.records))
        if learn:
            console.print(learn_table(findings.records))
    _keep(findings, plot, json_file)
    _hold(findings, stream_bounds(max_wrong_rate, min_hit_rate), categories=False)


def _run_pairs(
    what: Literal["pairs", "chats"],
    order: Order,
    data: Path | None,
    config: Path | None,
    plot: Path | None,
    json_file: str | None,
    bounds: Sequence[Bound],
    *,
    categories: bool,
) -> None:
    with Progress() as progress:
        findings = _finished(evaluate_pairs(settings_from(config, data=data), order, what, progress))
    if json_file != "-":
        console = wide_console()
        for table in pair_table(findings.records, categories=categories):
            console.print(table)
    _keep(findings, plot, json_file)
    _hold(findings, bounds, categories=categories)


def _order(
    files: Sequence[Path],
    policy: Path | None,
    tenant: str,
    baselines: Sequence[str] | None,
    seed: int,
    limit: int,
    plot: Path | None,
    json_file: str | None,
) -> Order:
    """Check everything that can be checked before anything is measured."""
    configure_logs()  # to stderr: stdout may be read by a program
    if plot is not None:
        plotting.check_target(plot)
    if json_file is not None and json_file != "-" and not Path(json_file).parent.is_dir():
        raise SemcacheError(f"{json_file}: there is no such directory")
    snapshot = policies_at(policy)
    return Order(
        files=files,
        snapshot=snapshot,
        tenant=tenant_of(snapshot, tenant),
        baselines=[baseline(name) for name in baselines or ()],
        seed=seed,
        limit=limit,
        curves=plot is not None,
    )


def _finished(work: Coroutine[Any, Any, Findings]) -> Findings:
    """Run to the end; told to end before, close everything and leave no file behind."""
    try:
        return asyncio.run(_stoppable(work))
    except asyncio.CancelledError:
        raise typer.Exit(_TERMINATED) from None


async def _stoppable(work: Coroutine[Any, Any, Findings]) -> Findings:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


def _keep(findings: Findings, plot: Path | None, json_file: str | None) -> None:
    """Write what was asked for in files."""
    if plot is not None:
        plotting.draw(plot, findings.panels)
    if json_file is None:
        return
    text = orjson.dumps(findings.records, option=orjson.OPT_INDENT_2).decode()
    if json_file == "-":
        typer.echo(text)
        return
    try:
        Path(json_file).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise SemcacheError(f"{json_file}: cannot be written: {error.strerror}") from None


def _hold(findings: Findings, bounds: Sequence[Bound], *, categories: bool) -> None:
    """End with 1 when a bound is not held, and say which."""
    told = broken(findings.records, bounds, by_category=categories)
    for line in told:
        tell_bound(line)
    if told:
        raise typer.Exit(1)
