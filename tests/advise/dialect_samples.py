"""Tiny logs of what clients of other APIs than OpenAI's chat said, one of each."""

from __future__ import annotations

from tests.advise.sample_parts import ANSWER, NOON, QUESTION, Sample, lines

MEDIA = [{"type": "text", "text": "Where is the Louvre?"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Where is the Louvre?"}]}]
OF_OLLAMA = {"model": "llama3.2", "options": {"temperature": 0}, "stream": False}
COUNTED = {"done": True, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 4}
OTHERS = (
    Sample(
        "anthropic.jsonl",
        "anthropic",
        lines(
            {
                "created_at": 1767355200000,
                "request": {
                    "model": "claude-sonnet-4-5",
                    "max_tokens": 100,
                    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                    "messages": [
                        {"role": "user", "content": [{"type": "text", "text": "Where is the Louvre?"}]}
                    ],
                    "metadata": {"user_id": "u7"},
                },
                "response": {
                    "type": "message",
                    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ANSWER}],
                    "usage": {
                        "input_tokens": 5,
                        "cache_read_input_tokens": 64,
                        "cache_creation_input_tokens": 7,
                        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
                        "output_tokens": 9,
                    },
                },
            }
        ),
        at=NOON,
        usage=(76, 9, 64),
        user="u7",
        model="claude-sonnet-4-5",
    ),
    Sample(
        "responses.jsonl",
        "responses",
        lines(
            {
                "request": {
                    "model": "gpt-5",
                    "instructions": "Be brief.",
                    "input": [
                        {
                            "type": "message",
                            "role": "user",
                            "content": [{"type": "input_text", "text": "Where is the Louvre?"}],
                        }
                    ],
                },
                "response": {
                    "created_at": 1767355200,
                    "output": [
                        {"type": "reasoning", "summary": []},
                        {"type": "message", "content": [{"type": "output_text", "text": ANSWER}]},
                    ],
                    "usage": {
                        "input_tokens": 20,
                        "output_tokens": 4,
                        "input_tokens_details": {"cached_tokens": 8},
                    },
                },
            }
        ),
        at=NOON,
        usage=(20, 4, 8),
        model="gpt-5",
    ),
    Sample(
        "ollama.jsonl",
        "ollama",
        lines(
            {
                "url": "http://localhost:11434/api/chat",
                "request": {**OF_OLLAMA, "messages": QUESTION},
                "response": {
                    "model": "llama3.2",
                    "created_at": "2026-01-02T12:00:00Z",
                    "message": {"role": "assistant", "content": ANSWER},
                    **COUNTED,
                },
            }
        ),
        at=NOON,
        usage=(20, 4, 0),
        model="llama3.2",
    ),
    Sample(
        "generate.jsonl",
        "ollama",
        lines(
            {
                "request": {**OF_OLLAMA, "prompt": "Where is the Louvre?", "system": "Be brief."},
                "response": {"model": "llama3.2", "response": ANSWER, **COUNTED},
            }
        ),
        usage=(20, 4, 0),
        model="llama3.2",
    ),
    Sample(
        "ollama-lines.jsonl",
        "ollama",
        lines(
            {
                "request": {**OF_OLLAMA, "messages": QUESTION, "stream": True},
                "response": lines(
                    {"model": "llama3.2", "message": {"content": "In "}, "done": False},
                    {"model": "llama3.2", "message": {"content": "Paris."}, "done": False},
                    {"model": "llama3.2", "message": {"content": ""}, **COUNTED},
                ),
            }
        ),
        usage=(20, 4, 0),
        model="llama3.2",
    ),
    Sample(
        "gemini.jsonl",
        "gemini",
        lines(
            {
                "url": "https://host/v1beta/models/gemini-2.5-flash:generateContent?key=x",
                "time": NOON,
                "request": {
                    "systemInstruction": {"parts": [{"text": "Be brief."}]},
                    "contents": CONTENTS,
                    "generationConfig": {"temperature": 0},
                },
                "response": {
                    "candidates": [
                        {"content": {"parts": [{"text": ANSWER}], "role": "model"}, "finishReason": "STOP"}
                    ],
                    "usageMetadata": {
                        "promptTokenCount": 20,
                        "cachedContentTokenCount": 8,
                        "candidatesTokenCount": 3,
                        "thoughtsTokenCount": 1,
                    },
                },
            }
        ),
        at=NOON,
        usage=(20, 4, 8),
        model="gemini-2.5-flash",
    ),
    Sample(
        "gemini-pieces.jsonl",
        "gemini",
        lines(
            {
                "model": "gemini-2.5-flash",
                "contents": CONTENTS,
                "system_instruction": {"parts": [{"text": "Be brief."}]},
                "response": [
                    {"candidates": [{"content": {"parts": [{"text": "In "}], "role": "model"}}]},
                    {
                        "candidates": [{"content": {"parts": [{"text": "Paris."}]}, "finishReason": "STOP"}],
                        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 4},
                    },
                ],
            }
        ),
        usage=(20, 4, 0),
        model="gemini-2.5-flash",
    ),
    Sample(
        "completions.jsonl",
        "openai",
        lines(
            {
                "request": {"model": "davinci", "prompt": "Where is the Louvre?", "max_tokens": 9},
                "response": {
                    "object": "text_completion",
                    "created": NOON,
                    "choices": [{"index": 0, "text": ANSWER, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 20, "completion_tokens": 4},
                },
            }
        ),
        system="",
        at=NOON,
        usage=(20, 4, 0),
        model="davinci",
    ),
    Sample(
        "anthropic-batch.jsonl",
        "anthropic",
        lines(
            {
                "custom_id": "a",
                "params": {
                    "model": "claude",
                    "max_tokens": 9,
                    "messages": [{"role": "user", "content": MEDIA}],
                },
            }
        ),
        system="",
        response=None,
        model="claude",
    ),
)
