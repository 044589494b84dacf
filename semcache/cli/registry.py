"""Where each command is, so that only what was called for is loaded: most commands do without most of the others.

Knows no command but by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType

import typer

PLACES: Mapping[str, str] = MappingProxyType(
    {
        "serve": "serve:serve",
        "worker": "serve:worker",
        "engine": "engine:engine",
        "admin": "admin:admin",
        "explain": "explain:explain",
        "analyze": "analyze:analyze",
        "warm": "warm:warm",
        "batch": "batch:batch",
        "erase": "erase:erase",
        "version": "version:version",
        "models": "models:app",
        "policy": "policy:app",
        "eval": "eval:app",
        "entries": "entries:app",
        "vectors": "vectors:app",
        "review": "review:app",
        "keys": "keys:app",
        "report": "report:app",
        "ledger": "ledger:app",
        "backup": "backup:app",
    }
)
"""Name -> module and attribute below this package: a function, or the app of a group."""

_HIDDEN = frozenset({"worker"})
"""For other processes of ours, not for people."""


def app_of(names: Iterable[str]) -> typer.Typer:
    """Make an app of these commands, in this order; their modules are loaded now."""
    app = typer.Typer(
        name="semcache", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    app.callback()(semcache)
    for name in names:
        module, _, attribute = PLACES[name].partition(":")
        found = getattr(import_module(f"semcache.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name, hidden=name in _HIDDEN)(found)
    return app


def semcache() -> None:
    """A semantic response cache in front of any LLM API."""
