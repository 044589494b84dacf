"""From messages to prompt tokens, through the model's own chat template.

The template comes from the model folder and runs in transformers' sandbox. Knows no HTTP and
no sampling. A template may ignore tools: whether they are understood is the model's affair.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import orjson
from jinja2.exceptions import TemplateError

from semcache.engine.fields import Message, ToolCall
from semcache.engine.schema import ChatBody
from semcache.errors import RequestError


class ChatTemplate:
    """A tokenizer and its template; one caller at a time, since fast tokenizers change state inside."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._turn = threading.Lock()

    def tokens(self, body: ChatBody) -> tuple[int, ...]:
        """Render the conversation with the opening of an answer, and cut it into token ids.

        Takes milliseconds to seconds by the length of the text: not for an event loop.

        Raises:
            RequestError: 400: content that is no text, or a conversation that the template refuses.
        """
        messages = [_plain(message, index) for index, message in enumerate(body.messages)]
        tools = None if body.tool_choice == "none" else _plain_tools(body)
        with self._turn:
            try:
                text = self._tokenizer.apply_chat_template(
                    messages, tools=tools, add_generation_prompt=True, tokenize=False
                )
            except (TemplateError, TypeError, ValueError) as error:
                # The words of a template's own error may quote the conversation.
                raise RequestError(
                    "messages: the model's chat template does not accept this conversation",
                    code="invalid_value",
                    param="messages",
                ) from error
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tuple(ids)


def _plain(message: Message, index: int) -> dict[str, Any]:
    """Give a message as templates expect it: text content, `developer` as its older name `system`."""
    role = "system" if message.role == "developer" else message.role
    plain: dict[str, Any] = {"role": role, "content": _text(message, index)}
    if message.tool_calls:
        plain["tool_calls"] = [_plain_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        plain["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        plain["name"] = message.name
    return plain


def _text(message: Message, index: int) -> str:
    """Join text parts by line breaks.

    Raises:
        RequestError: 400: a part that is no text, or no content where there must be some.
    """
    if isinstance(message.content, str):
        return message.content
    if message.content is None:
        if message.role == "assistant":
            return ""
        raise _bad_content("content is required", f"messages[{index}].content")
    texts = []
    for number, part in enumerate(message.content):
        if part.type != "text" or part.text is None:
            raise _bad_content("only text can be read", f"messages[{index}].content[{number}]")
        texts.append(part.text)
    return "\n".join(texts)


def _bad_content(words: str, path: str) -> RequestError:
    return RequestError(f"{path}: {words}", code="unsupported_content", param=path)


def _plain_call(call: ToolCall) -> dict[str, Any]:
    """Give a tool call with its arguments as an object, the form that templates print."""
    arguments: Any = call.function.arguments
    with contextlib.suppress(orjson.JSONDecodeError):  # a model wrote it; templates can print text as it is
        arguments = orjson.loads(call.function.arguments)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.function.name, "arguments": arguments},
    }


def _plain_tools(body: ChatBody) -> list[dict[str, Any]] | None:
    if not body.tools:
        return None
    return [tool.model_dump(exclude_none=True) for tool in body.tools]
