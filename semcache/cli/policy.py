"""`semcache policy`: check the files, run their question pairs, and explain what they say of a request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import Screen, wide_console
from semcache.core import Caller, Directives, TenantId
from semcache.decide.spans import explain_spans
from semcache.dialects.chat.request import parse_chat
from semcache.errors import SemcacheError
from semcache.parts import open_judge
from semcache.policy import explain as explaining
from semcache.policy.loader import check as check_directory
from semcache.policy.loader import load_default, load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.policy.trial import TrialResult, run_trials
from semcache.settings import Settings

app = typer.Typer(help="Policy files: check, test, explain.", no_args_is_help=True)
Directory = Annotated[
    Path | None, typer.Argument(help="Directory of policy files. [default: the built-in policy]")
]


@app.command("check")
def check(directory: Annotated[Path, typer.Argument(help="Directory of policy files.")]) -> None:
    """Read all files; print every mistake and warning with file and line."""
    report = check_directory(directory)
    console = Console(highlight=False)
    for problem in (*report.problems, *report.warnings):
        colour = "red" if problem.level == "error" else "yellow"
        console.print(f"[{colour}]{problem.level}[/{colour}] {problem}", soft_wrap=True)
    if report.problems:
        raise typer.Exit(1)
    tenants = ", ".join(report.snapshot.tenants) if report.snapshot else ""
    public = len(report.snapshot.public) if report.snapshot else 0
    console.print(f"fine: tenants {tenants}" + (f"; {public} public messages" if public else ""))


@app.command("test")
def run_pairs(
    directory: Directory = None,
    tenant: Annotated[str, typer.Option(help="Only this tenant.")] = "",
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the question pairs of the files with the real encoder and the real gate; exit 1 when one fails."""
    settings = settings_from(config, data=data)
    snapshot = _load(directory)
    chosen = _known(snapshot, tenant) if tenant else None
    with Screen().waiting("loading the encoders and judging the pairs"):
        results = asyncio.run(_judged(settings, snapshot, chosen))
    if as_json:
        typer.echo(json.dumps([_row(result) for result in results], ensure_ascii=False))
    else:
        _print(results)
    if not all(result.passed for result in results):
        raise typer.Exit(1)


@app.command("explain")
def explain(
    directory: Directory = None,
    tenant: Annotated[str, typer.Option(help="Whose policy.")] = "default",
    question: Annotated[str, typer.Option(help="The user's question.")] = "Hello?",
    system: Annotated[str, typer.Option(help="The system prompt.")] = "",
    model: Annotated[str, typer.Option(help="The model.")] = "local",
    domain: Annotated[str, typer.Option(help="Asked for by header.")] = "",
    threshold: Annotated[float | None, typer.Option(help="Asked for by header.")] = None,
) -> None:
    """Show which rule assigns a request, in which line, and what each step tightens."""
    messages = [{"role": "user", "content": question}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    request = parse_chat({"model": model, "messages": messages}, "/v1/chat/completions")
    directives = Directives(domain=domain, threshold=threshold)
    snapshot = _load(directory)
    told = explaining.explain(snapshot, request, Caller(_known(snapshot, tenant)), directives)
    console = Console(highlight=False)
    for step in told.steps:
        _print_step(console, step)
    if told.policy is None:
        raise SemcacheError(told.refusal)
    policy = told.policy
    console.print(
        f"domain {policy.domain}, mode {policy.mode}, threshold {policy.threshold}, verified "
        f"{policy.verified_threshold}, draft {policy.draft_threshold}, scope {policy.scope}, ttl {policy.ttl:.0f} s",
        soft_wrap=True,
    )
    _print_step(console, explaining.explain_prefix(snapshot, request, directives, policy))


def _print_step(console: Console, step: explaining.ExplainStep) -> None:
    console.print(f"[bold]{step.what}[/bold]" + (f"  ({step.where})" if step.where else ""), soft_wrap=True)
    for change in step.changes:
        console.print(f"    {change.knob}: {change.before} -> {change.after}")


async def _judged(
    settings: Settings, snapshot: PolicySnapshot, tenant: TenantId | None
) -> tuple[TrialResult, ...]:
    async with open_judge(settings) as judge:
        return await run_trials(snapshot, judge, tenant)


def _load(directory: Path | None) -> PolicySnapshot:
    return load_directory(directory) if directory is not None else load_default()


def _known(snapshot: PolicySnapshot, tenant: str) -> TenantId:
    if tenant not in snapshot.tenants:
        raise SemcacheError(f"no file speaks for tenant {tenant}; there are: {', '.join(snapshot.tenants)}")
    return TenantId(tenant)


def _print(results: tuple[TrialResult, ...]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("", "where", "domain", "expected", "outcome", "similarity", "reasons"):
        table.add_column(name, overflow="fold")
    for result in results:
        row = _row(result)
        mark = "[green]ok[/green]" if result.passed else "[red]FAILS[/red]"
        similarity = "-" if result.similarity is None else f"{result.similarity:.3f}"
        table.add_row(
            mark,
            row["where"],
            row["domain"],
            row["expected"],
            row["outcome"],
            similarity,
            ", ".join(result.reasons),
        )
    console = wide_console()
    console.print(table)
    for result in results:
        for line in _places(result):
            console.print(line, highlight=False, markup=False)
    failed = sum(not result.passed for result in results)
    console.print(f"{len(results)} pairs, {failed} failed")


def _places(result: TrialResult) -> Iterator[str]:
    """Give the words that the gate's objections rest on, from the file's own pairs: nothing else is quoted."""
    trial = result.case.trial
    if result.outcome not in ("miss", "draft"):
        return
    for objection in explain_spans(trial.b, trial.a, result.case.policy.gate):
        asked, stored = (
            repr(text[slice(*span)]) if span else "-"
            for text, span in ((trial.b, objection.asked), (trial.a, objection.stored))
        )
        effect = "raises the bar" if objection.raises else "vetoes"
        yield f"  {result.case.where}: {objection.word} {effect}: a {stored}, b {asked}"


def _row(result: TrialResult) -> dict[str, str]:
    return {
        "where": result.case.where,
        "domain": result.case.policy.domain,
        "expected": result.case.trial.expect,
        "outcome": result.outcome,
        "reasons": ",".join(result.reasons),
    }
