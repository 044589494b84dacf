"""All commands in one app: what `semcache --help` shows. Takes seconds to load, and most of them are not needed by most calls."""

from __future__ import annotations

from semcache.cli.registry import PLACES, app_of

app = app_of(PLACES)
