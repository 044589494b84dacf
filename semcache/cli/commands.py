"""The commands, one file each, registered here. Knows no adapters."""

from __future__ import annotations

import typer

import semcache
from semcache.cli import analyze, entries, explain, keys, ledger, models, policy, report, review, serve, warm
from semcache.cli import eval as evaluation
from semcache.cli.admin import admin
from semcache.cli.batch import batch
from semcache.cli.engine import engine

app = typer.Typer(
    name="semcache",
    help="A semantic response cache in front of any LLM API.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve.serve)
app.command(hidden=True)(serve.worker)
app.command()(engine)
app.command()(admin)
app.command()(explain.explain)
app.command()(analyze.analyze)
app.command()(warm.warm)
app.command()(batch)
app.add_typer(models.app, name="models")
app.add_typer(policy.app, name="policy")
app.add_typer(evaluation.app, name="eval")
app.add_typer(entries.app, name="entries")
app.add_typer(review.app, name="review")
app.add_typer(keys.app, name="keys")
app.add_typer(report.app, name="report")
app.add_typer(ledger.app, name="ledger")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(semcache.__version__)
