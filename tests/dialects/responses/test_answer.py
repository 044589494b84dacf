"""Responses in chat's words, and how they are kept and replayed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semcache.core import Completion, Usage
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.document import DocumentAssembler
from semcache.dialects.responses.wire import RESPONSES
from tests.dialects.responses.told import ASKER, TEXT, USAGE, called, response, said, thought


def kept(answer: Any) -> Completion | Incomplete:
    assembler = RESPONSES.assembler("application/json")
    assert isinstance(assembler, DocumentAssembler)
    assembler.feed(json.dumps(answer).encode())
    return assembler.finish()


def stored(answer: Any) -> Completion:
    outcome = kept(answer)
    assert isinstance(outcome, Completion), outcome
    return outcome


def replayed(completion: Completion, usage: str = "original") -> dict[str, Any]:
    wanted = Wanted(False, True, "zero" if usage == "zero" else "original")
    found: dict[str, Any] = json.loads(RESPONSES.layout(completion, wanted).whole(b"beef", b"1800000000"))
    return found


def test_all_of_an_answer_is_said_in_chat() -> None:
    note = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "t", "url": "u"}
    token = {"token": "It", "logprob": -0.5, "bytes": [73, 116], "top_logprobs": []}
    answer = response(thought(), said(annotations=[note], logprobs=[token]), called(1), called(2))
    chat = RESPONSES.read_answer(answer)
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    assert chat == {
        "object": "chat.completion",
        "model": "gpt-x-2026",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": TEXT,
                    "reasoning_content": "I looked.",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "url_citation": {"start_index": 0, "end_index": 2, "title": "t", "url": "u"},
                        }
                    ],
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": function},
                        {"id": "call_2", "type": "function", "function": function},
                    ],
                },
                "logprobs": {"content": [token], "refusal": None},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 9,
            "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
        "service_tier": "default",
    }
    assert stored(answer).usage == Usage(20, 9, 8, 2, 0, 4)


def test_a_replay_is_the_answer_under_fresh_names_and_tells_no_one_who_asked() -> None:
    answer = response(thought(encrypted_content="gAAA"), said(), called())
    replay = replayed(stored(answer))
    assert replay["id"] == "resp_beef"
    assert [item["id"] for item in replay["output"]] == ["rs_beef00", "msg_beef01", "fc_beef02"]
    assert (replay["created_at"], replay["completed_at"]) == (1800000000, 1800000000)
    assert RESPONSES.bare(replay) == RESPONSES.bare(answer)
    # What the request said and the answer depends on is repeated, the asker's own words are not.
    assert replay["instructions"] == "be brief"
    assert replay["tools"] == answer["tools"]
    assert replay["temperature"] == 0.2
    assert (replay["metadata"], replay["user"]) == (None, None)
    assert not any(word in json.dumps(replay) for word in ("alice", "secret"))
    assert not ASKER.keys() & RESPONSES.bare(answer).keys()


def test_a_replay_costs_nothing_and_says_what_it_saved() -> None:
    usage = replayed(stored(response()), "zero")["usage"]
    assert usage == {
        "input_tokens": 0,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
        "semcache_saved": USAGE,
    }
    assert replayed(stored(response()))["usage"] == USAGE


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "finish_reason"),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "finish_reason"),
        (response(status="incomplete", incomplete_details=None), "finish_reason"),
        (response(status="failed", error={"code": "server_error", "message": "m"}), "error"),
        (response(status="failed"), "finish_reason"),
        (response(status="in_progress"), "finish_reason"),
        (response(status="queued"), "finish_reason"),
        (response(status="cancelled"), "finish_reason"),
        (response(status=None), "finish_reason"),
        (response(status="stop"), "finish_reason"),
        (response(status=["stop"]), "finish_reason"),
        (response(status="incomplete", incomplete_details={"reason": "stop"}), "finish_reason"),
        (response(status="incomplete", incomplete_details={"reason": "tool_calls"}), "finish_reason"),
        (response({**said(), "status": "incomplete"}), "finish_reason"),
        (response({**said(), "content": [{"type": "refusal", "refusal": "no"}]}), "refusal"),
        (response(said("")), "empty"),
        (response(thought()), "empty"),
        (response({**called(), "arguments": '{"a"'}), "arguments"),
        (response(output=None), "shape"),
        (response(output=[1]), "shape"),
        (response({**said(), "content": "x"}), "shape"),
        (response({**called(), "call_id": None}), "shape"),
        (response(object="chat.completion"), "shape"),
        ([], "shape"),
    ],
)
def test_what_is_not_whole_and_good_is_not_kept(answer: Any, reason: str) -> None:
    outcome = kept(answer)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == reason
    if reason in ("finish_reason", "refusal", "error"):
        assert outcome.usage == Usage(20, 9, 8, 2, 0, 4)


def test_calls_of_hosted_tools_come_back_as_they_were() -> None:
    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    cited = {"type": "file_citation", "file_id": "f", "filename": "n", "index": 0}
    answer = response(search, said(annotations=[cited]))
    replay = replayed(stored(answer))
    assert replay["output"][0] == {**search, "id": "ws_beef00"}
    assert replay["output"][1]["content"] == answer["output"][1]["content"]


def chat(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    whole = {
        "index": 0,
        "message": {"role": "assistant", "content": "x", **message},
        "finish_reason": "stop",
        **choice,
    }
    return {"object": "chat.completion", "model": "m", "choices": [whole], "usage": None}


@pytest.mark.parametrize(
    ("finish", "status", "details"),
    [
        ("stop", "completed", None),
        ("tool_calls", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
        ("odd", "incomplete", {"reason": "odd"}),
        (None, "incomplete", {"reason": None}),
        (["x"], "incomplete", {"reason": ["x"]}),
    ],
)
def test_a_finish_reason_becomes_a_status(finish: Any, status: str, details: Any) -> None:
    answer = RESPONSES.write_answer(chat({}, finish_reason=finish))
    assert (answer["status"], answer["incomplete_details"]) == (status, details)
    assert answer["output"][0]["status"] == status


@pytest.mark.parametrize(
    "document",
    [
        {"choices": []},
        {"choices": [1]},
        {"choices": "x"},
        {"error": {"message": "m"}, "choices": []},
        {"choices": chat({})["choices"] * 2},
        chat({"audio": {"id": "a"}}),
        chat({"function_call": {"name": "f", "arguments": "{}"}}),
        chat({"tool_calls": [{"id": "a", "type": "x", "x": {}}]}),
        chat({"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        chat({"tool_calls": 5}),
        chat({"content": [{"type": "image"}]}),
        chat({"content": 5}),
        chat({"annotations": [{"type": "x"}]}),
        chat({"reasoning": {"a": 1}}),
        chat({"reasoning": "a", "reasoning_content": "b"}),
        chat({}, logprobs={"content": None, "refusal": [{"token": "x"}]}),
        chat({}, logprobs=[1]),
        chat({"content": None}, logprobs={"content": [{"token": "x"}]}),
    ],
    ids=str,
)
def test_chat_answers_without_a_word_are_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        RESPONSES.write_answer(document)
    completion = Completion(json.dumps(document).encode(), None)
    assert not RESPONSES.can_replay(completion, stream=False)
    assert not RESPONSES.can_replay(completion, stream=True)


def test_fields_without_a_word_stand_apart_and_come_back() -> None:
    document = {**chat({"vendor": [1]}, stop_reason="x"), "system_fingerprint": "fp", "service_tier": "flex"}
    answer = RESPONSES.write_answer(document)
    assert answer["semcache_chat"] == {
        "document": {"system_fingerprint": "fp"},
        "choice": {"stop_reason": "x"},
        "message": {"vendor": [1]},
    }
    read = RESPONSES.read_answer(answer)
    assert (read["system_fingerprint"], read["service_tier"]) == ("fp", "flex")
    assert read["choices"][0]["stop_reason"] == "x"
    assert read["choices"][0]["message"]["vendor"] == [1]


def test_a_field_of_ours_in_a_foreign_answer_cannot_change_what_it_says() -> None:
    forged = {
        "document": {"choices": [], "id": "x"},
        "choice": {"finish_reason": "stop"},
        "message": {"content": "no"},
    }
    read = RESPONSES.read_answer(response(semcache_chat=forged, status="incomplete"))
    assert read["choices"][0]["message"]["content"] == TEXT
    assert read["choices"][0]["finish_reason"] == "incomplete"
    assert "id" not in read


def test_an_answer_to_chat_clients_is_told_as_a_response() -> None:
    completion = Completion(json.dumps(chat({"content": "Paris"})).encode(), None)
    replay = replayed(completion)
    part = {"type": "output_text", "text": "Paris", "annotations": [], "logprobs": []}
    message = {
        "id": "msg_beef00",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    assert replay["output"] == [message]
    assert (replay["store"], replay["status"], replay["object"]) == (False, "completed", "response")


def test_chunks_of_a_chat_stream_are_no_events() -> None:
    completion = Completion(b"{}", None, chunks=b'[{"object":"chat.completion.chunk"}]')
    assert not RESPONSES.can_replay(completion, stream=True)
    with pytest.raises(ValueError, match="stream"):
        RESPONSES.layout(completion, Wanted(True, True))


def test_text_that_looks_like_a_mark_stays_text() -> None:
    completion = stored(response(said("a\x01b\x02c")))
    replay = replayed(completion)
    assert replay["output"][0]["content"][0]["text"] == "a\x01b\x02c"
