"""Requests for text completions: what is one question, what is only forwarded, what chat cannot say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import ChatRequest, TenantId
from semcache.dialects.completions.wire import COMPLETIONS
from semcache.dialects.request import in_chat, request_of
from semcache.embed.fingerprint import IRRELEVANT_FIELDS, Partition, exact_key, namespace_of
from semcache.errors import RequestError
from tests.dialects.contract import leaves, mutated

PATH = "/v1/completions"


def asked(**fields: Any) -> ChatRequest:
    return request_of(COMPLETIONS, {"model": "m", "prompt": "Why is the sky blue?", **fields}, PATH)


@pytest.mark.parametrize("prompt", ["Why is the sky blue?", ["Why is the sky blue?"]])
def test_a_prompt_is_a_question_of_a_user(prompt: Any) -> None:
    """Bare or alone in its list, as LangChain sends it."""
    request = asked(prompt=prompt, max_tokens=9, temperature=0.0, stop=["\n"], top_k=3)
    assert request.prompt == "Why is the sky blue?"
    assert (request.uncacheable, request.exact_only, request.unsayable) == (None, None, ())
    assert request.native == {
        "model": "m", "prompt": prompt, "max_tokens": 9, "temperature": 0.0, "stop": ["\n"], "top_k": 3
    }  # fmt: skip
    chat = in_chat(request)
    assert chat.path == "/v1/chat/completions"
    assert chat.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Why is the sky blue?"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "stop": ["\n"],
        "top_k": 3,
    }


FORWARDED: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    ({"prompt": ["a", "b"]}, "prompts", ("prompt",)),
    ({"prompt": [1, 2, 3]}, "prompts", ("prompt",)),
    ({"prompt": [[1, 2], [3]]}, "prompts", ("prompt",)),
    ({"prompt": []}, "prompts", ("prompt",)),
    ({"prompt": None}, "prompts", ("prompt",)),
    ({"prompt": [7]}, "prompts", ("prompt",)),
    ({"echo": True}, "echo", ("echo",)),
    ({"suffix": "."}, "suffix", ("suffix",)),
    ({"best_of": 2}, "best-of", ("best_of",)),
    ({"best_of": True}, "best-of", ("best_of",)),
]


@pytest.mark.parametrize(("fields", "word", "unsayable"), FORWARDED)
def test_what_asks_for_more_than_an_answer_is_only_forwarded(
    fields: dict[str, Any], word: str, unsayable: tuple[str, ...]
) -> None:
    request = asked(**fields)
    assert request.uncacheable == word
    assert request.unsayable == unsayable


def test_defaults_written_out_change_nothing() -> None:
    request = asked(echo=False, suffix=None, best_of=1, logprobs=None, n=1)
    assert (request.uncacheable, request.exact_only, request.unsayable) == (None, None, ())


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"logprobs": 0}, "logprobs"), ({"logprobs": 3}, "logprobs"), ({"n": 2}, "n"), ({"seed": 1}, "seed")],
)
def test_what_closes_the_semantic_tier(fields: dict[str, Any], word: str) -> None:
    assert asked(**fields).exact_only == word


def test_log_probabilities_are_asked_for_in_chats_words() -> None:
    body = asked(logprobs=3).body
    assert (body["logprobs"], body["top_logprobs"]) == (True, 3)
    odd = asked(logprobs="3")
    assert odd.unsayable == ("logprobs",)
    assert "logprobs" not in odd.body
    assert asked(logprobs=True).unsayable == ("logprobs",)


@pytest.mark.parametrize("name", ["tools", "messages", "max_completion_tokens", "vendor"])
def test_fields_of_chat_and_of_nobody_stay_out_of_the_chat_body(name: str) -> None:
    request = asked(**{name: [1]})
    assert request.unsayable == (name,)
    assert request.extra == {name: [1]}
    assert request.body.get(name) != [1]


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"model": None}, "model"), ({"stream": 1}, "stream"), ({"temperature": "0"}, "temperature")],
)
def test_what_the_cache_relies_on_must_be_usable(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(**fields)
    assert refused.value.param == param


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}, "messages"),
    ({"messages": [{"role": "assistant", "content": "s"}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "messages"),
    ({"tools": [{"type": "function"}]}, "tools"),
    ({"reasoning_effort": "low"}, "reasoning_effort"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"vendor": 1}, "vendor"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED)
def test_what_has_no_word_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as refused:
        COMPLETIONS.write({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields})
    assert refused.value.param == param


def test_limits_and_scores_are_written_in_its_own_words() -> None:
    written = COMPLETIONS.write(
        {
            "model": "m",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "max_completion_tokens": 5,
            "logprobs": True,
            "tools": [],
            "store": False,
        }
    )
    assert written.body == {"model": "m", "prompt": "hi", "max_tokens": 5, "logprobs": 0}


values = st.sampled_from([0, 1, 2, 0.5, True, False, "a", "b", ["a"], {"k": 1}, {"k": 2}])
bodies = st.dictionaries(
    st.sampled_from(
        [
            "n",
            "seed",
            "stop",
            "max_tokens",
            "logprobs",
            "echo",
            "suffix",
            "best_of",
            "logit_bias",
            "vendor",
            "user",
        ]
    ),
    values,
    max_size=4,
).map(lambda fields: {"model": "m", "prompt": "hi", **fields})


def identity(body: dict[str, Any]) -> str:
    request = request_of(COMPLETIONS, json.loads(json.dumps(body)), PATH)
    namespace = namespace_of(request, Partition(TenantId("t"), "tenant", "", "", "up"))
    return namespace.digest + exact_key(namespace, request)


@settings(max_examples=150)
@given(bodies, st.integers(0, 999))
def test_one_change_anywhere_is_another_identity(body: dict[str, Any], at: int) -> None:
    found = [path for path, _ in leaves(body)]
    path = found[at % len(found)]
    same = path[0] in IRRELEVANT_FIELDS - {"model"}
    assert (identity(mutated(body, path)) == identity(body)) == same, path
