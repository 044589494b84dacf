"""Whatever a record holds under whatever name: it is counted or named, and never ends the run."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.advise.chains import chain_of
from semcache.advise.exact import ExactRepeats
from semcache.advise.formats.recognise import SOURCES, rows_of
from semcache.advise.overlap import PrefixOverlap
from semcache.advise.pricing import Pricing
from semcache.advise.rows import LogRow
from semcache.advise.sizes import SizeCount
from semcache.advise.spending import SpendingCount
from semcache.cost.prices import PriceBook
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from semcache.policy.loader import load_default

SNAPSHOT = load_default()
TENANT = SNAPSHOT.tenants[0]
PRICING = Pricing(PriceBook())

names = st.sampled_from(
    [
        "messages",
        "role",
        "content",
        "type",
        "text",
        "model",
        "input",
        "instructions",
        "system",
        "tools",
        "function",
        "name",
        "arguments",
        "request",
        "response",
        "body",
        "choices",
        "message",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "cost",
        "timestamp",
        "ts",
        "latency_ms",
        "user",
        "tenant",
        "metadata",
        "labels",
        "call_type",
        "response_cost",
        "startTime",
        "endTime",
        "traceId",
        "usageDetails",
        "output",
        "prompt",
        "question",
        "data",
        "observations",
        "trace",
        "tool_calls",
        "tool_use_id",
        "custom_id",
        "conversations",
        "from",
        "value",
        "cache_creation",
        "status",
        "error",
        "temperature",
        "n",
        "stream",
        "contents",
        "parts",
        "systemInstruction",
        "generationConfig",
        "candidates",
        "usageMetadata",
        "promptTokenCount",
        "options",
        "format",
        "images",
        "done",
        "delta",
        "index",
        "url",
        "params",
        "prompt_eval_count",
    ]
)
words = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "tool",
        "human",
        "text",
        "tool_use",
        "tool_result",
        "input_text",
        "GENERATION",
        "message",
        "function_call",
        "acompletion",
        "gpt-4o",
        "model",
        "message_start",
        "content_block_delta",
        "response.completed",
        "/v1/messages",
        "/v1/responses",
        "/api/chat",
        "/v1beta/models/m:generateContent",
        'data: {"choices": [{"delta": 1}]}',
        'data: {"type": "message_delta", "usage": 1}',
        '{"message": 1, "done": false}\n{"done": true}',
        "2026-01-02T12:00:00Z",
        "{}",
        "[]",
        '{"messages": 1}',
        "",
    ]
)
scalars = st.one_of(
    words, st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=5)),
    max_leaves=25,
)
messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.one_of(words, values), "content": values}, optional={"tool_calls": values}
    ),
    max_size=4,
)
records = st.one_of(
    values,
    st.fixed_dictionaries(
        {"messages": messages}, optional={"tools": values, "system": values, "model": values}
    ),
    st.fixed_dictionaries(
        {"request": st.fixed_dictionaries({"messages": messages}), "response": values},
        optional={"url": words},
    ),
    st.fixed_dictionaries(
        {
            "request": st.one_of(
                st.fixed_dictionaries(
                    {"contents": st.lists(values, min_size=1, max_size=3)},
                    optional={"model": values, "systemInstruction": values, "generationConfig": values},
                ),
                st.fixed_dictionaries({"input": values}, optional={"text": values, "tools": values}),
                st.fixed_dictionaries({"prompt": words}, optional={"options": values, "images": values}),
            ),
            "response": st.one_of(values, st.lists(values, max_size=3)),
        },
        optional={"url": words},
    ),
)


@settings(max_examples=400)
@given(st.lists(records, max_size=3), st.sampled_from(["", *SOURCES]))
def test_no_record_ends_the_run(found: list[object], source: str) -> None:
    exact, overlap, sizes = ExactRepeats(SNAPSHOT, TENANT), PrefixOverlap(), SizeCount()
    spending, linter = SpendingCount(), Linter()
    for value in found:
        for whose, row in rows_of(value, source):
            assert isinstance(whose, str)
            if isinstance(row, str):
                continue
            assert isinstance(row, LogRow)
            check(row)
            usage = PRICING.usage(row)
            cost = PRICING.cost(row, usage)
            spending.add(row, usage, cost, logged=PRICING.from_log(row))
            chain = chain_of(row)
            sizes.prefix(chain, overlap.add(row, chain))
            sizes.answer(row, exact.add(row, usage, cost), usage)
            linter.feed(prompt_of(row.body), row.at or 0.0, row.tenant, row.model, row.labels)
    for part in (exact.findings(), overlap.findings(), sizes.findings(), spending.findings()):
        orjson.dumps(part)


def check(row: LogRow) -> None:
    """What everything behind relies on."""
    assert row.body["messages"]
    assert all(isinstance(message["role"], str) for message in row.body["messages"])
    assert isinstance(row.body["model"], str)
    assert row.body["model"]
    assert row.response is None or isinstance(row.response, str)
    assert row.cost is None or row.cost >= 0
    assert row.seconds is None or row.seconds >= 0
    assert row.at is None or row.at > 0
    for text in (row.tenant, row.user, row.session, row.model):
        assert isinstance(text, str)
        assert len(text) <= 200
    if row.usage is not None:
        assert 0 <= row.usage.cached_tokens <= row.usage.prompt_tokens
        assert 0 <= row.usage.reasoning_tokens <= row.usage.completion_tokens
