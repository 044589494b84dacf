"""`semcache warm` against a scripted engine and a real store: what is sent, what is shown, what is said when it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from semcache.answer.owners import Owners
from semcache.answer.warmbook import Remembered, dumps
from semcache.cli.commands import app
from semcache.core import TenantId
from semcache.errors import SemcacheError
from semcache.prefix_parts import OWNERS_FILE, installation_secret
from semcache.settings import Settings
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.warm_shelf import WarmShelf
from tests.fakes.upstream_server import Behaviour, ByRequest, Seen, UpstreamServer, in_thread, json_reply

HOUSE = {"role": "system", "content": "You work for the house."}


def engine(seen: Seen) -> Behaviour:
    """Behave as an engine; it refuses prompts that speak of trouble."""
    if seen.target == "/readyz":
        told = {"status": "ready", "pid": 7, "model": "local", "fingerprint": "fp", "active": 0, "queued": 0}
        return json_reply(told)
    assert seen.target == "/v1/prefix/warm"
    if "trouble" in seen.body.decode():
        return json_reply({"error": {"code": "context_length_exceeded", "message": "secret"}}, status=400)
    return json_reply({"tokens": 12, "computed": 9, "cached": 3, "digest": "d", "seconds": 0.25})


@pytest.fixture
def server() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(engine)) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    installation_secret(Settings(data=folder))
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["warm", "--data", "data", *arguments])


def problem(*arguments: str) -> str:
    error = run(*arguments).exception
    assert isinstance(error, SemcacheError), error
    return str(error)


def prompts(*bodies: Any) -> str:
    Path("prompts.jsonl").write_text("\n".join(json.dumps(body) for body in bodies) + "\n\n")
    return "prompts.jsonl"


def sent(server: UpstreamServer) -> list[Any]:
    return [seen.json() for seen in server.requests if seen.method == "POST"]


def test_prompts_of_a_file_are_prepared_as_requests_of_their_tenant(
    server: UpstreamServer, data: Path
) -> None:
    name = prompts(
        {"messages": [HOUSE], "prefix_cache": {"tenant": "theirs"}}, {"model": "x", "messages": [HOUSE]}
    )
    ended = run("--file", name, "--url", server.url)
    assert ended.exit_code == 0, ended.output
    assert "2 ready, 0 failed" in ended.stdout
    owners = Owners(installation_secret(Settings(data=data)))
    for body in sent(server):
        assert body["model"] == "local"
        assert body["prefix_cache"] == {
            "tenant": owners.tenant(TenantId("default")),
            "user": None,
            "public_messages": 0,
            "tenant_messages": 1,
        }


def test_one_failure_is_told_and_does_not_stop_the_rest(server: UpstreamServer, data: Path) -> None:
    name = prompts({"messages": [{"role": "system", "content": "trouble"}]}, {"messages": [HOUSE]})
    ended = run("--file", name, "--url", server.origin)
    assert ended.exit_code == 1
    assert "context_length_exceeded" in ended.stdout
    assert "1 ready, 1 failed" in ended.stdout
    assert "secret" not in ended.output
    told = json.loads(run("--file", name, "--url", server.url, "--json").stdout)
    assert [bool(row["problem"]) for row in told] == [True, False]
    assert told[1] | {"seconds": 0.25} == {
        "name": "prompts.jsonl:2",
        "tokens": 12,
        "computed": 9,
        "seconds": 0.25,
        "problem": "",
    }


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "prompts.jsonl:1: is not JSON"),
        ("[]", "should be a JSON object"),
        ("{}", "'messages' must be a non-empty array"),
        ('{"messages": ["x"]}', "must be an object with a role"),
        ("", "holds no chat body"),
    ],
)
def test_lines_that_are_no_chat_bodies(data: Path, line: str, says: str) -> None:
    Path("prompts.jsonl").write_text(line)
    assert says in problem("--file", "prompts.jsonl", "--url", "http://127.0.0.1:1")


def test_without_an_engine_it_says_how_to_get_one(server: UpstreamServer, data: Path) -> None:
    name = prompts({"messages": [HOUSE]})
    for arguments in (("--file", name), ("--now",), ("--file", name, "--url", "http://127.0.0.1:1")):
        told = problem(*arguments)
        assert "no engine is running here: start `semcache serve`" in told
        assert "--url" in told
    assert "http://127.0.0.1:1" in problem("--file", name, "--url", "127.0.0.1:1")
    assert "nowhere" in problem("--file", "nowhere")
    server.script = json_reply({"status": "loading"}, status=503)
    assert "loading" in problem("--file", name, "--url", server.url)


def test_a_directory_without_a_secret_is_not_given_one(server: UpstreamServer, data: Path) -> None:
    (data / OWNERS_FILE).unlink()
    assert "no proxy has run" in problem("--file", prompts({"messages": [HOUSE]}), "--url", server.url)
    assert not (data / OWNERS_FILE).exists()


def test_a_tenant_that_is_not_there_or_shares_nothing(server: UpstreamServer, data: Path) -> None:
    ended = run("--file", prompts({"messages": [HOUSE]}), "--url", server.url, "--tenant", "nobody")
    assert ended.exit_code == 1
    assert "no policy lets tenant nobody" in ended.stdout


def test_it_wants_to_know_what(data: Path) -> None:
    for arguments in ((), ("--top", "--now"), ("--top", "--file", "x")):
        assert run(*arguments).exit_code == 2


@pytest.fixture
def store(data: Path) -> Iterator[ValkeyChild]:
    child = ValkeyChild(data, ChildRules())
    asyncio.run(child.start())
    yield child
    asyncio.run(child.stop())


def test_what_is_remembered_is_listed_and_computed(
    server: UpstreamServer, data: Path, store: ValkeyChild
) -> None:
    assert "nothing is remembered" in run("--top").stdout
    assert "nothing is remembered" in run("--now", "--url", server.url).stdout
    body = {"model": "old", "messages": [{**HOUSE, "content": "You are [bold]brief[/bold]. " * 30}]}
    heads = [
        Remembered("a" * 32, 4.0, 1e9, json.dumps(body).encode()),
        Remembered("b" * 32, 9.0, 4e9, json.dumps({**body, "messages": [HOUSE]}).encode(), "f" * 64),
    ]
    asyncio.run(put(store.url, heads))
    ended = run("--top")
    assert ended.exit_code == 0, ended.output
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:]] == ["bbbbbbbb"]  # the other has faded
    asyncio.run(put(store.url, [Remembered(h.key, h.frequency, 4e9, h.body, h.owner) for h in heads]))
    ended = run("--top")
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:]] == ["aaaaaaaa", "bbbbbbbb"]
    assert "brief" not in ended.stdout
    assert "one key" in ended.stdout
    assert "[bold]brief[/bold]" in run("--top", "--show-text").stdout
    rows = json.loads(run("--top", "--json").stdout)
    assert [(row["prompt"], row["frequency"]) for row in rows] == [("aaaaaaaa", 4.0), ("bbbbbbbb", 9.0)]
    assert run("--now", "--url", server.url).exit_code == 0
    assert [body["prefix_cache"]["user"] for body in sent(server)] == [None, "f" * 64]
    assert {body["model"] for body in sent(server)} == {"local"}


async def put(url: str, heads: list[Remembered]) -> None:
    shelf = WarmShelf(url, LinkRules(deadline=5.0))
    assert await shelf.write(TenantId("default"), 0, dumps(heads))
    await shelf.aclose()


def test_without_a_store_it_says_where_it_looked(data: Path) -> None:
    told = problem("--top")
    assert "data" in told
    assert "semcache serve" in told
