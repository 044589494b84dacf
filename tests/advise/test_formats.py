"""A tiny log of each kind: told by its looks, and read as what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.advise.formats.answers import answer_in
from semcache.advise.formats.usage import usage_in
from semcache.advise.rows import Beside, LogRow
from semcache.core import Usage
from semcache.cost.row_fields import NAMES
from tests.advise.reading_parts import read, text_of, written
from tests.advise.sample_parts import QUESTION, Sample
from tests.advise.samples import SAMPLES


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_log_is_read_as_what_it_says(sample: Sample, tmp_path: Path) -> None:
    rows, reading = read(written(tmp_path, sample.name, sample.text))
    assert len(rows) == reading.rows == sample.rows
    assert reading.files[0].sources == ((sample.source, sample.rows),)
    row = rows[0]
    assert text_of(row) == sample.prompt
    systems = [message["content"] for message in row.body["messages"] if message["role"] == "system"]
    assert systems == ([sample.system] if sample.system else [])
    usage = row.usage and (row.usage.prompt_tokens, row.usage.completion_tokens, row.usage.cached_tokens)
    assert (row.response, row.at, usage, row.cost) == (sample.response, sample.at, sample.usage, sample.cost)
    assert row.seconds == (None if sample.seconds is None else pytest.approx(sample.seconds))
    assert (row.tenant, row.user, row.session) == (sample.tenant, sample.user, sample.session)
    assert (row.model, row.labels) == (sample.model, sample.labels)


def test_what_is_no_call_or_holds_no_prompt_is_named(tmp_path: Path) -> None:
    by_name = {sample.name: sample for sample in SAMPLES}
    wanted = {
        "litellm.jsonl": {"is no chat call", "LiteLLM redacted its prompt"},
        "spend.json": {"LiteLLM kept no prompt"},
        "langfuse.json": {"is no call of a model"},
    }
    for name, reasons in wanted.items():
        _, reading = read(written(tmp_path, name, by_name[name].text))
        assert len(reading.reasons) == len(reasons)
        for reason, _ in reading.reasons:
            assert any(reason.startswith(start) for start in reasons), reason


def test_tools_beside_an_observation_stand_in_front_of_its_prompt(tmp_path: Path) -> None:
    (sample,) = (sample for sample in SAMPLES if sample.name == "langfuse-blob.jsonl")
    rows, _ = read(written(tmp_path, sample.name, sample.text))
    assert rows[0].body["tools"] == [{"type": "function", "function": {"name": "f"}}]


def test_a_log_may_mix_kinds(tmp_path: Path) -> None:
    kinds = ("exchange.jsonl", "litellm.jsonl", "langfuse-blob.jsonl", "anthropic.jsonl", "questions.jsonl")
    text = "".join(sample.text for sample in SAMPLES if sample.name in kinds)
    _, reading = read(written(tmp_path, "all.jsonl", text))
    assert {name for name, _ in reading.files[0].sources} == {
        "openai",
        "litellm",
        "langfuse",
        "anthropic",
        "prompts",
    }


def test_own_ledger_and_batch_output_say_what_to_do(tmp_path: Path) -> None:
    lines = (
        json.dumps({**dict.fromkeys(NAMES, ""), "at": 1767355200, "input": 5, "outcome": "miss"}) + "\n"
        '{"custom_id": "a", "response": {"status_code": 200, "body": {}}, "error": null}\n'
    )
    rows, reading = read(written(tmp_path, "rows.jsonl", lines))
    assert not rows
    assert any("semcache report cost" in reason for reason, _ in reading.reasons)
    assert any("input file" in reason for reason, _ in reading.reasons)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 4}, Usage(20, 4)),
        (
            {
                "prompt_tokens": 20,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(20, 4, 8, 2, 0, 3),
        ),
        (
            {"prompt_tokens": 20, "completion_tokens": 4, "prompt_cache_hit_tokens": 12},
            Usage(20, 4, 12),
        ),
        (
            {
                "input_tokens": 5,
                "cache_read_input_tokens": 64,
                "cache_creation_input_tokens": 7,
                "output_tokens": 3,
            },
            Usage(76, 3, 64, 7),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 3,
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
                "cache_read_input_tokens": 0,
            },
            Usage(12, 3, 0, 7, 4),
        ),
        (
            {
                "promptTokenCount": 20,
                "cachedContentTokenCount": 8,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 2,
            },
            Usage(20, 6, 8, reasoning_tokens=2),
        ),
        ({"prompt_eval_count": 20, "eval_count": 4}, Usage(20, 4)),
        ({"input": 12, "input_cached_tokens": 8, "output": 4, "total": 24}, Usage(20, 4, 8)),
        ({"prompt_tokens": "20", "completion_tokens": 4.0}, Usage(20, 4)),
        ({"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(20, 4)),
        (
            {"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(20, 4, 20),
        ),
        ({"prompt_tokens": -1, "completion_tokens": 4}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": 4}, None),
        ({"prompt_tokens": float("inf"), "completion_tokens": 4}, None),
        ({"prompt_tokens": True, "completion_tokens": 4}, None),
        ({"prompt_tokens": 10**400, "completion_tokens": 4}, None),
        ({"prompt_tokens": "9" * 5000, "completion_tokens": 4}, None),
        ({"prompt_tokens": 20}, None),
        ({}, None),
        ("many", None),
        (None, None),
    ],
)
def test_usage_of_every_dialect(told: object, usage: Usage | None) -> None:
    assert usage_in(told) == usage


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("plain", "plain"),
        ('{"choices": [{"message": {"content": "packed"}}]}', "packed"),
        ({"choices": [{"text": "completed"}]}, "completed"),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "in parts"}]}}]}, "in parts"),
        ({"output_text": "shortcut", "output": []}, "shortcut"),
        (
            [{"choices": [{"delta": {"content": part}}]} for part in ("in ", "chunks")] + [{"choices": []}],
            "in chunks",
        ),
        ({"choices": [{"message": {"content": None, "tool_calls": [{}]}}]}, None),
        ({"choices": [7]}, None),
        ({"content": [{"type": "tool_use", "name": "f"}]}, None),
        ({"error": {"message": "no"}}, None),
        ({}, None),
        (5, None),
        (None, None),
        ("", None),
    ],
    ids=str,
)
def test_answers_of_every_shape(response: object, text: str | None) -> None:
    assert answer_in(response) == text


OPENAI_STREAM = """data: {"choices":[{"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"delta":{"content":"In "}}],"usage":null}

data: {"choices":[{"delta":{"content":"Paris."},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":4}}

data: [DONE]
"""
ANTHROPIC_STREAM = """event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":15,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"In "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Paris."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}
"""
RESPONSES_STREAM = """event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"In Paris."}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","delta":"{}"}

event: response.completed
data: {"type":"response.completed","response":{"usage":{"input_tokens":20,"output_tokens":4}}}
"""


@pytest.mark.parametrize(
    ("stream", "usage"),
    [
        (OPENAI_STREAM, Usage(20, 4)),
        (ANTHROPIC_STREAM, Usage(20, 4, 15)),
        (RESPONSES_STREAM, Usage(20, 4)),
        ('data: {"choices":[{"delta":{"content":"In Paris."}}]}\ndata: {half', None),
    ],
    ids=["openai", "anthropic", "responses", "cut"],
)
@pytest.mark.parametrize("is_reply", [True, False])
def test_streams_logged_as_they_came(
    stream: str, usage: Usage | None, is_reply: bool, tmp_path: Path
) -> None:
    response = {"status": 200, "body": stream} if is_reply else stream
    record = {"request": {"model": "m", "messages": QUESTION}, "response": response}
    rows, _ = read(written(tmp_path, "log.jsonl", json.dumps(record)))
    assert (rows[0].response, rows[0].usage, rows[0].failed) == ("In Paris.", usage, False)


def test_replies_that_failed(tmp_path: Path) -> None:
    replies = ({"status": 500, "body": "no"}, {"status_code": 429, "body": {}}, {"error": {"message": "no"}})
    lines = [
        json.dumps({"request": {"model": "m", "messages": QUESTION}, "response": reply}) for reply in replies
    ]
    lines.append(json.dumps({"request": {"model": "m", "messages": QUESTION}, "error": "timed out"}))
    rows, _ = read(written(tmp_path, "log.jsonl", "\n".join(lines)))
    assert [row.failed for row in rows] == [True] * 4


def test_a_row_keeps_all_it_says_where_it_is_told_its_place() -> None:
    row = LogRow(
        {"model": "m", "messages": []},
        "",
        0,
        at=1.0,
        tenant="t",
        user="u",
        session="s",
        model="m",
        response="r",
        usage=Usage(1, 2),
        cost=3,
        seconds=4.0,
        labels=(("project", "p"),),
        failed=True,
        from_cache=True,
        beside=Beside({"top_k": 1}, "tools", "stateful"),
    )
    assert row.at_line("f", 7) == replace(row, file="f", line=7)
