"""Aliases in calls that are only forwarded."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from semcache.proxy.aliasing import Plain, renamed
from semcache.proxy.headers import read_request_headers
from semcache.routing.aliases import Alias

ALIASES = {
    "smart": Alias("claude", "up"),
    "claude": Alias("claude", "up"),
    "g:1": Alias("gemini/x", "google"),
    "here": Alias("there"),
}
COUNT = "/v1/messages/count_tokens"


async def ask(
    path: str, body: bytes, *pairs: tuple[bytes, bytes], method: str = "POST"
) -> tuple[Plain, bytes]:
    """Give what goes on, and the body that is then received."""
    waiting = [
        {"type": "http.request", "body": body[:7], "more_body": True},
        {"type": "http.request", "body": body[7:], "more_body": False},
    ]

    async def receive() -> MutableMapping[str, Any]:
        return waiting.pop(0)

    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *pairs]
    scope = {"method": method, "path": path, "raw_path": path.encode(), "headers": head}
    plain = await renamed(scope, receive, read_request_headers(head), ALIASES)
    rest = b""
    while True:
        message = await plain.receive()
        rest += message["body"]
        if not message["more_body"]:
            return plain, rest


def of(model: Any) -> bytes:
    return json.dumps({"model": model, "messages": [], "kept": 1.5}).encode()


async def test_the_model_of_a_body_is_its_real_one_at_its_own_upstream() -> None:
    plain, body = await ask(COUNT, of("smart"))
    assert json.loads(body) == {"model": "claude", "messages": [], "kept": 1.5}
    assert plain.headers.content_length == b"%d" % len(body)
    assert plain.upstream == "up"


async def test_a_model_that_is_looked_at_is_too() -> None:
    plain, body = await ask("/api/show", b'{"model": "here"}')
    assert (json.loads(body), plain.upstream) == ({"model": "there"}, "")


async def test_a_name_that_stays_keeps_the_bytes() -> None:
    plain, body = await ask(COUNT, of("claude"))
    assert (body, plain.upstream) == (of("claude"), "up")


async def test_the_clients_own_word_wins() -> None:
    plain, body = await ask(COUNT, of("smart"), (b"semcache-upstream", b"mine"))
    assert (plain.upstream, json.loads(body)["model"]) == ("mine", "claude")


async def test_a_model_in_the_path_is_renamed_there() -> None:
    sent = b'{"contents": []}'
    plain, body = await ask("/v1beta/models/g:1:countTokens", sent)
    assert plain.scope["raw_path"] == b"/v1beta/models/gemini%2Fx:countTokens"
    assert (body, plain.upstream) == (sent, "google")


@pytest.mark.parametrize(
    ("path", "body", "pairs"),
    [
        (COUNT, of("unknown"), ()),
        (COUNT, of(["smart"]), ()),
        (COUNT, b"[]", ()),
        (COUNT, b'{"model": "smart"', ()),
        (COUNT, of("smart"), ((b"content-encoding", b"gzip"),)),
        ("/v1/files", of("smart"), ()),
        ("/v1beta/models/other:countTokens", of("smart"), ()),
    ],
)
async def test_all_else_goes_on_as_it_came(path: str, body: bytes, pairs: Any) -> None:
    plain, rest = await ask(path, body, *pairs)
    assert (plain.upstream, rest, plain.scope["path"]) == ("", body, path)


async def test_an_upload_is_not_waited_for() -> None:
    form = (b"content-type", b"multipart/form-data; boundary=x")
    taken = []

    async def receive() -> MutableMapping[str, Any]:
        taken.append(1)
        return {"type": "http.request", "body": b"", "more_body": False}

    for head in ([form, (b"content-length", b"9")], [(b"transfer-encoding", b"chunked")]):
        scope = {"method": "POST", "path": "/v1/audio/transcriptions", "headers": head}
        await renamed(scope, receive, read_request_headers(head), ALIASES)
        await renamed({**scope, "path": COUNT}, receive, read_request_headers(head), ALIASES)
    assert not taken


async def test_text_that_is_no_unicode_gets_nobody_past_an_alias() -> None:
    raw = b'{"model": "smart", "model": "here", "messages": ["\\ud800"]}'
    _, body = await ask(COUNT, raw)
    assert json.loads(body) == {"model": "there", "messages": ["\ud800"]}
    assert body.count(b"model") == 1
