"""The official Anthropic client, over real sockets, reads what is laid out and what is translated live, and is read itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

anthropic = pytest.importorskip("anthropic")

from pydantic import BaseModel, TypeAdapter  # noqa: E402  behind the check for the client

from semcache.core import ChatRequest  # noqa: E402  behind the check for the client
from semcache.dialects.anthropic import MESSAGES  # noqa: E402  behind the check for the client
from semcache.dialects.dialect import ErrorWords  # noqa: E402  behind the check for the client
from semcache.dialects.request import request_of  # noqa: E402  behind the check for the client
from tests.dialects.anthropic import answered as by  # noqa: E402  behind the check for the client
from tests.dialects.anthropic.test_answer import message  # noqa: E402  behind the check for the client
from tests.dialects.anthropic.test_live import USAGE, call, chunk, used, written  # noqa: E402  the same
from tests.fakes import upstream_server as fake  # noqa: E402  behind the check for the client

TEXT = "Zürich 雪 👨‍👩‍👧 and more. " * 30
QUESTION: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 99,
    "messages": [{"role": "user", "content": "hi"}],
}
CONTENT = [
    {"type": "thinking", "thinking": "hm " * 90, "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    {"type": "text", "text": TEXT, "citations": [{"type": "char_location", "cited_text": "x"}]},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"city": "雪", "list": [1, {"a": None}]}},
    {"type": "text", "text": "and"},
    {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
    {"type": "server_tool_use", "id": "t3", "name": "web_search", "input": {"query": "x"}},
]


class Ways:
    """One scripted upstream and the client in front of it."""

    def __init__(self, behaviour: fake.Behaviour) -> None:
        self._thread = fake.in_thread(behaviour)

    def __enter__(self) -> Ways:
        self.server = self._thread.__enter__()
        url = self.server.url.removesuffix("/v1")
        self.client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        return self

    def __exit__(self, *error: Any) -> None:
        self.client.close()
        self._thread.__exit__(*error)


def accumulated(stream: bytes) -> Any:
    with Ways(fake.stream(stream)) as ways, ways.client.messages.stream(**QUESTION) as events:
        return events.get_final_message()


def without_nulls(model: Any) -> dict[str, Any]:
    """Give what the client parsed without the fields that its types add."""
    return {name: value for name, value in model.to_dict().items() if value is not None}


def plain(blocks: Any) -> list[dict[str, Any]]:
    return [without_nulls(block) for block in blocks]


@pytest.fixture(scope="module")
def stored() -> Any:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3}
    return by.stored(message(*CONTENT, stop_reason="tool_use", usage=usage))


def test_a_stored_stream_with_every_kind_of_block(stored: Any) -> None:
    found = accumulated(by.replayed(stored, stream=True))
    wanted = json.loads(json.dumps(CONTENT))
    assert plain(found.content) == wanted
    assert found.id == "msg_" + by.ID.decode()
    assert (found.model, found.role, found.stop_reason) == ("claude", "assistant", "tool_use")
    assert (found.usage.input_tokens, found.usage.cache_read_input_tokens, found.usage.output_tokens) == (
        5,
        7,
        3,
    )


def test_a_stored_document_is_the_same_message(stored: Any) -> None:
    with Ways(fake.reply(by.replayed(stored, stream=False))) as ways:
        found = ways.client.messages.create(**QUESTION)
    streamed = accumulated(by.replayed(stored, stream=True))
    assert without_nulls(found) == without_nulls(streamed)


def test_a_replay_costs_nothing_and_tells_what_it_saved(stored: Any) -> None:
    found = accumulated(by.replayed(stored, stream=True, zero=True))
    assert (found.usage.input_tokens, found.usage.cache_read_input_tokens, found.usage.output_tokens) == (
        0,
        0,
        0,
    )
    assert found.usage.semcache_saved["input_tokens"] == 5


def test_events_of_a_stored_stream_are_all_known_to_the_client(stored: Any) -> None:
    with Ways(fake.stream(by.replayed(stored, stream=True))) as ways:
        events = list(ways.client.messages.create(stream=True, **QUESTION))
    assert {event.type for event in events} == {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    text = "".join(delta.text for delta in deltas if delta.type == "text_delta")
    assert text == TEXT + "and"


def chat_stream() -> Iterator[dict[str, Any]]:
    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"reasoning_content": "hm "})
    yield chunk({"reasoning_content": "yes"})
    yield from (chunk({"content": TEXT[at : at + 50]}) for at in range(0, len(TEXT), 50))
    yield chunk(call(0, "", id="t1", name="f"))
    yield from (chunk(call(0, part)) for part in ('{"city":', ' "雪"', "}"))
    yield chunk(call(1, "", id="t2", name="g"))
    yield chunk({}, "tool_calls")
    yield used({**USAGE, "prompt_tokens_details": {"cached_tokens": 4}})


def test_a_stream_translated_live() -> None:
    found = accumulated(written(list(chat_stream())))
    assert plain(found.content) == [
        {"type": "thinking", "thinking": "hm yes", "signature": ""},
        {"type": "text", "text": TEXT},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"city": "雪"}},
        {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
    ]
    assert found.stop_reason == "tool_use"
    assert (found.usage.input_tokens, found.usage.cache_read_input_tokens, found.usage.output_tokens) == (
        8,
        4,
        3,
    )


def test_an_error_in_mid_stream_raises() -> None:
    begun = list(chat_stream())[:5]
    broken = written([*begun, {"error": {"message": "cut here", "type": "upstream_error"}}])
    with pytest.raises(anthropic.APIStatusError, match="cut here"):
        accumulated(broken)
    event = MESSAGES.write_error_event(ErrorWords("cut there", 502, "upstream_error"))
    with pytest.raises(anthropic.APIStatusError, match="cut there"):
        accumulated(by.start() + event)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (429, "RateLimitError"),
        (502, "InternalServerError"),
    ],
)
def test_errors_raise_their_class_with_our_words(status: int, kind: str) -> None:
    body = MESSAGES.write_error(ErrorWords("not so", status, "x"))
    with (
        Ways(fake.reply(body, status=status)) as ways,
        pytest.raises(getattr(anthropic, kind), match="not so") as caught,
    ):
        ways.client.messages.create(**QUESTION)
    assert caught.value.body["type"] == "error"


class City(BaseModel):
    name: str


def sent(method: str, **fields: Any) -> ChatRequest:
    """Give what the client sends, read."""
    answer = message({"type": "text", "text": '{"name":"Paris"}'})
    with Ways(fake.reply(json.dumps(answer).encode())) as ways:
        place = ways.client
        for name in method.split("."):
            place = getattr(place, name)
        place(**{**QUESTION, **fields})
    seen = ways.server.requests[0]
    path, _, query = seen.target.partition("?")
    return request_of(MESSAGES, seen.json(), path, query.encode())


def test_what_the_client_sends_is_read() -> None:
    assert sent("messages.create").prompt == "hi"
    form = sent("messages.parse", output_format=City)
    assert form.body["response_format"]["json_schema"]["schema"]["properties"]["name"]["type"] == "string"
    assert (form.unsayable, form.prompt) == ((), "hi")
    beta = sent("beta.messages.create", betas=["x-2026-01-01"], thinking={"type": "disabled"})
    assert (beta.path, beta.unsayable) == ("/v1/messages", ())


def test_an_answer_goes_back_as_the_client_hands_it_on() -> None:
    """The next turn holds the last answer, with the nulls that the client's types add."""
    unsigned = {"type": "thinking", "thinking": "hm", "signature": ""}
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    stream = by.replayed(by.stored(message(unsigned, {"type": "text", "text": "x"}, use)), stream=True)
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
    asked = sent("messages.create", messages=[*QUESTION["messages"], accumulated(stream).to_param(), result])
    assert asked.unsayable == ()
    assert [turn["role"] for turn in asked.body["messages"]] == ["user", "assistant", "tool"]
    said = asked.body["messages"][1]
    assert (said["reasoning_content"], said["content"]) == ("hm", "x")
    assert said["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":1}'}


def test_what_we_write_is_a_request_by_the_clients_types() -> None:
    from anthropic.types import message_create_params as params

    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    chat = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "x"}, image]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call(0, "{}", id="c", name="f")["tool_calls"][0]],
            },
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            {"role": "system", "content": "later"},
            {"role": "user", "content": "y"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}},
        },
        "reasoning_effort": "high",
        "stop": "END",
        "user": "u",
    }
    body = MESSAGES.write(chat).body
    adapter = TypeAdapter(params.MessageCreateParamsNonStreaming)
    told = adapter.validate_python(body)
    assert told.keys() == body.keys()
    # Lists are checked as they are walked.
    assert [list(turn["content"]) for turn in told["messages"] if not isinstance(turn["content"], str)]
    assert [tool["name"] for tool in told["tools"]] == ["f"]
