"""Chat requests as requests of Gemini: what can be said comes back, what cannot is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semcache.dialects.gemini.wire import GEMINI
from semcache.errors import RequestError
from tests.dialects.gemini.test_requests import asked

CHATS = [
    {"messages": [{"role": "developer", "content": "s"}, {"role": "user", "content": "q"}]},
    {"tool_choice": "required"},
    {"tool_choice": "none"},
    {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    {"response_format": {"type": "json_object"}},
    {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}},
        }
    },
    {"reasoning_effort": "none"},
    {"reasoning_effort": "high"},
    {"n": 2, "seed": 1, "presence_penalty": 0.5, "frequency_penalty": 1},
    {"logprobs": True, "top_logprobs": 2},
    {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                    {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
                ],
            }
        ]
    },
]


@pytest.mark.parametrize("more", CHATS, ids=str)
def test_what_chat_asks_comes_back(more: dict[str, Any]) -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}
    written = GEMINI.write(chat)
    read = asked(written.body, written.path, written.query)
    wanted = json.loads(json.dumps(chat).replace("developer", "system"))
    assert {name: read.body.get(name) for name in wanted} == wanted
    assert read.unsayable == ()


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"logit_bias": {"1": 2}}, "logit_bias"),
        ({"x_new": 1}, "x_new"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"tools": [{"type": "custom", "custom": {"name": "f"}}]}, "tools[0]"),
        ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        ({"messages": [{"role": "system", "content": "s"}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "s"}]},
            "messages[1].role",
        ),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "a"}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "user", "content": "a", "name": "Bob"}]}, "messages[0].name"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a"}}]}
                ]
            },
            "messages[0].content",
        ),
    ],
    ids=str,
)
def test_what_gemini_cannot_be_asked_is_refused_by_name(more: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        GEMINI.write({"model": "m", "messages": [{"role": "user", "content": "hi"}], **more})
    assert (caught.value.status, caught.value.param) == (400, param)
