"""Bare questions: texts, and records with a column for the question and perhaps one for the answer. Pure."""

from __future__ import annotations

from semcache.advise.formats.answers import answer_in
from semcache.advise.formats.bodies import question
from semcache.advise.formats.fields import Fields, first
from semcache.advise.formats.telling import ANSWERS, told
from semcache.advise.rows import NO_MODEL, LogRow

EMPTY = "holds no question"
QUESTIONS = (
    "prompt",
    "question",
    "query",
    "user_input",
    "instruction",
    "input",
    "text",
    "utterance",
    "message",
)


def read_text(text: str) -> LogRow | str:
    """Read a question."""
    text = text.strip()
    return LogRow(question(text), "", 0) if text else EMPTY


def read_question(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record that holds a question under one of the usual names."""
    asked = next((value[name] for name in QUESTIONS if isinstance(value.get(name), str)), None)
    if asked is None:
        return None
    if not asked.strip():
        return "prompts", EMPTY
    body = question(asked.strip())
    system = first(value, "system", "system_prompt")
    if isinstance(system, str) and system:
        body["messages"].insert(0, {"role": "system", "content": system})
    model = value.get("model")
    body["model"] = model if isinstance(model, str) and model else NO_MODEL
    answer = first(value, *ANSWERS)
    return "prompts", told(value, body, answer, answer_in(answer))
