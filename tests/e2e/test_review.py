"""Verdicts through the admin API, as they bear on what a running proxy serves. Real processes, real Valkey."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import UpstreamServer

_LINK = re.compile(r"review answers on\s+(http://[^/\s]+)/login#token=(\S+)")
WITHIN = 1.0
"""Seconds within which a verdict bears on what is served."""


@dataclass
class Admin:
    """The admin API of a running proxy."""

    url: str
    token: str

    def ask(
        self, method: str, path: str, body: Any = None, etag: str = ""
    ) -> tuple[int, dict[str, str], Any]:
        head = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        if etag:
            head["if-match"] = etag
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return reply.status, _head(reply), json.loads(reply.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, _head(error), json.loads(error.read() or b"null")

    def settle(self, entry: str, **verdict: Any) -> dict[str, Any]:
        place = f"/v1/tenants/default/entries/{entry}"
        status, head, _ = self.ask("GET", place)
        assert status == 200
        status, _, told = self.ask("POST", f"{place}/verdicts", verdict, head["etag"])
        assert status == 200, told
        return dict(told)


def _head(reply: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in reply.headers.items()}


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("review")
    with running(folder / "data", "--upstream", upstream.url, "--admin-port", "0") as started:
        yield started


@pytest.fixture
def admin(proxy: Proxy) -> Admin:
    return admin_of(proxy)


def admin_of(proxy: Proxy) -> Admin:
    proxy.wait_until(lambda: _LINK.search("".join(proxy.stderr)) is not None)
    found = _LINK.search("".join(proxy.stderr))
    assert found is not None
    return Admin(found[1], found[2])


def took(check: Callable[[], bool]) -> float:
    """Give the seconds until something holds; it must within `WITHIN`."""
    began = time.monotonic()
    while not check():
        assert time.monotonic() - began < WITHIN, "a verdict took too long to bear"
        time.sleep(0.005)
    return time.monotonic() - began


def stored(proxy: Proxy, question: str) -> str:
    """Ask until the cache answers; gives the entry's id."""
    proxy.chat(question)
    proxy.wait_until(lambda: proxy.outcome(question) == "exact")
    return proxy.chat(question).headers["semcache-entry"]


def test_an_edit_is_served_everywhere_within_a_second(proxy: Proxy, admin: Admin) -> None:
    question = "What is the capital of Australia?"
    entry = stored(proxy, question)
    told = admin.settle(entry, verdict="edit", text="Canberra, says a human.")
    took(lambda: proxy.chat(question).text == "Canberra, says a human.")
    assert told["entry"]["status"] == "edited"
    reply = proxy.chat(question)
    assert reply.headers["semcache-entry"] == entry
    assert reply.headers["semcache-verified"] == "?1"
    streamed = proxy.chat(question, stream=True)
    assert streamed.headers["semcache-outcome"] == "exact"
    assert "says" in streamed.body.decode()
    assert "[DONE]" in streamed.body.decode()


