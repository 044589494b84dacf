"""Keys in headers, what paths ask for, who answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.dialects.dialect import Family
from semcache.proxy.headers import reply_headers
from semcache.routing.credentials import for_family, key_pair, split_credentials
from semcache.routing.paths import dialect_of, is_anywhere
from semcache.routing.told import Answered, Told, answered
from tests.fakes.generator import FakeReply


@pytest.mark.parametrize(
    ("family", "pair"),
    [
        ("openai", (b"authorization", b"Bearer k")),
        ("ollama", (b"authorization", b"Bearer k")),
        ("anthropic", (b"x-api-key", b"k")),
        ("gemini", (b"x-goog-api-key", b"k")),
    ],
)
@pytest.mark.parametrize("written_for", ["openai", "anthropic", "gemini"])
def test_keys_in_the_headers_of_each_family(
    family: Family, pair: tuple[bytes, bytes], written_for: Family
) -> None:
    assert key_pair(family, "k") == pair
    assert for_family([key_pair(written_for, "k")], family, written_for) == (pair,)


def test_a_key_stays_as_it_came_in_its_own_family() -> None:
    pairs = ((b"Authorization", b"Basic xyz"),)
    assert for_family(pairs, "openai", "openai") == pairs
    assert for_family(pairs, "anthropic", "openai") == (), "what is no key is not sent to others"


def test_keys_are_told_from_other_headers() -> None:
    headers = ((b"X-Api-Key", b"a"), (b"content-type", b"x"), (b"Authorization", b"b"), (b"api-key", b"c"))
    plain, keys = split_credentials(headers)
    assert plain == ((b"content-type", b"x"),)
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/chat/completions", "openai.chat"),
        ("/chat/completions", "openai.chat"),
        ("/v1/completions", "openai.completions"),
        ("/v1/responses", "openai.responses"),
        ("/v1/responses/resp_1", None),
        ("/v1/embeddings", "openai.embeddings"),
        ("/v1/messages", "anthropic.messages"),
        ("/v1/messages/count_tokens", "anthropic.messages"),
        ("/v1/messages/batches", None),
        ("/api/chat", "ollama.chat"),
        ("/api/generate", "ollama.generate"),
        ("/v1/api/chat", None),
        ("/v1beta/models/g:generateContent", "gemini.generate"),
        ("/v1beta/models/g:streamGenerateContent", "gemini.generate"),
        ("/v1beta/models/g", None),
        ("/v1/files", None),
    ],
)
def test_what_paths_ask_for(path: str, dialect: str | None) -> None:
    assert dialect_of(path) == dialect
    assert is_anywhere("POST", path) is (dialect is not None)
    assert not is_anywhere("GET", path)
    assert is_anywhere("POST", "/v1/moderations")
    assert is_anywhere("POST", "/api/embed")


@given(
    st.text(min_size=1, alphabet=st.characters(min_codepoint=33, max_codepoint=126)),
    st.text(st.characters(codec="utf-8")),
    st.booleans(),
)
def test_who_answered_is_read_as_it_was_told(upstream: str, model: str, is_own: bool) -> None:
    said = Answered(upstream, model, is_own)
    reply = Told(FakeReply(), said)
    assert answered(reply.headers) == said
    assert reply.headers[0] == FakeReply().headers[0], "what the upstream said stays"


def test_no_upstream_can_say_such_a_word_and_no_client_sees_it() -> None:
    assert answered([(b"semcache-upstream", b"x")]) is None
    passed = reply_headers(Told(FakeReply(), Answered("a", "m", is_own=False)).headers, counted=True)
    assert [name for name, _ in passed] == [b"content-type"]
