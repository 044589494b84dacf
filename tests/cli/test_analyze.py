"""`semcache analyze` as it is typed: logs in, a report, JSON or a page out; mistakes told."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from semcache.advise.analysis import AnalysisOrder, advised
from semcache.advise.findings import Head
from semcache.advise.pricing import Pricing
from semcache.cli.analyze_screen import report_of
from semcache.cli.commands import app
from semcache.cost.prices import PriceBook
from semcache.cost_port import Cause, LintFinding
from semcache.errors import SemcacheError
from semcache.policy.loader import load_default
from tests.advise.found import domain, findings, semantic
from tests.advise.reading_parts import written

NOON = 1767355200


def log(folder: Path, lines: int = 40) -> Path:
    rows = [
        {
            "ts": NOON + number,
            "model": "gpt-4o",
            "temperature": 0,
            "messages": [
                {"role": "system", "content": "Be kind. " * 200},
                {"role": "user", "content": f"question number {number % 8}"},
            ],
            "response": "An answer.",
        }
        for number in range(lines)
    ]
    return written(folder, "log.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def typed(*words: object) -> Result:
    return CliRunner().invoke(app, ["analyze", *map(str, words)])


def test_a_report_is_shown_and_its_progress_apart(tmp_path: Path) -> None:
    done = typed(log(tmp_path), "--no-semantic")
    assert done.exit_code == 0, done.output
    for words in ("Read", "Money and tokens", "Shared beginnings", "Exact repeats", "Cache sizes", "Advice"):
        assert f"\n{words}\n" in done.stdout
    assert "32 of 40 requests (80 %) repeat an earlier one" in done.stdout
    assert "reading" in done.stderr
    assert "reading" not in done.stdout
    assert "question number" not in done.output, "no words of the log"
    assert not re.search(r" {150}\n", done.stdout), "lines are not filled up to the width of no terminal"


def test_json_is_one_object_on_stdout(tmp_path: Path) -> None:
    done = typed(log(tmp_path), tmp_path / "none", "--no-semantic", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["exact"]["hits"] == 32
    assert told["reading"]["skipped"] == 1
    assert told["reading"]["examples"] == [f"{tmp_path}/none: there is no such file"]
    assert told["semantic"] is None


def test_files_are_written(tmp_path: Path) -> None:
    page, policy = tmp_path / "report.html", tmp_path / "policy.yaml"
    done = typed(log(tmp_path), "--no-semantic", "--no-lint", "--html", page, "--policy-out", policy)
    assert done.exit_code == 0, done.output
    assert page.read_text().lower().startswith("<!doctype html>")
    again = typed(log(tmp_path), "--no-semantic", "--no-lint", "--policies", policy)
    assert again.exit_code == 0, "the proposal is a policy file"


def test_standard_input_and_limit(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "semcache", "analyze", "-", "--no-semantic", "--limit", "10", "--json"],
        input=log(tmp_path).read_bytes(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    told = json.loads(done.stdout)
    assert (told["reading"]["rows"], told["reading"]["limited"]) == (10, True)


def test_nothing_to_read_ends_with_one_and_says_why(tmp_path: Path) -> None:
    done = typed(tmp_path / "none", written(tmp_path, "x.jsonl", "junk {\n"), "--no-semantic")
    assert done.exit_code == 1
    assert isinstance(done.exception, SemcacheError)
    assert "there is no such file" in str(done.exception)
    assert "x.jsonl" in str(done.exception)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "xml"), "is none of"),
        (("--html", "/no/such/folder/x.html"), "no such directory"),
        (("--policy-out", "/no/such/folder/x.yaml"), "no such directory"),
        (("--policies", "/no/such/file.yaml"), "/no/such/file.yaml"),
        (("--tenant", "nobody"), "nobody"),
        (("--prices", "/no/such/prices.yaml"), "prices.yaml"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_mistakes_are_told_before_anything_is_read(words: tuple[str, str], told: str, tmp_path: Path) -> None:
    done = typed(log(tmp_path), "--no-semantic", *words)
    assert done.exit_code == 1
    assert told in str(done.exception)


def test_told_to_end_it_leaves_no_file_behind(tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe", tmp_path / "temporary"
    os.mkfifo(pipe)
    folder.mkdir()
    command = [sys.executable, "-m", "semcache", "analyze", str(pipe), "--no-semantic"]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}, stderr=subprocess.PIPE)
    with pipe.open("w") as writing:
        writing.write("{}\n" * 100_000)
        writing.flush()
        limit = time.monotonic() + 60
        while not any(folder.rglob("0")) and time.monotonic() < limit:
            time.sleep(0.05)
        assert any(folder.rglob("0")), "a pipe is written down"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    process.communicate()
    assert list(folder.iterdir()) == []


def test_every_part_of_the_findings_is_shown() -> None:
    snapshot = load_default()
    order = AnalysisOrder((), snapshot, snapshot.tenants[0])
    lint = LintFinding(
        "t", 1, "g", Cause.TIME, "system", 10, 3, "00:00", 10, 8, 800, 40, "round it [bold]", "m"
    )
    head = Head("00ff", "system", 900, 17, "gpt-4o", "")
    made = findings(semantic(domain()))
    made = replace(made, lint=(lint,), overlap=replace(made.overlap, heads=(head,), forgotten=5))
    made = advised(made, order, Pricing(PriceBook()))
    console = Console(width=300, record=True, file=io.StringIO())
    for part in report_of(made):
        console.print(part)
    text = console.export_text()
    for words in (
        "Asked again of the real pipeline",
        "What keeps beginnings from being reused",
        "round it [bold]",
        "8 of 10",
        "00ff",
        "at least 60 %",
        "5 blocks were forgotten",
        "3 skipped, by reason:",
        "log.jsonl:7: is no JSON",
        "in thirty days",
        "--policy-out",
    ):
        assert words in text, words
