"""Whose paths are whose."""

from __future__ import annotations

import pytest

from semcache.dialects.table import dialect_at, shape_of


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/v1beta/models/m:countTokens", "gemini"),
        ("/v1alpha/models/m:embedContent", "gemini"),
        ("/v1/models/m:generateContent", "gemini"),
        ("/v1/models/m:countTokens", "gemini"),
        ("/v1/models/m:predict", "gemini"),
        ("/upload/v1beta/files", "gemini"),
        ("/v1beta/a\nb", "gemini"),
        ("/v1/models", "openai"),
        ("/v1/models/ft:gpt-4o-mini:org:mySuffix:aBcD", "openai"),
        ("/v1/messages/count_tokens", "anthropic"),
        ("/api/tags", "ollama"),
        ("/v1/files", "openai"),
        ("/v1betas", "openai"),
    ],
)
def test_errors_have_the_shape_of_the_paths_api(path: str, family: str) -> None:
    assert shape_of(path).family == family


def test_a_header_names_the_api_too() -> None:
    assert shape_of("/v1/models", {b"anthropic-version": b"2023-06-01"}).family == "anthropic"
    assert shape_of("/v1/models", {b"x-goog-api-client": b"google-genai-sdk/3"}).family == "gemini"


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/m:generateContent:generateContent",
        "/v1beta/models/:generateContent",
        "/v1beta/models/a/b:generateContent",
        "/v1beta/models/m:generatecontent",
        "/v1beta/models/m:generateContent/",
        "/v1beta/models/m:generateContent\n",
        "/V1/chat/completions",
        "/v1/chat/completions/",
    ],
)
def test_what_only_looks_like_a_path_that_asks_a_model_asks_none(path: str) -> None:
    assert dialect_at(path) is None
