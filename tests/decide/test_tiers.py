"""The table of tiers: every row closes what it names, and a plain request beside it stays open."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import semcache.dialects
from semcache.core import ChatRequest, Completion, Directives, Mode, Scope
from semcache.decide.admission import bypass, may_match, may_read, may_store
from semcache.decide.answer_tiers import ANSWERS, may_store_answer
from semcache.decide.lifetimes import SHORT_LIVES, lifetime
from semcache.decide.reasons import Reason
from semcache.decide.tiers import ROWS, Step, first
from semcache.dialects.closing import FEATURES, Closes, searches_web
from semcache.dialects.request import request_of
from semcache.dialects.table import BY_NAME
from tests.decide.build import policy, request
from tests.decide.tier_page import PAGE, page

PLAIN = Directives()
ASK = "How do I reset my password?"
USER = {"role": "user", "content": ASK}
CHAT, TEXT, VECTOR = "openai.chat", "openai.completions", "openai.embeddings"
RESPONSES, MESSAGES = "openai.responses", "anthropic.messages"
GENERATE, GEMINI = "ollama.generate", "gemini.generate"
PATHS = {
    CHAT: "/v1/chat/completions",
    TEXT: "/v1/completions",
    VECTOR: "/v1/embeddings",
    RESPONSES: "/v1/responses",
    MESSAGES: "/v1/messages",
    GENERATE: "/api/generate",
    GEMINI: "/v1beta/models/m:generateContent",
}
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"model": "m", "messages": [USER]},
    TEXT: {"model": "m", "prompt": ASK},
    VECTOR: {"model": "m", "input": ASK},
    RESPONSES: {"model": "m", "input": ASK, "store": False},
    MESSAGES: {"model": "m", "max_tokens": 9, "messages": [USER]},
    GENERATE: {"model": "m", "prompt": ASK},
    GEMINI: {"contents": [{"role": "user", "parts": [{"text": ASK}]}]},
}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://a.example/a.png"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}

CLOSED: list[tuple[str, Closes, str, dict[str, Any], dict[str, Any]]] = [
    # name, what it closes, dialect, fields with the feature, fields of a plain request beside it
    ("stateful", Closes.CACHE, CHAT, {"previous_response_id": "r"}, {"previous_response_id": None}),
    ("stateful", Closes.CACHE, CHAT, {"background": True}, {"background": False}),
    ("stateful", Closes.CACHE, RESPONSES, {"store": True}, {"store": False}),
    ("stateful", Closes.CACHE, RESPONSES, {"conversation": "c"}, {"metadata": {"conversation": "c"}}),
    ("stateful", Closes.CACHE, GENERATE, {"context": [1, 2]}, {"keep_alive": 5}),
    ("stateful", Closes.CACHE, GEMINI, {"cachedContent": "cachedContents/1"}, {}),
    (
        "audio-id",
        Closes.CACHE,
        CHAT,
        {"messages": [USER, {"role": "assistant", "audio": {"id": "audio_1"}}, USER]},
        {"messages": [USER, {"role": "assistant", "content": "Hi", "audio": None}, USER]},
    ),
    (
        "file-id",
        Closes.CACHE,
        CHAT,
        {"messages": [{"role": "user", "content": [FILE, {"type": "text", "text": ASK}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ASK}]}]},
    ),
    (
        "file-id",
        Closes.CACHE,
        CHAT,
        {"messages": [{"role": "user", "content": [FILE]}, {"role": "assistant", "content": "Ok"}, USER]},
        {"messages": [{"role": "user", "content": "file-1"}, {"role": "assistant", "content": "Ok"}, USER]},
    ),
    ("container", Closes.CACHE, MESSAGES, {"container": {"skills": []}}, {"container": None}),
    (
        "mcp",
        Closes.CACHE,
        MESSAGES,
        {"mcp_servers": [{"type": "url", "url": "https://a.example", "name": "a"}]},
        {"mcp_servers": []},
    ),
    ("load", Closes.CACHE, GENERATE, {"prompt": ""}, {}),
    ("prompts", Closes.CACHE, TEXT, {"prompt": [ASK, ASK]}, {"prompt": [ASK]}),
    ("echo", Closes.CACHE, TEXT, {"echo": True}, {"echo": False}),
    ("suffix", Closes.CACHE, TEXT, {"suffix": "."}, {"suffix": None}),
    ("best-of", Closes.CACHE, TEXT, {"best_of": 2}, {"best_of": 1}),
    ("raw", Closes.MEANING, GENERATE, {"raw": True}, {"raw": False}),
    ("template", Closes.MEANING, GENERATE, {"template": "{{ .Prompt }}"}, {"template": ""}),
    ("suffix", Closes.MEANING, GENERATE, {"suffix": "}"}, {"suffix": ""}),
    ("tools", Closes.MEANING, CHAT, {"tools": [TOOL]}, {"tools": []}),
    ("tools", Closes.MEANING, CHAT, {"functions": [{"name": "f"}]}, {"functions": None}),
    ("tools", Closes.MEANING, MESSAGES, {"tools": [{"name": "f", "input_schema": {}}]}, {"tools": []}),
    ("web-search", Closes.MEANING, CHAT, {"web_search_options": {"search_context_size": "low"}}, {}),
    ("web-search", Closes.MEANING, CHAT, {"plugins": [{"id": "web"}]}, {"plugins": []}),
    ("web-search", Closes.MEANING, GEMINI, {"tools": [{"googleSearch": {}}]}, {}),
    ("n", Closes.MEANING, CHAT, {"n": 2}, {"n": 1}),
    ("n", Closes.MEANING, CHAT, {"n": 2.0}, {"n": 1.0}),
    ("n", Closes.MEANING, TEXT, {"n": 3}, {"n": None}),
    ("seed", Closes.MEANING, CHAT, {"seed": 0}, {"seed": None}),
    ("logprobs", Closes.MEANING, CHAT, {"logprobs": True}, {"logprobs": False}),
    ("logprobs", Closes.MEANING, CHAT, {"prompt_logprobs": 0}, {"prompt_logprobs": None}),
    ("logprobs", Closes.MEANING, TEXT, {"logprobs": 0}, {"logprobs": None}),
    ("prediction", Closes.MEANING, CHAT, {"prediction": {"type": "content", "content": "x"}}, {}),
    ("audio", Closes.MEANING, CHAT, {"modalities": ["text", "audio"]}, {"modalities": ["text"]}),
    ("audio", Closes.MEANING, CHAT, {"audio": {"voice": "alloy"}}, {"audio": None}),
    ("audio", Closes.MEANING, CHAT, {"modalities": ["text", "image"]}, {}),
    (
        "media",
        Closes.MEANING,
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ASK}, PICTURE]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ASK}]}]},
    ),
    (
        "not-user-text",
        Closes.MEANING,
        CHAT,
        {"messages": [USER, {"role": "assistant", "content": "You"}]},
        {"messages": [{"role": "assistant", "content": "You"}, USER]},
    ),
    ("empty-text", Closes.MEANING, CHAT, {"messages": [{"role": "user", "content": " \n"}]}, {}),
]


def asked(dialect: str, fields: dict[str, Any]) -> ChatRequest:
    return request_of(BY_NAME[dialect], {**BODIES[dialect], **fields}, PATHS[dialect])


@pytest.mark.parametrize(("name", "closes", "dialect", "closing", "plain"), CLOSED)
def test_a_feature_closes_its_tier_and_a_plain_request_stays_open(
    name: str, closes: Closes, dialect: str, closing: dict[str, Any], plain: dict[str, Any]
) -> None:
    ours = policy(max_user_turns=3)
    closed, free = asked(dialect, closing), asked(dialect, plain)
    assert (closed.uncacheable if closes is Closes.CACHE else closed.exact_only) == name
    if closes is Closes.CACHE:
        assert bypass(ours, closed, PLAIN) == may_store(ours, closed, PLAIN) == "uncacheable"
    else:
        assert closed.uncacheable is None
        assert bypass(ours, closed, PLAIN) is may_store(ours, closed, PLAIN) is None
        assert may_match(ours, closed, PLAIN) == "exact-only"
    assert (free.uncacheable, free.exact_only, free.prompt) == (None, None, ASK)
    assert bypass(ours, free, PLAIN) is may_match(ours, free, PLAIN) is may_store(ours, free, PLAIN) is None


def test_an_embedding_is_found_by_equal_requests_only() -> None:
    """There is no plain one beside it: every embedding is closed."""
    request = asked(VECTOR, {})
    assert request.exact_only == "embedding"
    assert may_match(policy(), request, PLAIN) == "exact-only"
    assert bypass(policy(), request, PLAIN) is may_store(policy(), request, PLAIN) is None


def test_every_feature_has_its_cases() -> None:
    cases = {(name, closes) for name, closes, *_ in CLOSED} | {("embedding", Closes.MEANING)}
    assert cases == {(row.name, row.closes) for row in FEATURES}
    assert len({(row.name, row.closes) for row in FEATURES}) == len(FEATURES)


def words_of(tree: ast.AST) -> set[str]:
    """Give the words that a module of a dialect names features by."""
    found: set[str] = set()
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        match node:
            case ast.keyword(arg="exact_only" | "uncacheable", value=value):
                values = [value]
            case ast.Assign(targets=[ast.Attribute(attr="exact_only" | "uncacheable")], value=value):
                values = [value]
        while values:
            match values.pop():
                case ast.Constant(value=str(word)):
                    found.add(word)
                case ast.IfExp(body=body, orelse=orelse):
                    values += [body, orelse]
                case ast.BoolOp(values=several):
                    values += several
    return found


def test_dialects_name_no_feature_that_stands_in_no_row() -> None:
    known = {row.name for row in FEATURES}
    found: set[str] = set()
    for path in Path(semcache.dialects.__path__[0]).rglob("*.py"):
        found |= words_of(ast.parse(path.read_text(encoding="utf-8")))
    assert {"load", "stateful", "tools"} <= found
    assert found <= known


ROW_CASES: list[tuple[Reason, Step, dict[str, Any], dict[str, Any], Directives, dict[str, Any], dict[str, Any]]] = [
    # reason, step, policy and request that close it, what the client says; policy and request of a plain one
    (Reason.POLICY_OFF, Step.BYPASS, {"mode": Mode.OFF}, {}, PLAIN, {"mode": Mode.EXACT}, {}),
    (Reason.POLICY_OFF, Step.READ, {"mode": Mode.OFF}, {}, PLAIN, {}, {}),
    (Reason.POLICY_OFF, Step.STORE, {"mode": Mode.OFF}, {}, PLAIN, {"mode": Mode.SHADOW}, {}),
    (Reason.ASKED_OFF, Step.BYPASS, {}, {}, Directives(mode="off"), {}, {}),
    (Reason.NO_CACHE_NO_STORE, Step.BYPASS, {}, {}, Directives(no_read=True, no_store=True), {}, {}),
    (Reason.UNCACHEABLE, Step.BYPASS, {}, {"uncacheable": "file-id"}, PLAIN, {}, {}),
    (Reason.UNCACHEABLE, Step.STORE, {}, {"uncacheable": "file-id"}, PLAIN, {}, {}),
    (Reason.TOOLS, Step.BYPASS, {"allow_tools": False}, {"exact_only": "tools"}, PLAIN, {}, {"exact_only": "tools"}),
    (Reason.TOOLS, Step.BYPASS, {"allow_tools": False}, {"body": {"tools": [TOOL]}}, PLAIN, {"allow_tools": False}, {}),
    (
        Reason.DEFAULT_TEMPERATURE, Step.BYPASS, {"allow_default_temperature": False}, {"temperature": None}, PLAIN,
        {}, {"temperature": None},
    ),
    (Reason.TEMPERATURE, Step.BYPASS, {}, {"temperature": 0.31}, PLAIN, {}, {"temperature": 0.3}),
    (Reason.TEMPERATURE, Step.BYPASS, {}, {"temperature": 0.7}, PLAIN, {"max_temperature": 1.0}, {"temperature": 0.7}),
    (Reason.NO_CACHE, Step.READ, {}, {}, Directives(no_read=True), {}, {}),
    (Reason.EXACT_ONLY, Step.MATCH, {"mode": Mode.EXACT}, {}, PLAIN, {"mode": Mode.SHADOW}, {}),
    (Reason.EXACT_ONLY, Step.MATCH, {}, {}, Directives(mode="exact"), {}, {}),
    (Reason.EXACT_ONLY, Step.MATCH, {}, {"exact_only": "seed"}, PLAIN, {}, {}),
    (Reason.NO_PROMPT, Step.MATCH, {}, {"prompt": None}, PLAIN, {}, {"prompt": "x"}),
    (Reason.LONG_CONVERSATION, Step.MATCH, {"max_user_turns": 4}, {"user_turns": 5}, PLAIN, {"max_user_turns": 4}, {"user_turns": 4}),
    (Reason.PERSONAL, Step.MATCH, {}, {"prompt": "Where is my order?"}, PLAIN, {}, {"prompt": "How do I cancel my order?"}),
    (Reason.PERSONAL, Step.STORE, {}, {"prompt": "What's my balance?"}, PLAIN, {"scope": Scope.USER}, {"prompt": "What's my balance?"}),
    (
        Reason.PERSONAL, Step.MATCH, {}, {"prompt": "My name is Anna Weber. How long does a transfer take?"}, PLAIN,
        {}, {"prompt": "How long does a transfer take?"},
    ),
    (
        Reason.PERSONAL, Step.MATCH, {}, {"prompt": "I am at anna@weber.example, how do I log in?"}, PLAIN,
        {"scope": Scope.USER}, {"prompt": "I am at anna@weber.example, how do I log in?"},
    ),
    (Reason.NO_STORE, Step.STORE, {"store": False}, {}, PLAIN, {}, {}),
    (Reason.NO_STORE, Step.STORE, {}, {}, Directives(no_store=True), {}, {}),
    (Reason.NO_LIFETIME, Step.STORE, {"ttl": 0.0}, {}, PLAIN, {"ttl": 1.0}, {}),
    (Reason.NO_LIFETIME, Step.STORE, {}, {}, Directives(ttl=0.0), {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "step", "ours", "theirs", "wish", "plain_ours", "plain_theirs"), ROW_CASES
)
def test_a_row_closes_its_step_and_a_plain_request_stays_open(
    reason: Reason,
    step: Step,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    wish: Directives,
    plain_ours: dict[str, Any],
    plain_theirs: dict[str, Any],
) -> None:
    assert first(step, policy(**ours), request(**theirs), wish) == reason.value
    assert first(step, policy(**plain_ours), request(**plain_theirs), PLAIN) is None


def test_every_row_has_its_cases_and_admission_asks_all_of_them() -> None:
    """One case at least must be one that no other row of its step would have closed."""
    alone: set[int] = set()
    for reason, step, ours, theirs, wish, *_ in ROW_CASES:
        mine, asks = policy(**ours), request(**theirs)
        holding = [row for row in ROWS if step in row.steps and row.holds(mine, asks, wish)]
        assert holding[0].reason is reason
        alone |= {id(row) for row in holding[:1] if len(holding) == 1}
        said = {
            Step.BYPASS: bypass(mine, asks, wish),
            Step.READ: may_read(mine, wish),
            Step.MATCH: may_match(mine, asks, wish),
            Step.STORE: may_store(mine, asks, wish),
        }
        assert said[step] == reason.value
    assert [row.what for row in ROWS if id(row) not in alone] == []
    covered = {(reason, step) for reason, step, *_ in ROW_CASES}
    assert covered == {(row.reason, step) for row in ROWS for step in row.steps}


def said(*texts: str | None, **more: Any) -> Completion:
    choices = [
        {"index": number, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for number, text in enumerate(texts)
    ]
    return Completion(json.dumps({"object": "chat.completion", "choices": choices}).encode(), None, **more)


JSON = {"body": {"response_format": {"type": "json_object"}}}
SCHEMA = {
    "body": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a", "schema": {"type": "object", "required": ["city"]}},
        }
    }
}
LETTER = {"prompt": "Write a short letter to Mr Weber about the rent."}
ANSWER_CASES: list[tuple[Reason, dict[str, Any], dict[str, Any], Completion, dict[str, Any], Completion]] = [
    # reason, policy, request and answer that is not stored; policy and answer of one that is
    (Reason.EMPTY_ANSWER, {}, {}, Completion(b"{}", None), {}, said("Hi")),
    (Reason.TOO_LARGE, {"max_entry_bytes": 10}, {}, said("Hi"), {}, said("Hi")),
    (Reason.TOOLS, {}, {}, said(None, has_tool_calls=True), {"store_tool_calls": True}, said(None, has_tool_calls=True)),
    (Reason.FORM, {}, JSON, said("Paris."), {}, said('{"city":"Paris"}')),
    (Reason.FORM, {}, JSON, said('{"city":"Paris"}', '{"city":'), {}, said('{"a":1}', '{"b":2}')),
    (Reason.FORM, {}, SCHEMA, said('{"town":"Paris"}'), {}, said('{"city":"Paris"}')),
    (Reason.PERSONAL, {}, {}, said("Your balance is $120.50."), {}, said("Your balance is shown under Accounts.")),
    (Reason.PERSONAL, {}, {}, said("Your balance is $120.50."), {"scope": Scope.USER}, said("Your balance is $120.50.")),
    (Reason.PERSONAL, {}, LETTER, said("Dear Mr Brown,\nthe rent is late."), {}, said("Dear Mr Weber,\nthe rent is late.")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "ours", "theirs", "refused", "plain_ours", "kept"), ANSWER_CASES)
def test_a_row_of_answers_keeps_one_out_and_lets_a_plain_one_in(
    reason: Reason,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    refused: Completion,
    plain_ours: dict[str, Any],
    kept: Completion,
) -> None:
    assert may_store_answer(policy(**ours), request(**theirs), refused) == reason.value
    assert may_store_answer(policy(**plain_ours), request(**theirs), kept) is None


def test_every_row_of_answers_has_its_cases() -> None:
    assert {case[0] for case in ANSWER_CASES} == {row.reason for row in ANSWERS}


def test_a_form_that_cannot_be_judged_keeps_nothing_out() -> None:
    odd = [
        {"type": "json_schema", "json_schema": {"schema": {"type": 5}}},
        {"type": "json_schema", "json_schema": {"schema": {"$ref": "https://a.example/schema"}}},
        {"type": "json_schema"},
        {"type": "grammar", "grammar": "x"},
        "json",
    ]
    for wanted in odd:
        asks = request(body={"response_format": wanted})
        assert may_store_answer(policy(), asks, said('{"a":1}')) is None, wanted
    calls = said(None, has_tool_calls=True)
    assert may_store_answer(policy(store_tool_calls=True), request(**JSON), calls) is None


@pytest.mark.parametrize(
    ("prompt", "searched", "short"),
    [
        ("What is the weather in Paris?", False, True),
        ("Who won yesterday?", False, True),
        ("How do I reset a password?", False, False),
        ("How do I reset a password?", True, True),
        (None, True, True),
        (None, False, False),
    ],
)
def test_what_is_of_the_moment_lives_for_minutes(prompt: str | None, searched: bool, short: bool) -> None:
    ours = policy(ttl=3600.0, ttl_jitter=0.0, volatile_ttl=60.0)
    assert lifetime(ours, PLAIN, 0.5, prompt, searched=searched) == (60.0 if short else 3600.0)
    assert any(row.holds(prompt, searched) for row in SHORT_LIVES) == short


def test_who_searches_the_web_is_seen() -> None:
    assert searches_web({"tools": [{"type": "web_search_preview"}]})
    assert searches_web({"tools": [{"google_search": {}}]})
    assert searches_web({"search_parameters": {"mode": "auto"}})
    assert not searches_web({"tools": [TOOL]})
    assert not searches_web({"tools": "web_search", "web_search_options": None})


def test_the_page_is_written_from_the_table() -> None:
    """`python -m tests.decide.tier_page > docs/semantic-tier.md` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_knobs_it_names_are_there() -> None:
    told = (PAGE.parent / "policies.md").read_text(encoding="utf-8")
    knobs = {word for row in (*ROWS, *ANSWERS) for word in re.findall(r"`([^`]+)`", row.knob)}
    own = {word for word in knobs if not word.startswith(("Semcache-", "Cache-Control"))}
    assert {"sampling.max_temperature", "scope: user"} <= own
    assert all(f"| `{word.partition(':')[0]}` |" in told for word in own)
