"""Trimmed histories and batches through a running proxy, in front of a scripted upstream."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.running import Proxy, calm_policies, running
from tests.fakes.upstream_server import ByRequest, Seen, UpstreamServer, chat_json

SUMMARY = "They spoke of numbers."


def history(turns: int) -> list[Any]:
    said: list[Any] = [{"role": "system", "content": "Be kind."}]
    for turn in range(turns):
        said += [
            {"role": "user", "content": f"My number {turn} is {turn * 7}. " + "word " * 60},
            {"role": "assistant", "content": "Noted. " + "well " * 60},
        ]
    return [*said, {"role": "user", "content": "Which numbers did I name?"}]


def summing_up(seen: Seen) -> object:
    text = str(seen.json()["messages"][-1]["content"])
    return chat_json(SUMMARY if "sum up" in text else f"Answer to: {text}")


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("history")
    policies = calm_policies(folder / "policies")
    file = policies / "default.yaml"
    text = file.read_text(encoding="utf-8")
    for shipped, here in (
        ("most: report", "most: summary"),
        ("above: 8000", "above: 1500"),
        ("keep: 4000", "keep: 700"),
    ):
        assert text.count(shipped) == 1
        text = text.replace(shipped, here)
    file.write_text(text, encoding="utf-8")
    with running(folder / "data", "--upstream", upstream.url, "--policies", str(policies)) as started:
        yield started


def ask(proxy: Proxy, turns: int, way: str) -> dict[str, str]:
    client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
    with client:
        reply = client.chat.completions.with_raw_response.create(
            model="m", messages=history(turns), extra_headers={"Semcache-History": way}
        )
    return dict(reply.headers)


def test_a_window_is_what_the_upstream_sees(proxy: Proxy, upstream: UpstreamServer) -> None:
    headers = ask(proxy, 20, "window")
    assert headers["semcache-history"].startswith("window;dropped=")
    sent = upstream.requests[-1].json()["messages"]
    assert sent[0] == history(20)[0]
    assert sent[-1] == history(20)[-1]
    assert f"kept={len(sent)}" in headers["semcache-history"]
    assert len(sent) < 41


def test_a_report_sends_all_of_it(proxy: Proxy, upstream: UpstreamServer) -> None:
    assert ask(proxy, 21, "report")["semcache-history"].startswith("report;dropped=")
    assert len(upstream.requests[-1].json()["messages"]) == 44


def test_a_summary_is_made_once_and_is_on_the_account(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = ByRequest(summing_up)
    assert ask(proxy, 22, "summary")["semcache-history"].startswith("summary;dropped=")
    calls = len(upstream.requests)
    assert SUMMARY in upstream.requests[-1].json()["messages"][1]["content"]
    assert ask(proxy, 22, "summary")["semcache-outcome"] == "exact"
    assert len(upstream.requests) == calls


def test_a_batch_is_answered_in_its_own_order(proxy: Proxy, upstream: UpstreamServer, tmp_path: Path) -> None:
    rows = [
        {
            "custom_id": f"r{n}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "m",
                "messages": [
                    {"role": "system", "content": f"Document {n % 3}. " * 60},
                    {"role": "user", "content": f"Question {n}?"},
                ],
            },
        }
        for n in range(12)
    ]
    file, out = tmp_path / "batch.jsonl", tmp_path / "out.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "semcache",
        "batch",
        str(file),
        "--out",
        str(out),
        "--at-once",
        "1",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--url", f"{proxy.url}/v1"], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout)["answered"] == 12
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    said = [line["response"]["body"]["choices"][0]["message"]["content"] for line in lines]
    assert said == [f"Answer to: Question {n}?" for n in range(12)]
    documents = [seen.json()["messages"][0]["content"] for seen in upstream.requests]
    assert sum(a != b for a, b in pairwise(documents)) == 2
