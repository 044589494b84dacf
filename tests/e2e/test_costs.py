"""Costs of a running proxy: what calls and hits come to is the same on the command line, over the API and in the file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cost.report import money_text
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import ByRequest, Seen, chat_body, in_thread, json_reply

USED = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {"cached_tokens": 600},
}
BILLED, PLAIN = 2_750, 3_500
"""Micro-USD of that by gpt-4o's list: 2.50 and (cached) 1.25 for a million tokens of input, 10 of output."""
_LINK = re.compile(r"review answers on\s+(http://[^/\s]+)/login#token=(\S+)")


def answering(seen: Seen) -> object:
    if not seen.body:
        return json_reply({"object": "list", "data": []})
    return json_reply(chat_body(f"Answer to {seen.json()['messages'][-1]['content']}", usage=USED))


def policies(folder: Path) -> Path:
    folder.mkdir()
    digest = hashlib.sha256(b"sk-acme").hexdigest()
    (folder / "acme.yaml").write_text(
        "schema_version: 1\ntenant: acme\n"
        f'access: {{keys: [{{name: main, hash: "sha256:{digest}"}}]}}\n'
        "default_domain: chat\ndomains: {chat: {mode: exact}}\n"
        "costs: {budgets: [{name: all, window: month, hard_usd: 1, unknown_price: allow}]}\n"
    )
    return folder


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("costs")
    with in_thread(ByRequest(answering)) as upstream:
        arguments = (
            "--upstream",
            upstream.url,
            "--policies",
            str(policies(folder / "policies")),
            "--admin-port",
            "0",
        )
        with running(folder / "data", *arguments) as started:
            yield started


def ask(proxy: Proxy, question: str, project: str, model: str = "gpt-4o") -> str:
    head = {"authorization": "Bearer sk-acme", "semcache-labels": f"project={project}, env=prod"}
    return proxy.chat(question, head, model=model).headers["semcache-outcome"]


def report(proxy: Proxy, *more: str) -> str:
    """What `semcache report cost` prints (in this process: it starts faster)."""
    ended = CliRunner().invoke(app, ["report", "cost", "--data", str(proxy.data), *more])
    assert ended.exit_code == 0, ended.exception
    return ended.stdout


def api(proxy: Proxy, path: str) -> bytes:
    found = _LINK.search(" ".join("".join(proxy.stderr).split()))
    assert found is not None, proxy.stderr
    request = urllib.request.Request(
        f"{found[1]}/v1/tenants/acme/{path}", headers={"authorization": f"Bearer {found[2]}"}
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        body: bytes = reply.read()
    return body


def test_calls_and_hits_come_to_the_same_everywhere(proxy: Proxy) -> None:
    asked = [(f"Question {n}?", "web" if n < 4 else "app") for n in range(5)]
    assert [ask(proxy, *one) for one in asked] == ["miss"] * 5
    assert [ask(proxy, *one) for one in asked[:4]] == ["exact"] * 4
    ask(proxy, "Who are you?", "web", model="nobody-knows")

    def told() -> dict[str, Any]:
        return dict(json.loads(api(proxy, "costs?by=project")))

    proxy.wait_until(lambda: told()["total"]["requests"] == 10, 30)
    whole, groups = told()["total"], {group["project"]: group for group in told()["groups"]}
    assert (whole["hits"], whole["unpriced"], whole["tokens"]["cached"]) == (4, 1, 3_600)
    assert (whole["paid"], whole["without_caches"]) == (5 * BILLED, 5 * PLAIN + 4 * BILLED)
    assert whole["saved"]["response_cache"] == 4 * BILLED
    assert whole["saved"]["provider_cache"] == 5 * (PLAIN - BILLED)
    assert (groups["app"]["paid"], groups["app"]["hits"], groups["web"]["requests"]) == (BILLED, 0, 9)

    assert json.loads(report(proxy, "--json", "--by", "project"))["total"] == whole
    assert f"saved {money_text(whole['saved']['total'])}" in report(proxy)
    for text in (report(proxy, "--csv", "-"), api(proxy, "costs.csv").decode()):
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert sum(Decimal(row["BilledCost"]) for row in rows if row["BilledCost"]) * 10**6 == whole["spent"]
        assert {row["Tags"] for row in rows} == {
            f'{{"project": "{name}", "environment": "prod"}}' for name in ("web", "app")
        }
        assert [row["BilledCost"] for row in rows if row["SkuId"] == "nobody-knows"] == [""]

    (budget,) = json.loads(api(proxy, "budgets"))["budgets"]
    assert (budget["spent"], budget["held"]) == (5 * BILLED, 0)
    for path in ("alarms", "prefixes"):
        assert json.loads(api(proxy, path))
