"""Requests of the responses API in chat's words. Pure.

Every field of a request ends in the chat body or in `extra`, so that two requests which may be answered differently never
look the same; fields nobody knows stand under `unknown` in there. Whether an answer may be kept is another question:
the API stores answers and lets later calls build on them unless `store` is false, and the id of a replay exists nowhere,
so whatever is stored or looked up there is `uncacheable`. A request that only leaves `store` at its default can still be
told to a model that speaks chat: nobody stores anything then, and the answer says `store: false`.
"""

from __future__ import annotations

from typing import Any

from semcache.dialects.dialect import Translated
from semcache.dialects.responses.fields import TOOL, read_choice, read_format, read_tool
from semcache.dialects.responses.items import Reading

LOGPROBS = "message.output_text.logprobs"
SAME = frozenset(
    (
        "stream",
        "temperature",
        "top_p",
        "moderation",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "service_tier",
    )
)
"""Fields that mean the same in chat."""
_SILENT = frozenset(("store", "metadata", "stream_options", "max_tool_calls", "truncation", "top_logprobs"))
"""Fields whose loss no answer shows: they are about keeping, padding, hosted tools, or an input that is too long, which
then is an error."""
_LOST = frozenset(("background_options", "context_management", "image", "access_programs"))
_STATE = frozenset(("previous_response_id", "conversation", "prompt"))
_REPORTS = frozenset(
    (
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
        "computer_call_output.output.image_url",
        "file_search_call.results",
        "message.input_image.image_url",
        "reasoning.encrypted_content",
        LOGPROBS,
    )
)
"""What `include` may ask for: reports of what a chat model does not do, but for the last."""
_QUIET_REASONING = {"summary": None, "generate_summary": None, "context": "auto", "mode": "standard"}
"""Parts of `reasoning` that ask for nothing a chat model cannot do: any value where None stands, else only that one."""


def read(body: dict[str, Any], path: str, query: bytes) -> Translated:
    """Read a request; what of it is unusable is left for chat's own rules, or the upstream, to refuse."""
    reading = _Reading(body)
    for name, value in body.items():
        reading.take(name, value)
    reading.settle(query)
    stream = body.get("stream")
    return Translated(
        chat=reading.chat,
        extra=reading.extra,
        unsayable=tuple(reading.unsayable),
        stream=stream is True,
        include_usage=True,
        path=path,
        exact_only="logprobs" if body.get("top_logprobs") else None,
        uncacheable="stateful" if reading.is_stateful else None,
        query=query,
    )


