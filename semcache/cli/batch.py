"""`semcache batch`: a file of requests, sent so that what they begin alike with is computed once."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.batching.batch import Order, Score, Watcher, run_batch
from semcache.batching.sending import Patience, Sender
from semcache.cli.options import Json
from semcache.errors import SemcacheError
from semcache.settings import resolve_secret

_SHOWN = 5


def batch(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSONL: one request a line, OpenAI's or Anthropic's batch format, or bare chat bodies."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Answers. [default: FILE with .out.jsonl]")] = None,
    url: Annotated[str, typer.Option(help="Where to send: a running proxy, or any such API.")] = (
        "http://127.0.0.1:8080/v1"
    ),
    key: Annotated[str, typer.Option(help="API key, as env:NAME or file:/path.")] = "",
    model: Annotated[str, typer.Option(help="For requests that name none.")] = "",
    labels: Annotated[str, typer.Option(help="Semcache-Labels of all requests: project=a, env=prod")] = "",
    order: Annotated[
        str, typer.Option(help="prefix: sorted by common beginnings. file: as it stands.")
    ] = "prefix",
    at_once: Annotated[int, typer.Option(min=1, max=1000, help="Requests under way at most.")] = 8,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds for one answer.")] = 600.0,
    as_json: Json = False,
) -> None:
    """Send a batch and put the answers into the order of the file; run it again to go on where it stopped."""
    if order not in ("prefix", "file"):
        raise typer.BadParameter("should be prefix or file", param_hint="--order")
    target = out or file.with_name(file.stem + ".out.jsonl")
    if target.resolve() == file.resolve():
        raise SemcacheError(f"{target} is the batch itself: name another --out")
    what = Order(file, target, model, order == "prefix", at_once)
    headers = ((b"semcache-labels", labels.encode("latin-1", "replace")),) if labels else ()
    began = time.monotonic()
    try:
        score = asyncio.run(_run(what, url, key, headers, Patience(deadline=timeout)))
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; run the same command again to go on")
        raise
    _tell(score, target, time.monotonic() - began, as_json=as_json)
    if score.failed or score.refused or score.mistakes:
        raise typer.Exit(1)


async def _run(
    order: Order, url: str, key: str, headers: tuple[tuple[bytes, bytes], ...], patience: Patience
) -> Score:
    limits = Limits(head=patience.deadline, idle=patience.deadline)
    base = url.rstrip("/").removesuffix("/v1")
    upstream = HttpUpstream("the server", base, limits)
    secret = resolve_secret(key) if key else ""
    try:
        with _Shown() as shown:
            return await run_batch(order, Sender(upstream, secret, headers, patience), shown)
    finally:
        await upstream.aclose()


class _Shown(Watcher):
    """A progress bar on stderr."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("reading", total=None)

    def __enter__(self) -> _Shown:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begins(self, score: Score) -> None:
        total = score.total - len(score.mistakes)
        self._bar.update(self._task, description="answered", total=total, completed=score.resumed)

    def answered(self, score: Score) -> None:
        done = score.resumed + score.good + score.refused + score.failed
        cached = f", {score.cached / score.input:.0%} of input cached" if score.input else ""
        failed = f", {score.failed + score.refused} failed" if score.failed + score.refused else ""
        self._bar.update(self._task, completed=done, description=f"answered{cached}{failed}")


def _tell(score: Score, out: Path, seconds: float, *, as_json: bool) -> None:
    if as_json:
        shown = {
            "requests": score.total,
            "answered": score.good,
            "answered_before": score.resumed,
            "refused": score.refused,
            "failed": score.failed,
            "mistakes": [mistake.message for mistake in score.mistakes],
            "outcomes": dict(score.outcomes),
            "input_tokens": score.input,
            "cached_tokens": score.cached,
            "output_tokens": score.output,
            "seconds": round(seconds, 3),
            "out": str(out),
        }
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    console = Console(highlight=False)
    before = f" ({score.resumed} of them before)" if score.resumed else ""
    console.print(f"{score.good + score.resumed} of {score.total} answered{before} in {seconds:.1f} s: {out}")
    if score.input:
        console.print(
            f"{score.input} input tokens, {score.cached / score.input:.1%} of them cached; {score.output} output tokens"
        )
    if score.outcomes:
        console.print(", ".join(f"{count} {word}" for word, count in score.outcomes.most_common()))
    for mistake in score.mistakes[:_SHOWN]:
        console.print(mistake.message, markup=False)
    if len(score.mistakes) > _SHOWN:
        console.print(f"... and {len(score.mistakes) - _SHOWN} more lines that are no requests")
    if score.refused:
        console.print(f"{score.refused} were refused: their lines say why")
    if score.failed:
        console.print(f"{score.failed} have no answer yet: run the same command again to try them once more")
