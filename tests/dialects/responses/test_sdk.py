"""The official OpenAI client, over real sockets, on stored answers and on a chat model's streams told live."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from pydantic import BaseModel, TypeAdapter

from semcache.core import ChatRequest, Completion
from semcache.dialects.dialect import ErrorWords, Wanted
from semcache.dialects.request import request_of
from semcache.dialects.responses.wire import RESPONSES
from tests.dialects.responses import told
from tests.dialects.responses.test_live import chunk, live
from tests.fakes import upstream_server as fake
from tests.fakes.upstream_server import Seen, in_thread

TEXT = "Zürich 雪 👨‍👩‍👧 and more. " * 30
ID, CREATED = b"c0ffee", b"1800000000"
NOTE = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "t", "url": "u"}
WHOLE = told.response(
    told.thought(encrypted_content="gAAA"), told.said(TEXT, annotations=[NOTE]), told.called()
)
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "additionalProperties": False,
    },
    "strict": True,
}


class Weather(BaseModel):
    city: str
    degrees: int


@contextmanager
def client_of(script: Any) -> Iterator[openai.OpenAI]:
    with (
        in_thread(script) as server,
        openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        yield client
        assert not server.errors


def stored(answer: dict[str, Any]) -> Completion:
    assembler = RESPONSES.assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(told.sse(told.streamed(answer)))
    outcome = assembler.finish()
    assert isinstance(outcome, Completion), outcome
    return outcome


def replay(answer: dict[str, Any]) -> fake.ByRequest:
    """Serve a stored answer in the wire mode that is asked for."""
    completion = stored(answer)

    def choose(seen: Seen) -> fake.Behaviour:
        assert seen.target == "/v1/responses"
        stream = bool(seen.json().get("stream"))
        reply = RESPONSES.layout(completion, Wanted(stream, True, "original")).whole(ID, CREATED)
        return fake.stream(reply) if stream else fake.reply(reply)

    return fake.ByRequest(choose)


def translated(model: Callable[[ChatRequest], dict[str, Any]]) -> fake.ByRequest:
    """Ask a chat model, told by its whole answers, and tell them as the request wants."""

    def choose(seen: Seen) -> fake.Behaviour:
        request = request_of(RESPONSES, seen.json(), "/v1/responses")
        assert request.unsayable == ()
        message = model(request)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if not request.stream:
            whole = fake.chat_body(None, message=message, finish_reason=finish)
            return fake.json_reply(RESPONSES.write_answer(whole))
        deltas = [{"content": piece} for piece in (message.get("content") or "").split("|")]
        calls = [{"index": n, **call} for n, call in enumerate(message.get("tool_calls", ()))]
        chunks = [chunk(delta) for delta in [*deltas, *([{"tool_calls": calls}] if calls else [])]]
        usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        return fake.stream(live([*chunks, chunk({}, finish), {"choices": [], "usage": usage}]))

    return fake.ByRequest(choose)


def check(response: Any) -> None:
    assert response.id == "resp_c0ffee"
    assert response.created_at == int(CREATED)
    assert response.status == "completed"
    assert response.output_text == TEXT
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert response.output[0].encrypted_content == "gAAA"
    assert response.output[0].summary[0].text == "I looked."
    assert response.output[1].content[0].annotations[0].url == "u"
    assert response.output[2].call_id == "call_1"
    assert response.usage.input_tokens_details.cached_tokens == 8
    assert response.usage.output_tokens_details.reasoning_tokens == 4
    assert response.instructions == "be brief"


def test_a_stored_answer_as_a_document_and_as_events() -> None:
    with client_of(replay(WHOLE)) as client:
        check(client.responses.create(model="m", input="hi", store=False))
        events = list(client.responses.create(model="m", input="hi", store=False, stream=True))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[0].type == "response.created"
        assert events[-1].type == "response.completed"
        check(events[-1].response)
        with client.responses.stream(model="m", input="hi", store=False) as stream:
            pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
            check(stream.get_final_response())
        assert "".join(pieces) == TEXT
        assert len(pieces) > 3


def test_every_event_has_the_shape_that_the_client_declares() -> None:
    from openai.types.responses import Response, ResponseStreamEvent

    event_type: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    stream = RESPONSES.layout(stored(WHOLE), Wanted(True, True)).whole(ID, CREATED)
    lively = live([chunk({"reasoning_content": "hm"}), chunk({"content": "x"}), chunk({}, "length")])
    for line in [
        *stream.split(b"\n"),
        *lively.split(b"\n"),
        *RESPONSES.write_error_event(ERROR).split(b"\n"),
    ]:
        if line.startswith(b"data: "):
            event_type.validate_json(line.removeprefix(b"data: "), strict=True)
    Response.model_validate(RESPONSES.write_answer(fake.chat_body("x")), strict=True)


ERROR = ErrorWords("it broke", 502, "upstream_error", None, None)


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_model_answers_and_nothing_is_said_to_be_stored(stream: bool) -> None:
    asked: list[ChatRequest] = []

    def model(request: ChatRequest) -> dict[str, Any]:
        asked.append(request)
        return {"content": "Par|is"} if request.stream else {"content": "Paris"}

    with client_of(translated(model)) as client:
        if stream:
            with client.responses.stream(model="m", input="capital?", instructions="be brief") as events:
                response: Any = events.get_final_response()
        else:
            response = client.responses.create(model="m", input="capital?", instructions="be brief")
    assert response.output_text == "Paris"
    assert response.store is False
    assert response.usage.total_tokens == 17
    assert asked[0].body["messages"][0] == {"role": "system", "content": "be brief"}
    assert asked[0].uncacheable == "stateful"


@pytest.mark.parametrize("stream", [False, True])
def test_structured_output_is_parsed(stream: bool) -> None:
    def model(request: ChatRequest) -> dict[str, Any]:
        form = request.body["response_format"]
        assert (form["type"], form["json_schema"]["name"]) == ("json_schema", "Weather")
        return {
            "content": '{"city": "Paris",| "degrees": 3}'
            if request.stream
            else '{"city": "Paris", "degrees": 3}'
        }

    with client_of(translated(model)) as client:
        if stream:
            with client.responses.stream(model="m", input="weather?", text_format=Weather) as events:
                parsed = events.get_final_response().output_parsed
        else:
            parsed = client.responses.parse(model="m", input="weather?", text_format=Weather).output_parsed
    assert parsed == Weather(city="Paris", degrees=3)


def agent(request: ChatRequest) -> dict[str, Any]:
    """A model that asks for the weather of two cities and then says what it was told."""
    messages = request.body["messages"]
    assert request.body["tools"][0]["function"]["name"] == "get_weather"
    if messages[-1]["role"] != "tool":
        named = [
            {"name": "get_weather", "arguments": json.dumps({"city": city})} for city in ("Paris", "Oslo")
        ]
        calls = [{"id": f"call_{n}", "type": "function", "function": one} for n, one in enumerate(named)]
        return {"content": "One moment.", "reasoning_content": "Look first.", "tool_calls": calls}
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
    said = messages[1]
    assert said["content"] == [{"type": "text", "text": "One moment."}]
    assert [call["id"] for call in said["tool_calls"]] == ["call_0", "call_1"]
    return {"content": " ".join(message["content"] for message in messages[2:])}


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_calls_tools_and_hands_back_all_that_it_was_given(stream: bool) -> None:
    items: list[Any] = [{"role": "user", "content": "weather?"}]
    with client_of(translated(agent)) as client:
        for _ in range(2):
            given: Any = {"model": "m", "input": items, "tools": [TOOL], "store": False}
            if stream:
                with client.responses.stream(**given) as events:
                    response: Any = events.get_final_response()
            else:
                response = client.responses.create(**given)
            items += response.output
            for item in response.output:
                if item.type == "function_call":
                    city = json.loads(item.arguments)["city"]
                    output = {
                        "type": "function_call_output",
                        "call_id": item.call_id,
                        "output": f"{city}: snow",
                    }
                    items.append(output)
    assert response.output_text == "Paris: snow Oslo: snow"


def test_what_was_replayed_can_be_handed_back() -> None:
    with client_of(replay(WHOLE)) as client:
        response: Any = client.responses.create(model="m", input="hi", store=False)
    items = [item.to_dict() for item in response.output]
    asked = request_of(RESPONSES, {"model": "m", "input": items, "store": False}, "/v1/responses")
    assert asked.uncacheable is None
    # Two replays have two names for the same.
    renamed = json.loads(json.dumps(items).replace("c0ffee", "decade"))
    again = request_of(RESPONSES, {"model": "m", "input": renamed, "store": False}, "/v1/responses")
    assert again.body == asked.body


def test_errors_are_the_client_s_own() -> None:
    body = RESPONSES.write_error(
        ErrorWords("no", 400, "invalid_request_error", "unsupported_parameter", "prompt")
    )
    with client_of(fake.reply(body, status=400)) as client, pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="m", input="hi")
    assert (refused.value.param, refused.value.code) == ("prompt", "unsupported_parameter")


@pytest.mark.parametrize("kept", [0, 5])
def test_a_broken_stream_raises(kept: int) -> None:
    events = list(RESPONSES.layout(stored(WHOLE), Wanted(True, True)).events(ID, CREATED))[:kept]
    broken = b"".join(events) + RESPONSES.write_error_event(ERROR)
    with client_of(fake.stream(broken)) as client:
        stream = client.responses.create(model="m", input="hi", stream=True)
        with pytest.raises(openai.APIError, match="it broke"):
            list(stream)
        if kept:
            with (
                pytest.raises(openai.APIError, match="it broke"),
                client.responses.stream(model="m", input="hi") as held,
            ):
                held.until_done()


def test_an_error_told_live_raises() -> None:
    broken = live([chunk({"content": "x"}), {"error": {"message": "it broke", "type": "server_error"}}])
    with client_of(fake.stream(broken)) as client, pytest.raises(openai.APIError, match="it broke"):
        list(client.responses.create(model="m", input="hi", stream=True))


async def test_the_async_client_reads_the_same() -> None:
    with in_thread(replay(WHOLE)) as server:
        async with (
            openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
            client.responses.stream(model="m", input="hi", store=False) as stream,
        ):
            check(await stream.get_final_response())
