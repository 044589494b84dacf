"""docs/runbook.md can be followed: every alert has its line, every command and option exists, every link leads there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml
from typer.main import get_command

from semcache.cli.commands import app
from tests.house.test_security_page import anchors

ROOT = Path(__file__).parents[2]
PAGES = [
    "docs/runbook.md",
    "docs/security.md",
    "docs/archive.md",
    "docs/deployment.md",
    "docs/encoders.md",
    "README.md",
]
RUNBOOK = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"(?:^|\$ |`)semcache ((?:[a-z][a-z-]* ?){1,2})([^`\n#]*)", re.M)


@cache
def known() -> dict[str, set[str]]:
    """Every command, and its options."""
    found: dict[str, set[str]] = {}

    def walk(command: object, path: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is not None:
            for name, child in inner.items():
                walk(child, f"{path} {name}".strip())
        else:
            found[path] = {word for each in command.params for word in each.opts}  # type: ignore[attr-defined]

    walk(get_command(app), "")
    return found


def called(text: str) -> list[tuple[str, list[str]]]:
    """The commands that a page tells to type: the words before the first argument, and the options."""
    return [(words.strip(), re.findall(r"(?<!\S)(--[a-z-]+)", rest)) for words, rest in COMMAND.findall(text)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    calls = called((ROOT / page).read_text(encoding="utf-8"))
    assert calls
    for words, options in calls:
        first, _, second = words.partition(" ")
        name = words if words in known() else first
        groups = {path.split()[0] for path in known() if " " in path}
        assert name in known() or (name in groups and not second), f"{page}: semcache {words}"
        for option in options:
            assert option in known().get(name, set()), f"{page}: semcache {words} {option}"


def test_a_wrong_command_would_be_seen() -> None:
    assert called("`semcache review quue --tenant x`") == [("review quue", ["--tenant"])]
    assert "review quue" not in known()
    assert "review queue" in known()
    assert isinstance(app, typer.Typer)


def test_every_alert_has_its_line() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/semcache-rules.yml").read_text(encoding="utf-8"))
    names = {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}
    table = RUNBOOK.partition("## Alarms one by one")[2].partition("\n## ")[0]
    assert names
    assert set(re.findall(r"`(Semcache\w+)`", table)) == names


def test_links_lead_to_their_place() -> None:
    found = re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", RUNBOOK)
    assert len(found) > 20
    for page, place in found:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else RUNBOOK
        assert place in anchors(text), f"{page}#{place}"


def test_metrics_that_it_looks_at_exist() -> None:
    documented = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`(semcache_[a-z_]+)", RUNBOOK)):
        assert name.removesuffix("_total") in documented, name
