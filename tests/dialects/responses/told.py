"""Responses as the API gives them: a whole one with everything in it, and the events by which it would stream."""

from __future__ import annotations

import json
from typing import Any

TEXT = "It snows in Paris 雪 👨‍👩‍👧."
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 29,
}
ASKER = {
    "metadata": {"case": "secret"},
    "user": "alice",
    "safety_identifier": "alice-hash",
    "prompt_cache_key": "alice-key",
}


def thought(**fields: Any) -> dict[str, Any]:
    return {
        "id": "rs_up",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "I looked."}],
        **fields,
    }


def said(text: str = TEXT, **fields: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **fields}
    return {"id": "msg_up", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def called(number: int = 1) -> dict[str, Any]:
    call = {
        "id": f"fc_up{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{number}",
    }
    return {**call, "name": "get_weather", "arguments": '{"city": "Paris"}'}


def response(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_up",
        "object": "response",
        "created_at": 1700000000,
        "completed_at": 1700000001,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": "be brief",
        "max_output_tokens": 99,
        "model": "gpt-x-2026",
        "output": list(output) or [said()],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
        "temperature": 0.2,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [{"type": "function", "name": "get_weather", "parameters": {}, "strict": True}],
        "top_p": 1.0,
        "truncation": "disabled",
        "service_tier": "default",
        "usage": USAGE,
        **ASKER,
        **fields,
    }


def streamed(whole: dict[str, Any], step: int = 3) -> list[dict[str, Any]]:
    """Give the events of a response, written apart from the code under test."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    begun["service_tier"] = "auto"
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": place}
        empty = {"content": [], "summary": [], "arguments": "", "input": "", "status": "in_progress"}
        start = {key: empty.get(key, value) for key, value in item.items() if key != "encrypted_content"}
        events.append({"type": "response.output_item.added", "output_index": place, "item": start})
        for number, part in enumerate(item.get("summary", [])):
            events += _part(
                "reasoning_summary_part",
                "reasoning_summary_text",
                {**at, "summary_index": number},
                part,
                step,
            )
        for number, part in enumerate(item.get("content", [])):
            stem = {"output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text"}[
                part["type"]
            ]
            events += _part("content_part", stem, {**at, "content_index": number}, part, step)
        for key, stem in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
            text = item.get(key, "")
            cut = [text[i : i + step] for i in range(0, len(text), step)]
            events += [{"type": f"response.{stem}.delta", **at, "delta": piece} for piece in cut]
            events += [{"type": f"response.{stem}.done", **at, key: text}] if text else []
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    return [*events, {"type": f"response.{whole['status']}", "response": whole}]


def _part(
    bracket: str, stem: str, at: dict[str, Any], part: dict[str, Any], step: int
) -> list[dict[str, Any]]:
    key = "refusal" if part["type"] == "refusal" else "text"
    text, more = part[key], {"logprobs": []} if stem == "output_text" else {}
    empty = {name: [] for name in ("annotations", "logprobs") if name in part}
    deltas = [
        {"type": f"response.{stem}.delta", **at, "delta": text[i : i + step], "obfuscation": "zz", **more}
        for i in range(0, len(text), step)
    ]
    notes = [
        {"type": "response.output_text.annotation.added", **at, "annotation_index": n, "annotation": note}
        for n, note in enumerate(part.get("annotations", []))
    ]
    return [
        {"type": f"response.{bracket}.added", **at, "part": {**part, key: "", **empty}},
        *deltas,
        *notes,
        {"type": f"response.{stem}.done", **at, key: text, **more},
        {"type": f"response.{bracket}.done", **at, "part": part},
    ]


def sse(events: list[dict[str, Any]]) -> bytes:
    """Give events as the API sends them."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps({'sequence_number': n, **event})}\n\n".encode()
        for n, event in enumerate(events)
    )
