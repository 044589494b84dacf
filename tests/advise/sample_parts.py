"""What tiny logs are made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

NOON = 1767355200.0
"""2026-01-02 12:00 UTC."""

ANSWER = "In Paris."
QUESTION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is the Louvre?"},
]
COMPLETION = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}


@dataclass(frozen=True)
class Sample:
    """One log: its file, who wrote it, and what its first row is expected to hold."""

    name: str
    source: str
    text: str
    rows: int = 1
    prompt: str = "Where is the Louvre?"
    system: str = "Be brief."
    response: str | None = ANSWER
    at: float | None = None
    usage: tuple[int, int, int] | None = None
    """Input, output, of it cached."""
    cost: int | None = None
    seconds: float | None = None
    tenant: str = ""
    user: str = ""
    session: str = ""
    model: str = "gpt-4o"
    labels: tuple[tuple[str, str], ...] = ()


def lines(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


REQUEST = {"model": "gpt-4o", "messages": QUESTION, "temperature": 0}
