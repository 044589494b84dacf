"""Embeddings: found by equal bytes alone, kept and replayed as they came."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types import CreateEmbeddingResponse

from semcache.asking.calls import text_of as asked_text
from semcache.core import CachePolicy, ChatRequest, Completion, Directives, Mode, TenantId, Usage
from semcache.decide import admission
from semcache.decide.answer_tiers import may_store_answer
from semcache.dialects.dialect import Dialect, ErrorWords, Incomplete, Wanted
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.request import request_of
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from semcache.review.answers import may_edit
from semcache.review.answers import text_of as reviewed_text
from semcache.revising.source import text_of as revised_text
from tests.decide.build import policy
from tests.dialects.contract import assembled, leaves, mutated

PATH = "/v1/embeddings"
USAGE = {"prompt_tokens": 5, "total_tokens": 5}
ID, CREATED = b"0123", b"5"


def asked(**fields: Any) -> ChatRequest:
    return request_of(EMBEDDINGS, {"model": "m", "input": "hello", **fields}, PATH)


def identity(body: dict[str, Any]) -> str:
    request = request_of(EMBEDDINGS, json.loads(json.dumps(body)), PATH)
    namespace = namespace_of(request, Partition(TenantId("t"), "tenant", "", "", "up"))
    return namespace.digest + exact_key(namespace, request)


@pytest.mark.parametrize("given", ["hello", ["hello"], ["a", "b"], [1, 2], [[1], [2]], None, 5, [], {}])
def test_an_input_is_never_met_by_meaning_and_never_asked_of_a_chat_model(given: Any) -> None:
    request = asked(input=given, stream=True, encoding_format="base64", dimensions=4, user="u")
    assert request.prompt is None
    assert request.exact_only == "embedding"
    assert request.uncacheable is None
    assert request.unsayable == ("input",)
    assert request.stream is False
    assert request.end_user == "u"
    assert request.extra == {"stream": True, "encoding_format": "base64", "dimensions": 4}
    assert request.native is not None
    assert request.native["input"] == given


def test_what_policies_say_of_temperatures_does_not_close_the_cache() -> None:
    strict: CachePolicy = policy(allow_default_temperature=False, max_temperature=0.0)
    request = asked()
    assert admission.bypass(strict, request, Directives()) is None
    assert admission.may_store(strict, request, Directives()) is None
    assert strict.mode is Mode.SEMANTIC
    assert admission.may_match(strict, request, Directives()) == "exact-only"


inputs = st.one_of(
    st.text(max_size=6),
    st.lists(st.text(max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(0, 99), min_size=1, max_size=3),
    st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=2), min_size=1, max_size=2),
)
bodies = st.fixed_dictionaries(
    {"model": st.just("m"), "input": inputs},
    optional={
        "dimensions": st.integers(1, 9),
        "encoding_format": st.sampled_from(["float", "base64"]),
        "vendor": st.integers(0, 3),
    },
)


@settings(max_examples=150)
@given(bodies, st.integers(0, 999))
def test_one_change_anywhere_is_another_identity(body: dict[str, Any], at: int) -> None:
    found = [path for path, _ in leaves(body)]
    path = found[at % len(found)]
    assert identity(mutated(body, path)) != identity(body)


@given(inputs, inputs)
def test_different_inputs_have_different_identities(one: Any, other: Any) -> None:
    """One text alone in its list is that text; nothing else is alike, not even by a blank."""

    def spelled(value: Any) -> Any:
        return (
            value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value
        )

    same = identity({"model": "m", "input": one}) == identity({"model": "m", "input": other})
    assert same == (spelled(one) == spelled(other))


def test_a_blank_more_is_another_input() -> None:
    assert identity({"model": "m", "input": "a"}) != identity({"model": "m", "input": "a "})
    assert identity({"model": "m", "input": "a"}) != identity({"model": "m", "input": "A"})


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def vector(value: Any, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": value, **more}


def answer(*vectors: Any, **top: Any) -> dict[str, Any]:
    data = [vector(one, number) for number, one in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": USAGE, **top}


def keep(document: Any, size: int = 7) -> Completion | Incomplete:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return assembled(EMBEDDINGS, data, stream=False, size=size)


@pytest.mark.parametrize(
    "document",
    [
        answer([0.5, -1.25e-7, 3]),
        answer([0.1, 0.2], [0.3, 0.4], vendor={"x": 1}),
        answer(packed(0.5, 0.25)),
        {**answer([1.0]), "data": [vector([0.5], 1, note="x"), vector([0.25], 0)]},
        {**answer([1.0]), "id": "embd-1", "created": 7},
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_an_embedding_comes_back_as_it_came(document: dict[str, Any], size: int) -> None:
    kept = keep(document, size)
    assert isinstance(kept, Completion), kept
    assert kept.usage == Usage(5, 0)
    assert EMBEDDINGS.can_replay(kept, stream=False)
    again = json.loads(EMBEDDINGS.layout(kept, Wanted(False, False, "original")).whole(ID, CREATED))
    assert again == EMBEDDINGS.bare(document)
    assert EMBEDDINGS.bare(again) == again
    layout = EMBEDDINGS.layout(kept, Wanted(False, False))
    free = json.loads(b"".join(layout.events(ID, CREATED)))
    assert free == {**again, "usage": {"prompt_tokens": 0, "total_tokens": 0, "semcache_saved": USAGE}}
    assert layout.size == len(layout.whole(b"9", b"9"))
    CreateEmbeddingResponse.model_validate(answer([0.5], usage=free["usage"]))


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"error": {"message": "no"}}, "error"),
        (answer(), "empty"),
        (answer([]), "empty"),
        (answer(""), "empty"),
        (answer([0.5, None]), "shape"),
        (answer([0.5, True]), "shape"),
        (answer([0.5], [0.5, 0.5]), "shape"),
        (answer("not base64!"), "shape"),
        (answer("AAA="), "shape"),
        (answer(None), "shape"),
        ({**answer([1.0]), "data": [vector([0.5], 1)]}, "shape"),
        ({**answer([1.0]), "data": [vector([0.5], 0), vector([0.5], 0)]}, "shape"),
        ({**answer([1.0]), "data": [5]}, "shape"),
        ({"object": "list"}, "shape"),
        ([1], "shape"),
        (b"<html>", "invalid_json"),
        (b'{"data":[{"index":0,"embedding":[NaN]}]}', "invalid_json"),
        (json.dumps(answer([0.5])).encode()[:-2], "invalid_json"),
    ],
)
def test_bad_answers_are_not_kept(document: Any, reason: str) -> None:
    assert keep(document) == Incomplete(reason)


def test_nobody_who_looks_for_words_finds_any() -> None:
    """Judges, reviewers and revisers read the chat form: there is nothing in it to judge, to edit or to draft from."""
    kept = keep(answer([0.5]))
    assert isinstance(kept, Completion)
    assert json.loads(kept.body) == {"object": "chat.completion", "model": "m", "choices": [], "usage": USAGE}
    assert asked_text(kept) == ""
    assert reviewed_text(kept) is None
    assert revised_text(kept, 1000) is None
    assert not may_edit(kept)
    assert not kept.has_tool_calls
    assert may_store_answer(policy(), asked(), kept) is None
    assert may_store_answer(policy(max_entry_bytes=len(kept.body)), asked(), kept) == "too-large"


def test_there_are_no_streams_and_no_words() -> None:
    kept = keep(answer([0.5]))
    assert isinstance(kept, Completion)
    said = Completion(kept.body, None)
    dialect: Dialect = EMBEDDINGS
    assert not dialect.can_replay(kept, stream=True)
    assert not dialect.can_replay(said, stream=False)
    assert dialect.assembler("text/event-stream") is None
    for refused in (
        lambda: dialect.layout(kept, Wanted(True, True)),
        lambda: dialect.layout(said, Wanted(False, False)),
        lambda: dialect.live_writer(Wanted(True, True), "1", 1),
        dialect.live_reader,
        lambda: dialect.write_answer({"choices": []}),
        lambda: dialect.read_answer({}),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            refused()
    with pytest.raises(RequestError):
        dialect.write({"model": "m", "messages": []})
    assert dialect.unstreamed(asked(), 0.7) == asked()


def test_errors_are_told_and_read() -> None:
    error = ErrorWords("no", 429, "rate_limit_error", "rate_limited", "input")
    assert EMBEDDINGS.read_error(429, EMBEDDINGS.write_error(error)) == error
    assert EMBEDDINGS.write_error_event(error) == EMBEDDINGS.write_error(error)
