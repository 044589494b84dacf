"""Tiny logs, one of each kind, made by hand after what their makers document."""

from __future__ import annotations

import json

from tests.advise.dialect_samples import OTHERS
from tests.advise.sample_parts import ANSWER, COMPLETION, NOON, QUESTION, REQUEST, Sample, lines

SAMPLES = (
    Sample(
        "exchange.jsonl",
        "openai",
        lines(
            {
                "timestamp": "2026-01-02T12:00:00Z",
                "request": REQUEST,
                "response": COMPLETION,
                "latency_ms": 1500,
                "cost_usd": 0.0021,
                "user": "u1",
                "tenant": "shop",
                "session_id": "s1",
                "labels": {"project": "help", "env": "prod"},
            }
        ),
        at=NOON,
        usage=(20, 4, 8),
        cost=2100,
        seconds=1.5,
        tenant="shop",
        user="u1",
        session="s1",
        labels=(("project", "help"), ("environment", "prod")),
    ),
    Sample("bodies.jsonl", "openai", lines(REQUEST), response=None),
    Sample(
        "bodies-with-more.jsonl",
        "openai",
        lines({**REQUEST, "ts": NOON, "response": ANSWER, "prompt_tokens": 20, "completion_tokens": 4}),
        at=NOON,
        usage=(20, 4, 0),
    ),
    Sample(
        "batch.jsonl",
        "openai",
        lines({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": REQUEST}),
        response=None,
    ),
    Sample(
        "tuning.jsonl",
        "openai",
        lines({"messages": [*QUESTION, {"role": "assistant", "content": ANSWER}]}),
        model="",
    ),
    Sample(
        "turns.jsonl",
        "openai",
        lines(
            {
                "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": "Where is the Louvre?"},
                    {"from": "gpt", "value": ANSWER},
                ]
            }
        ),
        model="",
    ),
    Sample("messages.jsonl", "openai", lines(QUESTION, QUESTION), rows=2, response=None, model=""),
    Sample(
        "litellm.jsonl",
        "litellm",
        lines(
            {
                "id": "chatcmpl-1",
                "trace_id": "t1",
                "call_type": "acompletion",
                "response_cost": 0.00012,
                "status": "success",
                "prompt_tokens": 20,
                "completion_tokens": 4,
                "total_tokens": 24,
                "startTime": NOON,
                "endTime": NOON + 0.75,
                "model": "gpt-4o",
                "metadata": {
                    "user_api_key_team_alias": "shop",
                    "spend_logs_metadata": {"project": "help"},
                },
                "cache_hit": False,
                "end_user": "u1",
                "messages": QUESTION,
                "response": COMPLETION,
                "model_parameters": {"temperature": 0, "stream": True},
            },
            {"id": "2", "call_type": "aembedding", "response_cost": 0.1, "model": "e", "messages": "text"},
            {
                "id": "3",
                "call_type": "acompletion",
                "response_cost": 0.1,
                "messages": [{"role": "user", "content": "redacted-by-litellm"}],
            },
        ),
        at=NOON,
        usage=(20, 4, 8),
        cost=120,
        seconds=0.75,
        tenant="shop",
        user="u1",
        session="t1",
        labels=(("project", "help"),),
    ),
    Sample(
        "spend.json",
        "litellm",
        json.dumps(
            [
                {
                    "request_id": "chatcmpl-1",
                    "call_type": "acompletion",
                    "spend": 0.00012,
                    "total_tokens": 24,
                    "prompt_tokens": 20,
                    "completion_tokens": 4,
                    "startTime": "2026-01-02T12:00:00.000000Z",
                    "endTime": "2026-01-02T12:00:00.750000Z",
                    "model": "gpt-4o",
                    "user": "owner",
                    "metadata": json.dumps({"user_api_key_team_id": "shop"}),
                    "cache_hit": "False",
                    "request_tags": "[]",
                    "team_id": "shop",
                    "end_user": "u1",
                    "messages": json.dumps(QUESTION),
                    "response": json.dumps(COMPLETION),
                    "session_id": "s1",
                },
                {
                    "request_id": "2",
                    "call_type": "acompletion",
                    "spend": 0.1,
                    "messages": "{}",
                    "response": "{}",
                },
            ]
        ),
        at=NOON,
        usage=(20, 4, 8),
        cost=120,
        seconds=0.75,
        tenant="shop",
        user="u1",
        session="s1",
    ),
    Sample(
        "langfuse.json",
        "langfuse",
        json.dumps(
            [
                {
                    "id": "o1",
                    "traceId": "t1",
                    "type": "GENERATION",
                    "startTime": "2026-01-02T12:00:00.000Z",
                    "endTime": "2026-01-02T12:00:02.000Z",
                    "model": "gpt-4o",
                    "modelParameters": {"temperature": 0},
                    "input": QUESTION,
                    "output": {"role": "assistant", "content": ANSWER},
                    "usageDetails": {"input": 12, "input_cached_tokens": 8, "output": 4, "total": 24},
                    "costDetails": {"total": 0.00012},
                    "level": "DEFAULT",
                    "environment": "prod",
                    "userId": "u1",
                    "sessionId": "s1",
                },
                {"id": "o2", "traceId": "t1", "type": "SPAN", "input": {"x": 1}, "statusMessage": None},
            ],
            indent=1,
        ),
        at=NOON,
        usage=(20, 4, 8),
        cost=120,
        seconds=2.0,
        user="u1",
        session="s1",
        labels=(("environment", "prod"),),
    ),
    Sample(
        "langfuse-pages.json",
        "langfuse",
        json.dumps(
            [
                {
                    "id": "obs_1",
                    "traceId": "t1",
                    "name": "openai-chat",
                    "type": "GENERATION",
                    "model": "gpt-4o",
                    "startTime": "2026-01-02T12:00:00.000Z",
                    "endTime": "2026-01-02T12:00:02.000Z",
                    "input": QUESTION,
                    "output": {"role": "assistant", "content": ANSWER},
                    "usage": {"input": 20, "output": 4, "total": 24, "unit": "TOKENS"},
                    "totalCost": 0.00012,
                    "level": "DEFAULT",
                    "metadata": {"tenant": "shop"},
                    "tags": ["prod"],
                }
            ]
        ),
        at=NOON,
        usage=(20, 4, 0),
        cost=120,
        seconds=2.0,
        tenant="shop",
        session="t1",
    ),
    Sample(
        "traced.jsonl",
        "openai",
        lines({"trace_id": "t1", "start_time": "2026-01-02 12:00:00", **REQUEST, "output": ANSWER}),
        at=NOON,
        session="t1",
    ),
    Sample(
        "langfuse-blob.jsonl",
        "langfuse",
        lines(
            {
                "id": "o1",
                "trace_id": "t1",
                "type": "GENERATION",
                "start_time": "2026-01-02 12:00:00.000000",
                "end_time": "2026-01-02 12:00:02.000000",
                "provided_model_name": "gpt-4o",
                "input": json.dumps({"messages": QUESTION}),
                "output": json.dumps({"role": "assistant", "content": ANSWER}),
                "usage_details": {"input": 20, "output": 4, "total": 24},
                "total_cost": 0.00012,
                "tool_definitions": {"f": '{"type": "function", "function": {"name": "f"}}'},
            }
        ),
        at=NOON,
        usage=(20, 4, 0),
        cost=120,
        seconds=2.0,
        session="t1",
    ),
    Sample(
        "langfuse.csv",
        "langfuse",
        "id,traceId,type,startTime,endTime,model,input,output,usageDetails,totalCost,statusMessage\n"
        'o1,t1,GENERATION,2026-01-02T12:00:00Z,2026-01-02T12:00:02Z,gpt-4o,"'
        + json.dumps(QUESTION, indent=1).replace('"', '""')
        + '",'
        + ANSWER
        + ',"{""input"":20,""output"":4}",0.00012,\n',
        at=NOON,
        usage=(20, 4, 0),
        cost=120,
        seconds=2.0,
        session="t1",
    ),
    Sample(
        "langfuse-page.json",
        "langfuse",
        json.dumps(
            {
                "data": [
                    {
                        "id": "o1",
                        "traceId": "t1",
                        "type": "GENERATION",
                        "startTime": "2026-01-02T12:00:00Z",
                        "model": "gpt-4o",
                        "input": QUESTION,
                        "output": ANSWER,
                        "promptTokens": 20,
                        "completionTokens": 4,
                        "calculatedTotalCost": 0.00012,
                    }
                ],
                "meta": {"totalPages": 1},
            }
        ),
        at=NOON,
        usage=(20, 4, 0),
        cost=120,
        session="t1",
    ),
    Sample(
        "questions.txt",
        "prompts",
        "Where is the Louvre?\n\nWho built it?\n",
        rows=2,
        system="",
        response=None,
        model="",
    ),
    Sample(
        "questions.csv",
        "prompts",
        'id,Question,Answer\n1,Where is the Louvre?,In Paris.\n2,"Who,\nbuilt ""it""?",\n',
        rows=2,
        system="",
        model="",
    ),
    Sample(
        "questions.json",
        "prompts",
        json.dumps(["Where is the Louvre?", "Who built it?"]),
        rows=2,
        system="",
        response=None,
        model="",
    ),
    Sample(
        "questions.jsonl",
        "prompts",
        lines({"question": "Where is the Louvre?", "system": "Be brief.", "answer": ANSWER}),
        model="",
    ),
    *OTHERS,
)
