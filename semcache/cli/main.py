"""The command line: one file a command, registered here. Knows no adapters.

Exit codes: 0 well, 1 a named error (told in one line on stderr), 2 wrong usage.
"""

from __future__ import annotations

import sys

import typer

import semcache
from semcache.cli import entries, explain, keys, models, policy, serve
from semcache.cli.engine import engine
from semcache.errors import SemcacheError

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
app.command()(explain.explain)
app.add_typer(models.app, name="models")
app.add_typer(policy.app, name="policy")
app.add_typer(entries.app, name="entries")
app.add_typer(keys.app, name="keys")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(semcache.__version__)


def main() -> None:
    """Run the command line; named errors end with one clear line instead of a traceback."""
    try:
        app()
    except SemcacheError as error:
        typer.secho(f"semcache: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)
