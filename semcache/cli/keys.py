"""`semcache keys new`: a fresh API key, and the hash that goes into a policy file."""

from __future__ import annotations

import hashlib
import secrets
from typing import Annotated

import typer

app = typer.Typer(help="API keys of tenants.", no_args_is_help=True)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="What the key is called in logs and reports.")] = "app",
) -> None:
    """Make a key: shown once, stored nowhere; only its hash goes into the tenant's policy file."""
    key = f"sck_{secrets.token_urlsafe(32)}"
    typer.echo(f"key:  {key}")
    typer.echo("into the tenant's policy file, under access.keys:")
    typer.echo(f'  - {{name: {name}, hash: "sha256:{hashlib.sha256(key.encode()).hexdigest()}"}}')


@app.command("hash")
def hash_key() -> None:
    """Read a key from standard input and print its hash."""
    key = typer.get_text_stream("stdin").readline().strip()
    typer.echo(f"sha256:{hashlib.sha256(key.encode()).hexdigest()}")
