"""Which models there are, in the shape that each client reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semcache.core import Caller, TenantId
from semcache.dialects.dialect import Family
from semcache.dialects.table import BY_FAMILY
from semcache.errors import RequestError
from semcache.journey import Backend
from semcache.ports import UpstreamCall
from semcache.proxy.model_lists import ModelLists
from semcache.routing.aliases import Alias
from tests.fakes.generator import FakeGenerator, FakeReply

OPENAI = {"object": "list", "data": [{"id": "gpt", "object": "model", "created": 7, "owned_by": "them"}]}
FAST = {"fast": Alias("gpt")}
CALLER = Caller(TenantId("t"))
VERSIONED = ((b"anthropic-version", b"2023-06-01"),)


class Asked:
    """One upstream, and what it was asked."""

    def __init__(self, protocol: Family = "openai", status: int = 200, document: Any = OPENAI) -> None:
        self.calls: list[UpstreamCall] = []
        self.was_read = False

        def answer(call: UpstreamCall) -> FakeReply:
            self.calls.append(call)
            return FakeReply(status, parts=(json.dumps(document).encode(),))

        self.backend = Backend(FakeGenerator(answer), "up", "Bearer managed", protocol=protocol)

    async def get(self, path: str, aliases: Any = None, headers: Any = ()) -> Any:
        return await self._ask("GET", path, aliases, headers, b"")

    async def show(self, body: bytes, aliases: Any = None) -> Any:
        return await self._ask("POST", "/api/show", aliases, (), body)

    async def _ask(self, method: str, path: str, aliases: Any, headers: Any, sent: bytes) -> Any:
        async def read() -> bytes:
            self.was_read = True
            return sent

        lists = ModelLists({} if aliases is None else aliases, 5, BY_FAMILY)
        body = await lists.answer(method, path, headers, self.backend, CALLER, read)
        return None if body is None else json.loads(body)


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/gpt", "/v1/files", "/models"])
async def test_an_upstream_answers_its_own_clients(path: str) -> None:
    asked = Asked()
    assert await asked.get(path) is None
    assert not asked.calls


async def test_names_of_the_configuration_come_first() -> None:
    found = await Asked().get("/v1/models", FAST)
    assert [entry["id"] for entry in found["data"]] == ["fast", "gpt"]
    assert found["data"][1]["owned_by"] == "them"


@pytest.mark.parametrize(
    ("path", "headers", "names"),
    [
        ("/v1/models", VERSIONED, lambda found: [entry["id"] for entry in found["data"]]),
        ("/api/tags", (), lambda found: [entry["model"] for entry in found["models"]]),
        ("/v1beta/models", (), lambda found: [entry["name"][7:] for entry in found["models"]]),
    ],
)
async def test_others_read_it_in_their_own_shape(path: str, headers: Any, names: Any) -> None:
    asked = Asked()
    assert names(await asked.get(path, headers=headers)) == ["gpt"]
    assert asked.calls[0].path == "/v1/models"
    assert (b"authorization", b"Bearer managed") in asked.calls[0].headers


async def test_one_model() -> None:
    asked = Asked()
    assert (await asked.get("/v1/models/fast", FAST))["id"] == "fast"
    assert (await asked.get("/v1/models/gpt", headers=VERSIONED))["display_name"] == "gpt"
    assert (await asked.get("/v1beta/models/gpt"))["name"] == "models/gpt"
    with pytest.raises(RequestError, match="no model named") as caught:
        await asked.get("/v1/models/none", headers=VERSIONED)
    assert caught.value.status == 404


async def test_an_upstream_that_refuses_says_why_unless_there_are_names_of_our_own() -> None:
    refusing = Asked(
        status=401, document={"error": {"message": "who are you", "type": "authentication_error"}}
    )
    with pytest.raises(RequestError, match="who are you") as caught:
        await refusing.get("/api/tags")
    assert caught.value.status == 401
    assert [entry["name"] for entry in (await refusing.get("/api/tags", FAST))["models"]] == ["fast"]
    assert (await Asked(status=404, document={}).get("/api/tags"))["models"] == []


async def test_an_anthropic_upstream_is_asked_as_it_wants() -> None:
    listed = {"data": [{"type": "model", "id": "claude", "display_name": "C"}], "has_more": False}
    asked = Asked("anthropic", document=listed)
    assert [entry["id"] for entry in (await asked.get("/v1/models"))["data"]] == ["claude"]
    assert (b"x-api-key", b"managed") in asked.calls[0].headers
    assert VERSIONED[0] in asked.calls[0].headers


async def test_programs_made_for_ollama_are_told_a_version() -> None:
    assert "version" in await Asked().get("/api/version")
    assert await Asked("ollama").get("/api/version") is None


async def test_and_that_nothing_is_loaded() -> None:
    assert await Asked().get("/api/ps") == {"models": []}
    assert await Asked("ollama").get("/api/ps") is None


@pytest.mark.parametrize("body", [b'{"model": "gpt"}', b'{"name": "gpt"}', b'{"model": "gpt:latest"}'])
async def test_and_what_a_model_can_do(body: bytes) -> None:
    shown = await Asked().show(body)
    assert shown["capabilities"] == ["completion", "tools"]
    assert shown["model_info"]["general.basename"] == "gpt"
    hidden = {"fast": Alias("hidden")}
    assert (await Asked().show(b'{"model": "hidden"}', hidden))["capabilities"], (
        "what stands in the configuration is there"
    )
    assert (await Asked().show(b'{"model": "fast"}', FAST))["model_info"]["general.basename"] == "fast"


@pytest.mark.parametrize(
    ("body", "status"), [(b'{"model": "none"}', 404), (b'{"model": 3}', 400), (b"{}", 400), (b"[", 400)]
)
async def test_a_model_that_nobody_has_cannot_be_shown(body: bytes, status: int) -> None:
    with pytest.raises(RequestError) as caught:
        await Asked().show(body)
    assert caught.value.status == status


async def test_an_ollama_server_shows_its_models_itself_and_gets_the_whole_request() -> None:
    asked = Asked("ollama")
    assert await asked.show(b'{"model": "gpt"}') is None
    assert not asked.was_read
    assert await asked._ask("POST", "/v1/models", FAST, (), b"") is None
    assert not asked.was_read
