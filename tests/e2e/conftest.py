"""A proxy in front of a scripted upstream, shared by the files that start none of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import (
    ByRequest,
    Seen,
    UpstreamServer,
    chat_json,
    chat_sse,
    in_thread,
    json_reply,
)


def answering(seen: Seen) -> object:
    """Answer each question with a text of its own, in the wire mode that was asked for."""
    if not seen.body:
        return json_reply({"object": "list", "data": []})
    body = seen.json()
    question = body["messages"][-1]["content"]
    text = f"Answer to: {question if isinstance(question, str) else question[0]['text']}"
    if body.get("stream"):
        words = [f"{word} " for word in text.split(" ")]
        return chat_sse([*words[:-1], words[-1].rstrip(" ")])
    return chat_json(text)


@pytest.fixture(scope="package")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(answering)) as server:
        yield server


@pytest.fixture(scope="package")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("proxy")
    with running(folder / "data", "--upstream", upstream.url, every_script=True) as started:
        yield started


def namespace_of(request: pytest.FixtureRequest) -> str:
    """Give a test its own name: no answer is shared with any other test."""
    return request.node.nodeid.encode("ascii", "replace").decode()[-200:]


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest) -> None:
    """Each test starts with an upstream that has not been asked yet, and that answers in order."""
    if "upstream" in request.fixturenames or "proxy" in request.fixturenames:
        server: UpstreamServer = request.getfixturevalue("upstream")
        server.requests.clear()
        server.script = ByRequest(answering)
    if "proxy" in request.fixturenames:
        request.getfixturevalue("proxy").namespace = namespace_of(request)
