"""From messages to prompt tokens."""

from __future__ import annotations

import threading
from typing import Any

import orjson
import pytest

from semcache.engine.chat import ChatTemplate
from semcache.engine.schema import ChatBody, parse_chat
from semcache.errors import RequestError
from tests.engine.tiny import tiny_tokenizer

TOKENIZER = tiny_tokenizer()


def prompt(messages: list[dict[str, Any]], **fields: Any) -> str:
    body = parse_chat(orjson.dumps({"model": "local", "messages": messages, **fields}))
    return str(TOKENIZER.decode(ChatTemplate(TOKENIZER).tokens(body)))


def user(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


def test_the_template_frames_the_conversation() -> None:
    messages = [{"role": "developer", "content": "Be kind."}, *user("Hé 😀")]
    assert prompt(messages) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHé 😀<|im_end|>\n<|im_start|>assistant\n"
    )


def test_text_parts_are_joined_by_lines() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert "user\none\ntwo<" in prompt(user(parts))


TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


def test_tools_reach_the_template_unless_forbidden() -> None:
    assert '"name": "weather"' in prompt(user("hi"), tools=TOOLS)
    assert "weather" not in prompt(user("hi"), tools=TOOLS, tool_choice="none")
    assert "tools" not in prompt(user("hi"), tools=[])


@pytest.mark.parametrize(
    ("arguments", "shown"), [('{"city": "Oslo"}', '{"city": "Oslo"}'), ("{broken", '"{broken"')]
)
def test_earlier_tool_calls_show_their_arguments(arguments: str, shown: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    messages = [
        *user("Weather?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    text = prompt(messages)
    assert f"[weather {shown}]" in text
    assert "<|im_start|>tool\nrain" in text


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (
            [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "u"}}],
            "messages[0].content[1]",
        ),
        ([{"type": "input_audio", "input_audio": {}}], "messages[0].content[0]"),
        ([{"type": "text"}], "messages[0].content[0]"),
        (None, "messages[0].content"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(content: Any, param: str) -> None:
    with pytest.raises(RequestError) as refused:
        prompt(user(content))
    assert (refused.value.status, refused.value.param) == (400, param)


def test_a_conversation_that_the_template_refuses_is_a_bad_request_and_not_quoted() -> None:
    with pytest.raises(RequestError) as refused:
        prompt(user("refuse me"))
    assert refused.value.status == 400
    assert "refuse me" not in refused.value.message


def test_many_threads_may_ask_at_once() -> None:
    template = ChatTemplate(TOKENIZER)
    bodies = [parse_chat(orjson.dumps({"model": "m", "messages": user(f"q{n} " * n)})) for n in range(40)]
    expected = [template.tokens(body) for body in bodies]
    found: dict[int, tuple[int, ...]] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: template.tokens(bodies[n])})) for n in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [found[n] for n in range(40)] == expected


def test_tools_nested_beyond_reason_are_a_bad_request() -> None:
    parameters = orjson.loads(b'{"a":' * 950 + b"1" + b"}" * 950)
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    body = ChatBody(model="m", messages=[{"role": "user", "content": "x"}], tools=tools)
    with pytest.raises(RequestError) as refused:
        ChatTemplate(TOKENIZER).tokens(body)
    assert refused.value.status == 400
