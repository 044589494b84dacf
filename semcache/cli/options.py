"""Options that several commands share, and the settings made from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from semcache.settings import Settings, load_settings

Data = Annotated[
    Path | None, typer.Option(help="Data directory: models, entries, logs. [default: ./semcache-data]")
]
Policies = Annotated[
    Path | None, typer.Option(help="Directory of policy files, one a tenant. [default: the built-in policy]")
]
Config = Annotated[Path | None, typer.Option(help="YAML file with settings.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def settings_from(config: Path | None, **flags: object) -> Settings:
    """Build the settings; the config file stays known to child processes by its variable."""
    if config is not None:
        os.environ["SEMCACHE_CONFIG"] = str(config.absolute())
    return load_settings(flags)
