"""Text completions in chat's words and back, with the old log probabilities."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types import Completion as SdkCompletion

from semcache.core import Completion, Usage
from semcache.dialects.chat.answer import complete
from semcache.dialects.completions.wire import COMPLETIONS
from semcache.dialects.dialect import Incomplete, Wanted
from tests.dialects.contract import CREATED, ID, assembled, events_of, used, wanted
from tests.fakes.upstream_server import sse_bytes

SCORES = {
    "tokens": ["Pa", "ris 雪"],
    "token_logprobs": [-0.5, -1.5],
    "top_logprobs": [{"Pa": -0.5, "Lo": -2.0}, {"ris 雪": -1.5}],
    "text_offset": [0, 2],
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def text(value: Any = "Paris 雪", index: int = 0, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"text": value, "index": index, "logprobs": None, "finish_reason": finish, **more}


def answer(*choices: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {
        "id": "cmpl-9",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": list(choices) or [text()],
        "usage": USAGE,
        **top,
    }


def keep(document: Any) -> Completion | Incomplete:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return assembled(COMPLETIONS, data, stream=False)


def replayed(completion: Completion, *, stream: bool = False, **options: Any) -> Any:
    asked = Wanted(stream, **{"include_usage": True, "usage": "original", **options})
    data = COMPLETIONS.layout(completion, asked).whole(ID, CREATED)
    return events_of(data) if stream else json.loads(data)


def test_a_text_is_what_the_assistant_said() -> None:
    kept = keep(answer(system_fingerprint="fp"))
    assert isinstance(kept, Completion)
    assert kept.native is None
    assert json.loads(kept.body)["choices"][0]["message"] == {"role": "assistant", "content": "Paris 雪"}
    assert used(kept) == (3, 2)
    again = replayed(kept)
    assert again == {**answer(system_fingerprint="fp"), "id": f"cmpl-{ID.decode()}", "created": int(CREATED)}
    SdkCompletion.model_validate(again)


def test_old_log_probabilities_are_chats_and_come_back() -> None:
    kept = keep(answer(text(logprobs=SCORES)))
    assert isinstance(kept, Completion)
    assert kept.native is None
    found = json.loads(kept.body)["choices"][0]["logprobs"]["content"]
    assert [one["token"] for one in found] == ["Pa", "ris 雪"]
    assert found[1]["bytes"] == list("ris 雪".encode())
    assert [one["token"] for one in found[0]["top_logprobs"]] == ["Pa", "Lo"]
    assert replayed(kept)["choices"][0]["logprobs"] == SCORES


@pytest.mark.parametrize(
    "odd",
    [
        {**SCORES, "text_offset": [10, 12]},
        {**SCORES, "token_logprobs": [None, -1.5], "text_offset": [3, 5]},
        {**SCORES, "token_logprobs": [-1.5]},
        {**SCORES, "top_logprobs": None, "text_offset": None},
        {**SCORES, "vendor": 1},
        {"tokens": "Paris"},
        7,
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_chat_cannot_say_is_kept_in_its_own_words(odd: Any, stream: bool) -> None:
    kept = keep(answer(text(logprobs=odd)))
    assert isinstance(kept, Completion)
    assert kept.native is not None
    assert COMPLETIONS.can_replay(kept, stream=stream)
    if not stream:
        assert replayed(kept)["choices"][0]["logprobs"] == odd
        return
    told = [choice["logprobs"] for event in replayed(kept, stream=True) for choice in event["choices"]]
    assert [one for one in told if one is not None] == [odd]


def test_a_stream_is_put_together_with_its_log_probabilities() -> None:
    halves = [
        {name: value[:1] for name, value in SCORES.items()},
        {name: value[1:] for name, value in SCORES.items()},
    ]
    chunks = [
        {"object": "text_completion", "model": "m", "choices": [text("Pa", finish=None, logprobs=halves[0])]},
        {
            "object": "text_completion",
            "model": "m",
            "choices": [text("ris 雪", finish=None, logprobs=halves[1])],
        },
        {"object": "text_completion", "model": "m", "choices": [text("", stop_reason=7)]},
        {"object": "text_completion", "model": "m", "choices": [], "usage": USAGE},
    ]
    for size in (1, 9, 10_000):
        kept = assembled(COMPLETIONS, sse_bytes(chunks), stream=True, size=size)
        assert isinstance(kept, Completion), kept
        assert kept.usage == Usage(3, 2)
        assert (kept.native, kept.chunks) == (None, None)
        assert replayed(kept)["choices"] == [text(logprobs=SCORES, stop_reason=7)]
    read = [SdkCompletion.construct(**event) for event in replayed(kept, stream=True)]
    assert "".join(choice.text for chunk in read for choice in chunk.choices) == "Paris 雪"
    assert all(event["id"] == f"cmpl-{ID.decode()}" for event in replayed(kept, stream=True))


def test_a_stream_that_contradicts_itself_is_replayed_as_it_was() -> None:
    chunks = [
        {"object": "text_completion", "model": "m", "choices": [text("a", finish=None, note=[1])]},
        {"object": "text_completion", "model": "m", "choices": [text("b", note=[2])], "usage": USAGE},
    ]
    kept = assembled(COMPLETIONS, sse_bytes(chunks), stream=True)
    assert isinstance(kept, Completion)
    assert kept.chunks is not None
    assert not COMPLETIONS.can_replay(kept, stream=False)
    with pytest.raises(ValueError, match="stream"):
        COMPLETIONS.layout(kept, wanted(stream=False))
    named = {"id": f"cmpl-{ID.decode()}", "created": int(CREATED)}
    assert replayed(kept, stream=True) == [{**chunk, **named} for chunk in chunks]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (answer(text(finish="length")), "finish_reason"),
        (answer(text(finish=None)), "finish_reason"),
        (answer(text("")), "empty"),
        (answer(text(None)), "empty"),
        (answer(text(5)), "shape"),
        (answer(text(message={"content": "x"})), "shape"),
        (answer(text(message={"tool_calls": [{}]})), "shape"),
        (answer(text(), text()), "shape"),
        (answer(choices=[]), "shape"),
        (answer(object="chat.completion"), "shape"),
        ({"error": {"message": "no"}}, "error"),
        ([], "shape"),
        (b"<html>", "invalid_json"),
    ],
)
def test_bad_answers_are_not_kept(document: Any, reason: str) -> None:
    assert keep(document) == Incomplete(reason)


def chat(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **more}
    return {"object": "chat.completion", "model": "m", "choices": [choice]}


def spelled(**fields: Any) -> dict[str, Any]:
    return {"content": [{"token": "x", "logprob": -1.0, "bytes": [120], "top_logprobs": [], **fields}]}


@pytest.mark.parametrize(
    "document",
    [
        chat({"content": "x", "tool_calls": [{"id": "1"}]}, "tool_calls"),
        chat({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        chat({"content": None, "audio": {"data": ""}}),
        chat({"content": [{"type": "text", "text": "x"}]}),
        chat({"content": "x"}, text="y"),
        chat({"content": "x"}, logprobs=spelled(bytes=[1])),
        chat({"content": "x"}, logprobs=spelled(vendor=1)),
        chat({"content": "x"}, logprobs=spelled(top_logprobs=[spelled()["content"][0]] * 2)),
        chat({"content": "x"}, logprobs={"content": None, "refusal": spelled()["content"]}),
    ],
)
def test_more_than_a_text_is_not_said(document: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        COMPLETIONS.write_answer(document)
    kept = complete(document)
    if isinstance(kept, Completion):
        assert not COMPLETIONS.can_replay(kept, stream=True)
        assert not COMPLETIONS.can_replay(kept, stream=False)


def live(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    writer = COMPLETIONS.live_writer(wanted(stream=True), "9", 1)
    return events_of(b"".join([writer.feed(chunk) for chunk in chunks]) + writer.finish())


def delta(said: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def test_a_refusal_is_text_that_a_filter_ended() -> None:
    whole = COMPLETIONS.write_answer(chat({"content": None, "refusal": "I cannot."}))
    assert whole["choices"][0]["text"] == "I cannot."
    assert whole["choices"][0]["finish_reason"] == "content_filter"
    events = live(delta({"refusal": "I can"}), delta({"refusal": "not."}), delta({}, "stop"))
    assert [event["choices"][0]["text"] for event in events] == ["I can", "not.", ""]
    assert events[-1]["choices"][0]["finish_reason"] == "content_filter"


def test_a_call_in_a_live_stream_ends_it_in_an_error() -> None:
    events = live(delta({"content": "x"}), delta({"tool_calls": [{"index": 0}]}), delta({"content": "y"}))
    assert len(events) == 2
    assert events[-1]["error"]["type"] == "upstream_error"


def test_offsets_of_a_live_stream_go_on() -> None:
    several = [{**delta({"content": "x"})["choices"][0], "logprobs": spelled()} for _ in range(3)]
    events = live(*({"model": "m", "choices": [choice]} for choice in several))
    assert [event["choices"][0]["logprobs"]["text_offset"] for event in events] == [[0], [1], [2]]


def test_usage_is_told_where_it_is_asked_for() -> None:
    kept = keep(answer())
    assert isinstance(kept, Completion)
    assert replayed(kept, usage="zero")["usage"]["total_tokens"] == 0
    assert replayed(kept, usage="zero")["usage"]["semcache_saved"] == USAGE
    assert replayed(kept, stream=True)[-1]["usage"] == USAGE
    assert not any("usage" in event for event in replayed(kept, stream=True, include_usage=False))
