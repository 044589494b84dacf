"""Wrong flags, files and addresses: one line, the right exit code, and what to do next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from semcache.cli.commands import app
from semcache.errors import SemcacheError


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Commands note the configuration file there, for the processes they start.
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    monkeypatch.delenv("SEMCACHE_CONFIG")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def problem(*arguments: str) -> str:
    """Give the named error that a command ends with; `main` prints it and exits with 1."""
    error = run(*arguments).exception
    assert isinstance(error, SemcacheError), error
    return str(error)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--upstream", "https://api.example.com/v2"), ("upstream", "must end in /v1")),
        (("--upstream", "api.example.com"), ("upstream", "https://api.openai.com/v1")),
        (("--upstream", "https://user:secret@api.example.com/v1"), ("upstream", "api_key")),
        (("--port", "99999"), ("port", "65535")),
        (("--workers", "0"), ("workers", "greater than 0")),
        (("--policies", "nowhere"), ("nowhere", "cannot be read as a directory")),
        (("--config", "nowhere.yaml"), ("nowhere.yaml", "cannot be read")),
        (("--host", "0.0.0.0"), ("refusing to listen on 0.0.0.0", "semcache keys new", "--policies")),
    ],
)
def test_serve_says_what_is_wrong(flags: tuple[str, ...], words: tuple[str, ...]) -> None:
    told = problem("serve", *flags)
    assert all(word in told for word in words), told
    assert "secret" not in told
    assert "\n" not in told


def test_serve_names_settings_that_do_not_exist_and_near_ones_that_do(here: Path) -> None:
    (here / "c.yaml").write_text(
        "prot: 1\nstore: {near_entry: 5}\nupstreams: {a: {base_url: 'http://x/v1', apikey: sk-secret}}\n"
    )
    told = problem("serve", "--config", "c.yaml")
    assert "c.yaml" in told
    for line in (
        "prot: there is no such setting; did you mean port?",
        "store.near_entry: there is no such setting; did you mean near_entries?",
        "upstreams.a.apikey: there is no such setting; did you mean api_key?",
    ):
        assert line in told
    assert "sk-secret" not in told


@pytest.mark.parametrize("part", ["ENCODER__LATIN", "ENCODER__MULTILINGUAL", "ENGINE__MODEL"])
def test_serve_wants_model_folders_that_are_there(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setenv(f"SEMCACHE_{part}", "/nowhere/model")
    assert "/nowhere/model" in problem("serve")


@pytest.mark.parametrize("content", ["a: [", "- 1\n- 2\n", "\x00"])
def test_serve_says_where_a_file_is_no_configuration(here: Path, content: str) -> None:
    (here / "c.yaml").write_text(content)
    assert "c.yaml" in problem("serve", "--config", "c.yaml")


@pytest.mark.parametrize("command", [("list",), ("show", "x"), ("delete", "x")])
def test_entries_without_a_store_say_where_they_looked(command: tuple[str, ...]) -> None:
    told = problem("entries", *command, "--data", "elsewhere")
    assert "elsewhere" in told
    assert "semcache serve" in told


def test_delete_wants_to_know_what() -> None:
    for arguments in ((), ("--all", "--tag", "x")):
        ended = run("entries", "delete", *arguments)
        assert ended.exit_code == 2


def test_explain_without_a_proxy_says_how_to_start_one() -> None:
    assert "semcache serve" in problem("explain", "Hello?", "--url", "http://127.0.0.1:1")
    assert "http://127.0.0.1:1" in problem("explain", "Hello?", "--url", "127.0.0.1:1")
    assert "nowhere.json" in problem("explain", "--request", "nowhere.json")
    assert run("explain").exit_code == run("explain", "Hello?", "--request", "x.json").exit_code == 2


def test_policy_commands_name_the_tenants_there_are(here: Path) -> None:
    for command in ("explain", "test"):
        told = problem("policy", command, "--tenant", "nobody")
        assert "nobody" in told
        assert "default" in told


def test_policy_check_tells_every_mistake_and_fails(here: Path) -> None:
    folder = here / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text(
        "schema_version: 1\ntenant: a\ndefault_domain: x\ndomains: {chat: {tll: 5}}\n"
    )
    ended = run("policy", "check", "policies")
    assert ended.exit_code == 1
    assert "a.yaml:4" in ended.stdout
    assert "tll" in ended.stdout


def test_keys_are_shown_once_with_the_line_for_the_policy() -> None:
    import hashlib

    ended = run("keys", "new", "website")
    key = ended.stdout.splitlines()[0].partition(":")[2].strip()
    assert hashlib.sha256(key.encode()).hexdigest() in ended.stdout
    assert "name: website" in ended.stdout
    again = CliRunner().invoke(app, ["keys", "hash"], input=key + "\n")
    assert hashlib.sha256(key.encode()).hexdigest() in again.stdout


def test_the_configuration_file_reaches_child_processes(here: Path) -> None:
    (here / "c.yaml").write_text("log_requests: false\n")
    problem("entries", "list", "--data", "elsewhere", "--config", "c.yaml")
    assert os.environ["SEMCACHE_CONFIG"] == str(here / "c.yaml")
