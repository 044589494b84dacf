"""`semcache analyze`: what a cache would have saved on a log, and what keeps it from saving more.

Files in, one report out: on the screen, as JSON, or as one page of HTML. Changes nothing and sends nothing; see docs/analyze.md.
"""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import orjson
import typer

from semcache.advise.analysis import AnalysisOrder, analysed
from semcache.advise.findings import Findings
from semcache.advise.forms import FORMATS
from semcache.advise.html.page import page_of
from semcache.advise.pricing import Pricing
from semcache.cli.analyze_screen import AnalysisProgress, report_of
from semcache.cli.logs import configure_logs
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.cost.prices import PriceBook
from semcache.errors import SemcacheError
from semcache.evaluate.domains import policies_at, tenant_of

_TERMINATED = 143

Files = Annotated[list[Path], typer.Argument(help="Log files, packed or not; - is standard input.")]
Html = Annotated[Path | None, typer.Option(help="Write the report as one page of HTML into this file.")]
PolicyOut = Annotated[Path | None, typer.Option(help="Write the proposed policy file here.")]
Policy = Annotated[
    Path | None, typer.Option("--policies", help="Policy file, or a directory of them. [default: built in]")
]
Tenant = Annotated[str, typer.Option(help="Whose policy, where there are several.")]
Limit = Annotated[int, typer.Option(min=0, help="Rows at most, from the front of the files. 0: all.")]
NoSemantic = Annotated[
    bool, typer.Option("--no-semantic", help="Without asking the log again of the real pipeline (no models).")
]
NoLint = Annotated[
    bool, typer.Option("--no-lint", help="Without looking for what keeps prompts from being reused.")
]
Minutes = Annotated[
    float,
    typer.Option(min=0.1, max=1440, help="How long to ask again, about; a sample where it is too short."),
]
Prices = Annotated[
    Path | None,
    typer.Option(help="Your own prices (YAML). [default: the setting `prices`, then list prices]"),
]
Format = Annotated[str, typer.Option("--format", help=f"Do not look, it is: {', '.join(FORMATS)}.")]
Seed = Annotated[int, typer.Option(help="Of the sample.")]
ShowExamples = Annotated[
    bool,
    typer.Option(
        "--show-examples",
        help="Also tell questions of the log, in the page and in JSON: some hits by meaning.",
    ),
]
_EXAMPLES = 5


def analyze(
    files: Files,
    *,
    json: Json = False,
    html: Html = None,
    policy_out: PolicyOut = None,
    policies: Policy = None,
    tenant: Tenant = "",
    limit: Limit = 0,
    no_semantic: NoSemantic = False,
    no_lint: NoLint = False,
    minutes: Minutes = 5.0,
    prices: Prices = None,
    format: Format = "",
    seed: Seed = 0,
    show_examples: ShowExamples = False,
    data: Data = None,
    config: Config = None,
) -> None:
    """See what a cache would have saved on a log of requests, without changing any traffic."""
    configure_logs()  # to stderr: stdout may be read by a program
    if format and format not in FORMATS:
        raise SemcacheError(f"--format {format}: is none of {', '.join(FORMATS)}")
    for target in (html, policy_out):
        if target is not None and not target.absolute().parent.is_dir():
            raise SemcacheError(f"{target}: there is no such directory")
    snapshot = policies_at(policies)
    order = AnalysisOrder(
        files=files,
        snapshot=snapshot,
        tenant=tenant_of(snapshot, tenant),
        form=format,
        limit=limit,
        semantic=not no_semantic,
        minutes=minutes,
        lint=not no_lint,
        seed=seed,
        examples=_EXAMPLES if show_examples else 0,
    )
    settings = settings_from(config, data=data)
    pricing = Pricing(PriceBook(prices or settings.prices))
    previous = signal.signal(signal.SIGTERM, _stopped)
    try:
        with AnalysisProgress() as progress:
            found = analysed(lambda: settings, order, pricing, progress)
    finally:
        signal.signal(signal.SIGTERM, previous)
    if html is not None:
        _written(html, page_of(found, found.semantic.examples if found.semantic else ()))
    if policy_out is not None:
        _written(policy_out, found.advice.policy if found.advice else "")
    _show(found, json=json)


def _show(found: Findings, *, json: bool) -> None:
    if json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    console = wide_console()
    for part in report_of(found):
        console.print(part)


def _written(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SemcacheError(f"{path}: cannot be written: {error.strerror}") from None
    typer.echo(f"written: {path}", err=True)


def _stopped(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(_TERMINATED)
