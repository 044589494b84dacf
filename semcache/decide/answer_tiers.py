"""Which whole answers are not stored: the rows of answers in the table of tiers. Pure.

What was cut off, refused, filtered, empty or an error is no whole answer and never comes here (`dialects.chat.answer`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import CachePolicy, ChatRequest, Completion, Scope
from semcache.decide.personal import is_told_to_one
from semcache.decide.reasons import Reason
from semcache.decide.revision.bounded_schema import keeps_to

_EMPTY_BODIES = (b"", b"null", b"{}", b"[]", b'""')
_READ = 8_000
"""Characters of the messages before, in which a name may stand."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One rule.

    Attributes:
        reason: a closed word.
        what: is not stored, for the docs.
        knob: of the policy that changes it; "": none does.
        holds: tells whether an answer to a request meets it.
    """

    reason: Reason
    what: str
    knob: str
    holds: Callable[[CachePolicy, ChatRequest, Completion], bool]


def may_store_answer(policy: CachePolicy, request: ChatRequest, completion: Completion) -> str | None:
    """Say why this whole answer may not be stored, or None."""
    found = (row.reason.value for row in ANSWERS if row.holds(policy, request, completion))
    return next(found, None)


def _is_empty(policy: CachePolicy, request: ChatRequest, completion: Completion) -> bool:
    del policy, request
    return completion.body.strip() in _EMPTY_BODIES


def _is_large(policy: CachePolicy, request: ChatRequest, completion: Completion) -> bool:
    del request
    return completion.size > policy.max_entry_bytes


def _calls_tools(policy: CachePolicy, request: ChatRequest, completion: Completion) -> bool:
    del request
    return completion.has_tool_calls and not (policy.allow_tools and policy.store_tool_calls)


def _has_other_form(policy: CachePolicy, request: ChatRequest, completion: Completion) -> bool:
    """JSON was asked for and is none, or not of that schema; a schema that cannot be judged is not held against it."""
    del policy
    wanted = request.body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    if kind not in ("json_object", "json_schema"):
        return False
    described = wanted.get("json_schema") if isinstance(wanted, Mapping) else None
    schema = described.get("schema") if kind == "json_schema" and isinstance(described, Mapping) else None
    return any(not _is_formed(text, schema) for text in _texts(completion))


def _is_formed(text: str, schema: Any) -> bool:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return schema is None or keeps_to(schema, value) is not False


def _is_personal(policy: CachePolicy, request: ChatRequest, completion: Completion) -> bool:
    if policy.scope is not Scope.TENANT:
        return False
    texts = list(_texts(completion))
    return bool(texts) and is_told_to_one(_asked(request), texts[0])


def _asked(request: ChatRequest) -> str:
    return f"{(request.prompt or '')[:_READ]}\n{request.system[:_READ]}"


def _texts(completion: Completion) -> Iterator[str]:
    """Give the texts of the choices that are one."""
    try:
        document = orjson.loads(completion.body)
    except orjson.JSONDecodeError:
        return
    choices = document.get("choices") if isinstance(document, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content:
            yield content


ANSWERS: tuple[AnswerRow, ...] = (
    AnswerRow(Reason.EMPTY_ANSWER, "an answer that says nothing", "", _is_empty),
    AnswerRow(Reason.TOO_LARGE, "an answer larger than the limit", "`store.max_entry_bytes`", _is_large),
    AnswerRow(Reason.TOOLS, "an answer that calls tools", "`store.tool_calls`, `tools`", _calls_tools),
    AnswerRow(
        Reason.FORM,
        "an answer that is not the JSON, or not of the schema, that `response_format` demands",
        "",
        _has_other_form,
    ),
    AnswerRow(
        Reason.PERSONAL,
        "an answer that tells one person a fact of their own, or greets them by a name that the request does not hold, where users share answers",
        "`scope: user`",
        _is_personal,
    ),
)
