"""`semcache version`."""

from __future__ import annotations

import typer

import semcache


def version() -> None:
    """Print the version."""
    typer.echo(semcache.__version__)
