"""`semcache eval` as it is typed: files in, tables and JSON out, mistakes told, bounds kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cli.eval_screen import learn_table, stream_table, with_value
from semcache.errors import SemcacheError
from tests.e2e.running import models_folder

PAIRS = [
    {
        "a": "How do I reset my password?",
        "b": "How can I reset my password?",
        "same": True,
        "category": "wording",
    },
    {
        "a": "How do I reset my password?",
        "b": " How do I  reset my password?\n",
        "same": True,
        "category": "blanks",
    },
    {"a": "How long is a 5 km run?", "b": "How long is an 8 km run?", "same": False, "category": "number"},
    {"a": "怎么修改收货地址？", "b": "如何修改收货地址？", "same": True},
    {
        "a": "How do I boil an egg?",
        "b": "Who painted the chapel's ceiling?",
        "same": False,
        "domain": "cooking",
    },
]
CHATS = [
    {
        "turns_a": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PAIRS[0]["a"]}],
        "turns_b": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PAIRS[0]["b"]}],
        "same": True,
    },
]
QUESTIONS = [
    {"text": "How do I reset my password?", "cls": "password"},
    {"text": "How can I reset my password?", "cls": "password"},
    {"text": "Where is the parcel?", "cls": "parcel"},
]
POLICY = """
schema_version: 1
tenant: desk
access: {keys: [], anonymous: loopback}
default_domain: help
defaults: {mode: semantic, ttl: 1h, verifier: {enabled: false}}
domains: {help: {threshold: 0.85}}
classifier: {enabled: false}
"""
"""What it serves rests on vectors and gate alone."""


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    monkeypatch.delenv("SEMCACHE_CONFIG")
    write(tmp_path / "pairs.jsonl", PAIRS)
    (tmp_path / "desk.yaml").write_text(POLICY)
    return tmp_path


def problem(*arguments: str) -> str:
    error = CliRunner().invoke(app, ["eval", *arguments]).exception
    assert isinstance(error, SemcacheError), error
    return str(error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pairs", "missing.jsonl"), "missing.jsonl: cannot be read: No such file"),
        (("stream", "pairs.jsonl"), "pairs.jsonl:1: has no 'text'"),
        (("chats", "pairs.jsonl"), "pairs.jsonl:1: has no 'turns_a'"),
        (("pairs", "pairs.jsonl", "--baseline", "faiss"), "there is no baseline 'faiss'; there are: static"),
        (("pairs", "pairs.jsonl", "--policy", "nowhere.yaml"), "nowhere.yaml"),
        (("pairs", "pairs.jsonl", "--tenant", "nobody"), "no file speaks for tenant nobody"),
        (("pairs", "pairs.jsonl", "--plot", "curve.pdf"), "a plot ends in .png or .svg"),
        (("pairs", "pairs.jsonl", "--json", "nowhere/x.json"), "there is no such directory"),
        (("pairs", "pairs.jsonl", "--data", "nowhere"), "semcache models fetch"),
    ],
)
@pytest.mark.usefixtures("here")
def test_mistakes_are_told_before_anything_is_measured(arguments: tuple[str, ...], words: str) -> None:
    told = problem(*arguments)
    assert words in told
    assert "password" not in told


def test_wrong_usage_ends_with_2(here: Path) -> None:
    for arguments in (
        ["pairs"],
        ["pairs", "pairs.jsonl", "--max-trap-rate", "2"],
        ["pairs", "pairs.jsonl", "--limit", "-1"],
        ["stream", "pairs.jsonl", "--learn", "--per-day", "0"],
        ["stream", "pairs.jsonl", "--learn", "--passes", "0"],
        ["stream", "pairs.jsonl", "--learn", "--budget", "0"],
    ):
        assert CliRunner().invoke(app, ["eval", *arguments]).exit_code == 2
    assert (here / "pairs.jsonl").stat().st_size > 0


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["a.jsonl", "--json"], ["a.jsonl", "--json", "-"]),
        (["--json", "--seed", "1"], ["--json", "-", "--seed", "1"]),
        (["--json", "a.jsonl"], ["--json", "-", "a.jsonl"]),
        (["--json", "-", "a.jsonl"], ["--json", "-", "a.jsonl"]),
        (["--json", "out.json"], ["--json", "out.json"]),
        (["a.jsonl"], ["a.jsonl"]),
    ],
)
def test_json_alone_means_stdout(given: list[str], meant: list[str]) -> None:
    assert with_value(given) == meant


def test_tables_name_files_as_shortly_as_they_can_be_told_apart() -> None:
    def names(*files: str) -> list[str]:
        records = [{"file": f, "judge": "x", "n": 1, "hits": 0, "wrong": 0} for f in files]
        return list(stream_table(records).columns[0].cells)

    assert names("one/a.jsonl", "two/b.jsonl", "two/b.jsonl") == ["a.jsonl", "b.jsonl", "b.jsonl"]
    assert names("one/a.jsonl", "two/a.jsonl") == ["one/a.jsonl", "two/a.jsonl"]


def test_what_evidence_made_of_a_stream_is_a_row_an_allowance_and_pass() -> None:
    little = {"state": "open", "cut": 0.9, "labels": 1, "wrong_labels": 1, "would_be": 1}
    much = {"state": "thin", "cut": None, "labels": 7, "wrong_labels": 2, "would_be": 9}
    one = {"n": 10, "hits": 4, "exact": 2, "wrong": 1, "domains": {"a": little, "b": much}}
    bare = {"n": 10, "hits": 4, "exact": None, "wrong": 1}
    ways = [
        {"way": "own evidence", "budget": 0.02, "passes": [one]},
        {"way": "static:0.9", "budget": None, "passes": [bare, bare]},
    ]
    records = [{"file": "x/a.jsonl", "judge": "semcache", "learn": {"ways": ways}}, {"file": "x/a.jsonl"}]
    rows = list(zip(*(column.cells for column in learn_table(records).columns), strict=True))
    assert [row[:4] for row in rows] == [
        ("a.jsonl", "own evidence", "2 %", "1"),
        ("a.jsonl", "static:0.9", "-", "1"),
        ("a.jsonl", "static:0.9", "-", "2"),
    ]
    assert [row[7].split(" (")[0] for row in rows] == ["50.0 %", "25.0 %", "25.0 %"]
    assert [row[8:] for row in rows] == [("thin", "-", "7", "2"), ("-",) * 4, ("-",) * 4]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "semcache", "eval", *arguments, "--data", str(models_folder().parent)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=170, check=False
    )


def test_pairs_with_the_real_encoders(here: Path) -> None:
    write(here / "more.jsonl", PAIRS[:1])
    ended = run(
        here, "pairs", "pairs.jsonl", "more.jsonl", "--baseline", "gptcache", "--json", "-", "--plot", "curve.svg",
        "--categories", "--max-trap-rate", "0", "--min-good-rate", "0.99", "--policy", "desk.yaml",
    )  # fmt: skip
    records = json.loads(ended.stdout)
    ours = {(r["file"], r["category"]): r for r in records if r["judge"] == "semcache"}
    assert list(ours) == [
        ("pairs.jsonl", ""), ("pairs.jsonl", "blanks"), ("pairs.jsonl", "number"), ("pairs.jsonl", "wording"),
        ("more.jsonl", ""), ("more.jsonl", "wording"),
    ]  # fmt: skip
    whole = ours["pairs.jsonl", ""]
    assert (whole["n_same"], whole["n_trap"], whole["served_trap"]) == (3, 2, 0)
    assert ours["pairs.jsonl", "blanks"]["exact_same"] == ours["pairs.jsonl", "blanks"]["served_same"] == 1
    assert ours["more.jsonl", ""]["served_same"] == 1
    assert 0 < whole["decision_ms"]["p50"] <= whole["decision_ms"]["p99"]
    peers = [r for r in records if r["judge"] == "gptcache" and not r["category"]]
    assert [(r["served_same"], r["served_trap"]) for r in peers] == [(3, 1), (1, 0)]
    assert (here / "curve.svg").read_bytes().startswith(b"<?xml")
    told = [line for line in ended.stderr.splitlines() if line.startswith("not held: ")]
    assert bool(told) == (ended.returncode == 1)
    assert all("pairs.jsonl" in line for line in told)


@pytest.mark.slow
def test_streams_and_chats_with_the_real_encoders(here: Path) -> None:
    write(here / "questions.jsonl", QUESTIONS)
    write(here / "chats.jsonl", CHATS)
    own = ("--policy", "desk.yaml")
    ended = run(
        here, "stream", "questions.jsonl", "--seed", "3", "--json", "out.json", "--min-hit-rate", "1",
        "--learn", "--passes", "2", *own,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "not held: questions.jsonl: hits 33.33% (1 of 3) < 100.00%" in ended.stderr
    (record,) = json.loads((here / "out.json").read_text())
    assert (record["n"], record["hits"], record["wrong"], record["seed"]) == (3, 1, 0, 3)
    assert record["curve"][-1] == [3, 1, 0]
    ways = {way["way"]: way["passes"] for way in record["learn"]["ways"]}
    assert [one["exact"] for one in ways["unbounded"]] == [0, 2]
    assert "own evidence" in ended.stdout
    assert "questions.jsonl" in ended.stdout
    ended = run(here, "chats", "chats.jsonl", *own, "--json")
    assert ended.returncode == 0, ended.stderr
    (record,) = json.loads(ended.stdout)
    assert (record["file"], record["n_same"], record["served_same"]) == ("chats.jsonl", 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_told_to_end_it_leaves_nothing_behind(here: Path, number: signal.Signals, code: int) -> None:
    rows = [
        {"a": f"How do I open gate {n}?", "b": f"How can I open gate {n}?", "same": True}
        for n in range(20_000)
    ]
    write(here / "many.jsonl", rows)
    with tempfile.TemporaryDirectory(prefix="eval-") as folder:
        command = [sys.executable, "-m", "semcache", "eval", "pairs", "many.jsonl"]
        with subprocess.Popen(
            [*command, "--data", str(models_folder().parent)],
            cwd=here,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stderr is not None
            while "20000 rows" not in (line := running.stderr.readline()):
                assert line, "it ended early"
            assert len(list(Path(folder).iterdir())) == 1
            running.send_signal(number)
            assert running.wait(30) == code
        assert list(Path(folder).iterdir()) == []
