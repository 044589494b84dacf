"""Paths and queries of Gemini."""

from __future__ import annotations

import pytest

from semcache.dialects.gemini.target import framing_of, gemini_target, path_of, with_model
from semcache.dialects.gemini.wire import GEMINI, GEMINI_ARRAY, gemini_at

BASE = "/v1beta/models/gemini-3-flash"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (f"{BASE}:generateContent", ("gemini-3-flash", False)),
        (f"{BASE}:streamGenerateContent", ("gemini-3-flash", True)),
        ("/v1/models/m.1:generateContent", ("m.1", False)),
        ("/v1alpha/models/m:generateContent", ("m", False)),
        ("/v1beta/tunedModels/my-1:generateContent", ("tunedModels/my-1", False)),
        (f"{BASE}:countTokens", None),
        (f"{BASE}:embedContent", None),
        (f"{BASE}:generateContent/x", None),
        (f"{BASE}", None),
        ("/v1beta/models/a/b:generateContent", None),
        ("/v1beta/models/:generateContent", None),
        ("/v2/models/m:generateContent", None),
    ],
)
def test_a_path_names_model_and_way_of_answering(path: str, target: tuple[str, bool] | None) -> None:
    assert gemini_target(path) == target


def test_another_model_is_asked_in_the_same_way() -> None:
    assert with_model(f"{BASE}:streamGenerateContent", "pro") == "/v1beta/models/pro:streamGenerateContent"
    assert with_model("/v1/models/a:generateContent", "models/b") == "/v1/models/b:generateContent"
    tuned = with_model(f"{BASE}:generateContent", "tunedModels/x")
    assert tuned == "/v1beta/tunedModels/x:generateContent"
    assert gemini_target(tuned) == ("tunedModels/x", False)
    assert with_model("/v1/other", "b") == "/v1/other"
    assert path_of("a b?c", stream=False) == "/v1beta/models/a%20b%3Fc:generateContent"
    assert gemini_target(path_of("a b:c?d", stream=True)) == ("a b:c?d", True)


@pytest.mark.parametrize(
    ("path", "query", "framing"),
    [
        (":generateContent", b"", "document"),
        (":generateContent", b"key=1&alt=json", "document"),
        (":generateContent", b"alt=sse", None),
        (":generateContent", b"alt=proto", None),
        (":streamGenerateContent", b"", "array"),
        (":streamGenerateContent", b"alt=json", "array"),
        (":streamGenerateContent", b"%24alt=sse&key=1", "events"),
        (":streamGenerateContent", b"alt=sse", "events"),
        (":countTokens", b"", None),
    ],
)
def test_the_query_says_how_a_stream_is_framed(path: str, query: bytes, framing: str | None) -> None:
    assert framing_of(BASE + path, query) == framing
    wanted = {"document": GEMINI, "events": GEMINI, "array": GEMINI_ARRAY, None: None}[framing]
    assert gemini_at(BASE + path, query) is wanted
