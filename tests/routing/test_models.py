"""Lists of models in four shapes, checked by the shapes of their own clients."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types import Model

from semcache.routing.models import Shape, listing, one, shape_of

OPENAI = {
    "object": "list",
    "data": [{"id": "gpt-x", "object": "model", "created": 7, "owned_by": "o", "extra": 1}],
}
ANTHROPIC = {
    "data": [
        {"type": "model", "id": "claude-x", "display_name": "Claude X", "created_at": "2026-01-01T00:00:00Z"}
    ],
    "has_more": True,
    "first_id": "claude-x",
    "last_id": "claude-x",
}
OLLAMA = {"models": [{"name": "llama:8b", "model": "llama:8b", "size": 5, "digest": "d", "details": {}}]}
GEMINI = {
    "models": [{"name": "models/gemini-x", "displayName": "G", "inputTokenLimit": 9}],
    "nextPageToken": "n",
}
THEIRS = {
    Shape.OPENAI: (OPENAI, "gpt-x"),
    Shape.ANTHROPIC: (ANTHROPIC, "claude-x"),
    Shape.OLLAMA: (OLLAMA, "llama:8b"),
    Shape.GEMINI: (GEMINI, "gemini-x"),
}


def names(shape: Shape, body: bytes) -> list[str]:
    document = json.loads(body)
    match shape:
        case Shape.OPENAI | Shape.ANTHROPIC:
            return [entry["id"] for entry in document["data"]]
        case Shape.OLLAMA:
            return [entry["name"] for entry in document["models"]]
        case Shape.GEMINI:
            return [entry["name"].removeprefix("models/") for entry in document["models"]]


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("theirs", Shape)
def test_aliases_stand_before_what_the_upstream_lists(shape: Shape, theirs: Shape) -> None:
    document, name = THEIRS[theirs]
    body = listing(shape, ["fast", "smart"], json.dumps(document).encode(), since=60)
    assert names(shape, body) == ["fast", "smart", name]
    if shape is theirs:
        key = "data" if "data" in document else "models"
        assert json.loads(body)[key][-1] == document[key][0], (
            "an entry in the client's own shape stays as it came"
        )


def test_pages_of_the_upstream_stay_pages() -> None:
    told = json.loads(listing(Shape.ANTHROPIC, ["fast"], json.dumps(ANTHROPIC).encode()))
    assert (told["has_more"], told["first_id"], told["last_id"]) == (True, "fast", "claude-x")
    assert json.loads(listing(Shape.GEMINI, [], json.dumps(GEMINI).encode()))["nextPageToken"] == "n"


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("theirs", [None, b"", b"no", b"[]", b'{"error":{}}', b'{"data":[1,{"id":2}]}'])
def test_without_a_list_of_theirs_there_are_ours(shape: Shape, theirs: bytes | None) -> None:
    assert names(shape, listing(shape, ["fast"], theirs)) == ["fast"]


@given(
    st.lists(st.text(min_size=1, max_size=8)),
    st.lists(st.text(min_size=1, max_size=8)),
    st.sampled_from(Shape),
)
def test_no_name_stands_twice(ours: list[str], theirs: list[str], shape: Shape) -> None:
    body = listing(Shape.OPENAI, theirs)
    assert names(shape, listing(shape, ours, body)) == list(dict.fromkeys([*ours, *theirs]))


def test_a_repeated_name_is_the_configuration_s() -> None:
    told: Any = json.loads(listing(Shape.OPENAI, ["gpt-x"], json.dumps(OPENAI).encode()))
    assert [entry["owned_by"] for entry in told["data"]] == ["semcache"]


def test_one_model_reads_as_the_client_s_own_type() -> None:
    told = Model.model_validate_json(one(Shape.OPENAI, "fast", since=60))
    assert (told.id, told.created, told.object) == ("fast", 60, "model")
    assert json.loads(one(Shape.ANTHROPIC, "fast", since=60))["created_at"] == "1970-01-01T00:01:00Z"


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/v1/models", [], (Shape.OPENAI, "")),
        ("/models", [], (Shape.OPENAI, "")),
        ("/v1/models/gpt-x", [], (Shape.OPENAI, "gpt-x")),
        ("/v1/models/owner/name", [], (Shape.OPENAI, "owner/name")),
        ("/v1/models", [(b"Anthropic-Version", b"2023-06-01")], (Shape.ANTHROPIC, "")),
        ("/v1/models/claude", [(b"anthropic-version", b"1")], (Shape.ANTHROPIC, "claude")),
        ("/v1/models", [(b"X-Goog-Api-Key", b"k")], (Shape.GEMINI, "")),
        ("/v1/models/gemini", [(b"x-goog-api-client", b"google-genai-sdk/3")], (Shape.GEMINI, "gemini")),
        ("/api/tags", [], (Shape.OLLAMA, "")),
        ("/v1beta/models", [], (Shape.GEMINI, "")),
        ("/v1beta/models/g-1", [], (Shape.GEMINI, "g-1")),
        ("/v1beta/models/g-1:generateContent", [], None),
        ("/v1/chat/completions", [], None),
        ("/v1/modelsx", [], None),
    ],
)
def test_the_shape_goes_by_path_and_header(
    path: str, headers: list[tuple[bytes, bytes]], expected: tuple[Shape, str] | None
) -> None:
    assert shape_of(path, headers) == expected
