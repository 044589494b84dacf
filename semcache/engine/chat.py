"""From messages to prompt tokens, through the model's own chat template.

The template comes from the model folder and runs in transformers' sandbox. Knows no HTTP, no
sampling and no owner. A template may ignore tools: whether they are understood is the model's affair.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import orjson
from jinja2.exceptions import TemplateError

from semcache.engine.fields import Message, ToolCall
from semcache.engine.schema import ChatBody
from semcache.engine.tokenise import Cutter
from semcache.errors import RequestError

_CHARACTERS_A_TOKEN = 16
"""No prose has longer tokens; a bound on how much of a prediction is read."""


class ChatTemplate:
    """A tokenizer and its template; one caller at a time, since fast tokenizers change state inside.

    All methods take milliseconds to seconds by the length of the text: not for an event loop.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._cutter = Cutter(tokenizer)
        self._turn = threading.Lock()

    def tokens(self, body: ChatBody, *, opening: bool = True) -> tuple[int, ...]:
        """Render the conversation, with the opening of an answer or without, and cut it into token ids.

        Raises:
            RequestError: 400: content that is no text, or a conversation that the template refuses.
        """
        with self._turn:
            return self._cutter.ids(self._accepted(body, opening=opening))

    def borders(self, body: ChatBody, counts: Sequence[int], prompt: tuple[int, ...]) -> tuple[int, ...]:
        """Say how many tokens of `prompt` are settled by its first messages alone, for each count of them.

        That is the prefix which the prompt has in common with those messages, rendered and cut by
        themselves: ids are compared, nothing is cut at the border. 0 for messages that the
        template does not accept alone.
        """
        with self._turn:
            return tuple(self._border(body, count, prompt) for count in counts)

    def continuation(self, body: ChatBody, prompt: tuple[int, ...], text: str, limit: int) -> tuple[int, ...]:
        """Give at most `limit` tokens that an answer beginning with `text` would consist of."""
        text = text[: limit * _CHARACTERS_A_TOKEN]
        with self._turn:
            whole = self._cutter.ids(self._accepted(body, opening=True) + text)
            # Else its first characters would join the prompt's last token, which is fixed already.
            follows = whole[: len(prompt)] == prompt
            ids = whole[len(prompt) :] if follows else self._cutter.ids(text)
        return tuple(token for token in ids if token not in self._cutter.special)[:limit]

    def _border(self, body: ChatBody, count: int, prompt: tuple[int, ...]) -> int:
        text = self._render(body, count, opening=False) if count else None
        return 0 if text is None else common_prefix(self._cutter.ids(text), prompt)

    def _accepted(self, body: ChatBody, *, opening: bool) -> str:
        text = self._render(body, len(body.messages), opening=opening)
        if text is None:
            raise RequestError(
                "messages: the model's chat template does not accept this conversation",
                code="invalid_value",
                param="messages",
            )
        return text

    def _render(self, body: ChatBody, count: int, *, opening: bool) -> str | None:
        """Render the first `count` messages; None when the template refuses them.

        The words of a template's own error may quote the conversation, so they go no further.
        """
        messages = [_plain(message, index) for index, message in enumerate(body.messages[:count])]
        tools = None if body.tool_choice == "none" else _plain_tools(body)
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, tools=tools, add_generation_prompt=opening, tokenize=False
            )
        except (TemplateError, TypeError, ValueError, RecursionError):
            return None
        return text


def common_prefix(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Count the equal ids at the head of two rows."""
    length = min(len(left), len(right))
    if left[:length] == right[:length]:
        return length
    return next(at for at in range(length) if left[at] != right[at])


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