class _Reading:
    """Collects what the fields of one request say; `settle` after the last."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._items = Reading()
        self._body = body
        self._unknown: dict[str, Any] = {}
        self.chat: dict[str, Any] = {"model": body.get("model"), "messages": self._items.messages}
        self.extra: dict[str, Any] = {}
        self.unsayable: list[str] = []
        self.is_stateful = body.get("store") is not False
        self._instruct(body.get("instructions"))

    def take(self, name: str, value: Any) -> None:
        """Take one field; order does not matter."""
        match name:
            case "model" | "instructions":
                pass
            case "input" if isinstance(value, str | list):
                self._items.read(value)
            case "tools" if isinstance(value, list):
                self._tools(value)
            case "text" if isinstance(value, dict):
                self._text(value)
            case "reasoning" if isinstance(value, dict):
                self._reasoning(value)
            case "include" if isinstance(value, list):
                self._include(value)
            case _ if value is None and name != "input" and name in _KNOWN:
                pass
            case _:
                self._plain(name, value)

    def settle(self, query: bytes) -> None:
        """Say what follows from all fields together."""
        self.unsayable += self._items.unsayable
        self.is_stateful = self.is_stateful or self._items.is_stateful
        if self.chat.get("stream") is True:
            self.chat["stream_options"] = {"include_usage": True}
        if self.chat.get("logprobs") and self._body.get("top_logprobs") is not None:
            self.chat["top_logprobs"] = self._body["top_logprobs"]
        if not self._items.messages:
            self._items.messages.append({"role": "user", "content": []})
            self.unsayable.append("input")
        if query:
            self.extra["query"] = query.decode("latin-1")
        if self._unknown:
            self.extra["unknown"] = self._unknown

    def _plain(self, name: str, value: Any) -> None:
        if name == "max_output_tokens":
            self.chat["max_completion_tokens"] = value
        elif name in ("tool_choice", "parallel_tool_calls"):
            self._about_tools(name, value)
        elif name in SAME:
            self.chat[name] = value
            if name == "prompt_cache_options":
                self._caching(value)
        elif name in _SILENT or (name == "background" and value is False):
            self.extra[name] = value
        elif name in _STATE or name == "background":
            self.is_stateful = True
            self._lose(name, value)
        else:
            self._lose(name, value)

    def _instruct(self, value: Any) -> None:
        if isinstance(value, str) and value:
            # The answer repeats instructions, not messages: the two are told apart.
            self._items.messages.append({"role": "system", "content": value})
            self.extra["instructions"] = True
        elif value == "":
            self._unknown["instructions"] = value
        elif value is not None:
            self._lose("instructions", value)

    def _tools(self, tools: list[Any]) -> None:
        found: list[dict[str, Any]] = []
        for number, tool in enumerate(tools):
            said = read_tool(tool)
            if said is None:
                self.unsayable.append(f"tools[{number}]")
                kind = tool.get("type") if isinstance(tool, dict) else None
                # Hosted tools look at what is outside.
                self.is_stateful = self.is_stateful or kind not in ("function", "custom")
            found.append({"type": TOOL, "tool": tool} if said is None else said)
        if found:
            self.chat["tools"] = found

    def _about_tools(self, name: str, value: Any) -> None:
        """Without tools these say nothing, and strict chat servers refuse them."""
        said = value if name == "parallel_tool_calls" else read_choice(value)
        idle = name == "parallel_tool_calls" or value in ("auto", "none")
        if said is not None and self._body.get("tools"):
            self.chat[name] = said
        elif idle and not self._body.get("tools"):
            self.extra[name] = value
        else:
            self._lose(name, value)

    def _text(self, text: dict[str, Any]) -> None:
        rest = {name: value for name, value in text.items() if value is not None}
        form = read_format(rest.get("format"))
        if form is not None:
            self.chat["response_format"] = form
            del rest["format"]
        if "verbosity" in rest:
            self.chat["verbosity"] = rest.pop("verbosity")
        self.unsayable += [f"text.{name}" for name in rest]
        if rest:
            self.extra["text"] = rest

    def _reasoning(self, reasoning: dict[str, Any]) -> None:
        rest = {name: value for name, value in reasoning.items() if value is not None}
        if "effort" in rest:
            self.chat["reasoning_effort"] = rest.pop("effort")
        for name, value in rest.items():
            if name not in _QUIET_REASONING or _QUIET_REASONING[name] not in (None, value):
                self.unsayable.append(f"reasoning.{name}")
        if rest:
            self.extra["reasoning"] = rest

    def _include(self, wanted: list[Any]) -> None:
        if LOGPROBS in wanted:
            self.chat["logprobs"] = True
        if not all(isinstance(one, str) and one in _REPORTS for one in wanted):
            self.unsayable.append("include")
        if wanted:
            self.extra["include"] = wanted

    def _caching(self, options: Any) -> None:
        """Filling the provider's cache without an answer, and reports on an earlier call, are no answers to keep."""
        for name in ("prewarm", "comparison_response_id"):
            if isinstance(options, dict) and options.get(name):
                self.is_stateful = True
                self.unsayable.append(f"prompt_cache_options.{name}")

    def _lose(self, name: str, value: Any) -> None:
        self._unknown[name] = value
        self.unsayable.append(name)


_KNOWN = (
    SAME
    | _SILENT
    | _LOST
    | _STATE
    | frozenset(
        (
            "tools",
            "text",
            "reasoning",
            "include",
            "max_output_tokens",
            "tool_choice",
            "parallel_tool_calls",
            "background",
        )
    )
)
"""Fields whose null is the same as their absence."""
