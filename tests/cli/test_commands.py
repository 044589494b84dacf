"""The commands: what is listed, what a mistyped one is told, and that each loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cli.registry import PLACES, app_of

APART = """
import sys
from semcache.cli.registry import app_of

def loaded(*names):
    return sorted(name for name in names if name in sys.modules)

app_of(["keys"])
print(loaded("numpy", "fastapi", "semcache.app"))
app_of(["engine"])
print(loaded("torch", "numpy", "semcache.app"))
app_of(["serve", "worker"])
print(loaded("torch", "matplotlib", "pyarrow", "jinja2", "genai_prices", "semcache.evaluate", "semcache.advise", "semcache.review.web"))
"""


def test_all_are_listed_but_the_one_for_processes() -> None:
    told = CliRunner().invoke(app, ["--help"])
    assert told.exit_code == 0
    assert "A semantic response cache in front of any LLM API." in told.stdout
    listed = [line.split()[1] for line in told.stdout.splitlines() if line[:2] == "│ " and line[2] != " "]
    assert [name for name in listed if not name.startswith("-")] == [
        name for name in PLACES if name != "worker"
    ]


@pytest.mark.parametrize("name", PLACES)
def test_one_alone_is_what_it_is_among_all(name: str) -> None:
    alone, among = (CliRunner().invoke(one, [name, "--help"]) for one in (app_of([name]), app))
    assert alone.exit_code == among.exit_code == 0
    assert alone.stdout == among.stdout
    assert f"Usage: semcache {name}" in alone.stdout


def test_a_mistyped_one_is_told_what_comes_near() -> None:
    told = CliRunner().invoke(app, ["serv"])
    assert told.exit_code == 2
    assert "serve" in told.output


def test_none_loads_what_only_others_need() -> None:
    done = subprocess.run([sys.executable, "-c", APART], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "[]", "[]"]