def test_from_the_command_line(proxy: Proxy) -> None:
    question = "How deep is the Mariana Trench?"
    entry = stored(proxy, question)

    def whole(*words: str, status: int = 0) -> Any:
        """In a process of its own, as people do."""
        command = [sys.executable, "-m", "semcache", "review", *words, "--data", str(proxy.data), "--json"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    def review(*words: str) -> Any:
        """In this process: it starts faster."""
        done = CliRunner().invoke(app, ["review", *words, "--data", str(proxy.data), "--json"])
        assert done.exit_code == 0, done.exception
        return json.loads(done.stdout)

    assert whole("show", entry)["entry"]["question"] == question
    assert (
        review("edit", entry, "--text", "Eleven kilometres.", "--note", "by hand")["line"]["what"] == "edit"
    )
    took(lambda: proxy.chat(question).text == "Eleven kilometres.")
    assert review("bar", entry)["entry"]["barred"] == ["*"]
    took(lambda: proxy.chat(question).headers.get("semcache-entry") != entry)
    lines = review("log", "--limit", "2")["lines"]
    assert [line["what"] for line in lines] == ["bar", "edit"]
    assert lines[0]["who"].startswith("cli:")
    assert review("check")["whole"]
    assert "no such entry" in whole("approve", "nothing", status=1)


def test_an_approval_shows_and_is_taken_back(proxy: Proxy, admin: Admin) -> None:
    question = "How many legs has a spider?"
    entry = stored(proxy, question)
    assert "semcache-verified" not in proxy.chat(question).headers
    admin.settle(entry, verdict="approve")
    took(lambda: proxy.chat(question).headers.get("semcache-verified") == "?1")
    admin.settle(entry, verdict="reopen")
    took(lambda: "semcache-verified" not in proxy.chat(question).headers)


@pytest.mark.parametrize(
    "verdict", [{"verdict": "reject"}, {"verdict": "bar", "asked": "*"}, {"verdict": "purge"}]
)
def test_what_is_wrong_is_not_served_again(proxy: Proxy, admin: Admin, verdict: dict[str, Any]) -> None:
    question = f"Why is the sky {verdict['verdict']} blue?"
    entry = stored(proxy, question)
    admin.settle(entry, **verdict)
    took(lambda: proxy.chat(question).headers.get("semcache-entry") != entry)


def test_an_invalidation_reaches_what_is_served(proxy: Proxy, admin: Admin) -> None:
    question = "Which river is the longest?"
    entry = stored(proxy, question)
    place = "/v1/tenants/default/invalidations"
    assert admin.ask("POST", place, {"ids": [entry]})[2]["count"] == 1
    assert proxy.outcome(question) == "exact", "that was a dry run"
    assert admin.ask("POST", place, {"ids": [entry], "dry_run": False})[2]["count"] == 1
    took(lambda: proxy.chat(question).headers.get("semcache-entry") != entry)


def test_the_log_holds_who_did_what_and_no_text(proxy: Proxy, admin: Admin) -> None:
    entry = stored(proxy, "What weighs a litre of zirconium oxide?")
    admin.settle(entry, verdict="edit", text="A great deal of zirconium.", note="checked")
    status, _, page = admin.ask("GET", "/v1/tenants/default/log?limit=5")
    assert status == 200
    assert (page["lines"][0]["who"], page["lines"][0]["what"], page["lines"][0]["note"]) == (
        "local",
        "edit",
        "checked",
    )
    assert "zirconium" not in json.dumps(page)
    assert admin.ask("GET", "/v1/tenants/default/log/check")[2] == {"whole": True, "first_broken": None}
    status, _, found = admin.ask("GET", "/v1/tenants/default/entries?text=ZIRCONIUM&status=edited")
    assert [one["id"] for one in found["entries"]] == [entry]


def test_the_pages_and_the_proxy_live_apart(proxy: Proxy, admin: Admin) -> None:
    question = "Who wrote the Odyssey?"
    entry = stored(proxy, question)
    admin.settle(entry, verdict="edit", text="Homer, it is said.")
    child = proxy.child("semcache admin")
    loaded = {Path(one.path).name for one in child.memory_maps()}
    for heavy in ("libtorch", "_swigfaiss", "libfaiss", "onnxruntime"):
        assert not [name for name in loaded if name.startswith(heavy)], f"the admin process loads {heavy}"
    child.kill()
    assert proxy.chat(question).text == "Homer, it is said."
    proxy.wait_until(lambda: _alive(admin))
    assert proxy.child("semcache admin").pid != child.pid
    assert admin.ask("GET", f"/v1/tenants/default/entries/{entry}")[2]["text"] == "Homer, it is said."


def _alive(admin: Admin) -> bool:
    try:
        return admin.ask("GET", "/v1/me")[0] == 200
    except OSError:
        return False


def test_it_ends_with_its_parent_and_a_named_port_that_is_taken_is_an_error(
    upstream: UpstreamServer, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "semcache", "serve", "--data", str(tmp_path / "x"), "--port", "0"]
        refused = subprocess.run(
            [*command, "--upstream", upstream.url, "--admin-port", port],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode == 1
        assert f"cannot listen on 127.0.0.1:{port} for review" in refused.stderr
    with running(tmp_path / "data", "--upstream", upstream.url, "--admin-port", "0") as started:
        admin = admin_of(started)
        started.wait_until(lambda: _alive(admin))
        child = started.child("semcache admin")
        assert started.process is not None
        started.process.kill()
        psutil.wait_procs([child], timeout=15)
        assert not child.is_running()
        started.process.wait()


def test_no_pages_where_they_are_switched_off(upstream: UpstreamServer, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url, SEMCACHE_ADMIN__ENABLED="false") as started:
        assert "review answers" not in "".join(started.stderr)
        with pytest.raises(AssertionError, match="no child"):
            started.child("semcache admin")


@pytest.mark.event(39)
def test_exposed_without_a_token_nothing_starts(upstream: UpstreamServer, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "semcache", "admin", "--host", "0.0.0.0", "--data", str(tmp_path)]
    refused = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert "refusing to open the review pages on 0.0.0.0" in refused.stderr
