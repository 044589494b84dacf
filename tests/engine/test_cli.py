"""The command line: what it refuses, and that it serves."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from semcache.cli.engine import engine


@pytest.fixture
def app() -> typer.Typer:
    found = typer.Typer()
    found.command()(engine)
    return found


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--socket", "/tmp/x.sock", "--port", "1"],
        ["--port", "70000"],
        ["--port", "0", "--threads", "0"],
        ["--port", "0", "--temperature", "3"],
    ],
)
def test_impossible_options_are_refused(app: typer.Typer, tmp_path: Path, options: list[str]) -> None:
    assert CliRunner().invoke(app, ["--model", str(tmp_path), *options]).exit_code == 2


def test_a_place_that_cannot_be_listened_on_is_said_in_one_line(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    found = CliRunner().invoke(app, ["--model", str(tmp_path), "--socket", str(tmp_path / "taken")])
    assert found.exit_code == 1
    assert "is no socket" in found.output
