"""An upstream that answers, revises and predicts as a model's name tells it to, and counts as APIs do."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.tenants import policy
from tests.fakes.upstream_server import (
    JSON_TYPE,
    Behaviour,
    Exchange,
    Seen,
    chat_body,
    json_reply,
    sse_bytes,
    stream,
)

KEY = "sk-drafts"
STORED = "How long may customers in Norway return an order?"
ASKED = "How long may customers in Japan return an order?"
DRAFTS = {
    "edit": "{}",
    "streamed": "{}",
    "keep": "{}",
    "garbage": "{}",
    "late": "{}",
    "no-schema": "{}",
    "hostile": "{}",
    "hostile-plain": "{}",
    "equal": "{}",
    "failing": "{drafts: {min_trials: 3}}",
    "median": "{drafts: {min_trials: 1000}}",
    "gpt-4o": "{}",
    "predicted": "{drafts: {way: prediction}}",
    "no-prediction": "{drafts: {way: prediction}}",
    "off": '{drafts: {way: "off"}}',
    "elsewhere": "{drafts: {reviser: other/small}}",
    "shadow": "{mode: shadow}",
}
"""Domains, each with a model of its name."""

SENTENCES = (
    "Customers in {place} may return an order within {days} days of the day on which it reached them.",
    "The goods have to be unused, complete and in the box in which they came.",
    "Please print the label from your account, put it on the outside, and hand the parcel in at any counter.",
    "As soon as the parcel is back in our warehouse we check what is in it and write to you.",
    "The money goes back the way it came, usually within a week after that message.",
    "Opened software, made-to-measure goods and food cannot be taken back.",
    "If something arrived broken, do not send it back yet: show us a picture first, and we shall find a way.",
    "Whoever paid for express delivery gets back what the normal delivery would have cost.",
    "Gift cards are refunded as gift cards, and points that were spent on the order come back to the account.",
    "Parts of an order can be returned by themselves; the rest of it stays as it is.",
    "Large furniture is fetched from the door, and the carrier calls on the evening before to agree on an hour.",
    "Keep the receipt of the counter until the money is there, since it is the only proof that the parcel left.",
    "If the label cannot be printed, the counter can print it from the code that we send to the telephone.",
    "Orders placed by a company are returned by the company, from the account that placed them.",
    "An exchange is a return and a new order; the new one can be placed at once, without waiting for the first.",
    "Questions are answered on weekdays by telephone, and at any time by a message from the page of the order.",
)


def answer_for(place: str, days: int = 30) -> str:
    return " ".join(SENTENCES).format(place=place, days=days)


def tokens(text: str) -> int:
    """About as many as a tokenizer would find."""
    return max(1, len(text) // 4)


def place_in(question: str) -> str:
    return next(
        (word for word in ("Norway", "Japan", "Brazil", "Kenya", "Canada") if word in question), "Norway"
    )


def edit(body: dict[str, Any]) -> str:
    """Revise as a model would that does what it is told."""
    task = str(body["messages"][-1]["content"])
    question = task.partition(" question>")[2].partition("</")[0]
    answer = task.partition("old answer>")[2]
    days = int(answer.partition("within ")[2].partition(" ")[0])
    changes = [
        {"old": f"in {place_in(answer)}", "new": f"in {place_in(question)}"},
        {"old": f"{days} days", "new": f"{14 if days == 30 else days + 1} days"},
    ]
    return json.dumps({"edit": changes})


def keep(_: dict[str, Any]) -> str:
    return json.dumps({"edit": "keep"})


def is_revision(seen: Seen) -> bool:
    return "old answer>" in seen.body.decode()


@dataclass
class World:
    """Answers plainly with a text of some two hundred tokens, unless `revises` or `says` know better for a model."""

    revises: dict[str, Callable[[dict[str, Any]], str | Behaviour]] = field(default_factory=dict)
    says: dict[str, Callable[[dict[str, Any]], Behaviour]] = field(default_factory=dict)
    held: threading.Event | None = None
    """Revisions wait for it."""

    def __call__(self, seen: Seen) -> Behaviour:
        body = seen.json()
        if is_revision(seen):
            said = self.revises.get(body["model"], edit)(body)
            behaviour = answering(body, said) if isinstance(said, str) else said
            return behaviour if self.held is None else held(self.held, behaviour)
        if body["model"] in self.says:
            return self.says[body["model"]](body)
        return answering(body, answer_for(place_in(str(body["messages"][-1]["content"]))))


def answering(body: dict[str, Any], text: str, **details: int) -> Behaviour:
    """Answer in the wire mode that was asked for, with token counts; `details` of the completion's."""
    usage: dict[str, Any] = {
        "prompt_tokens": tokens(json.dumps(body["messages"])),
        "completion_tokens": tokens(text) + details.get("rejected_prediction_tokens", 0),
        "completion_tokens_details": details,
    }
    whole = {**chat_body(text), "usage": usage}
    if not body.get("stream"):
        return json_reply(whole)
    frame = {"id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 1, "model": "m-2026"}
    events: list[dict[str, Any]] = [
        {**frame, "choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]}
        for word in text.split(" ")
    ]
    events[-1]["choices"][0]["delta"]["content"] = text.rsplit(" ", maxsplit=1)[-1]
    events.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append({**frame, "choices": [], "usage": usage})
    return stream(sse_bytes(events))


def refusing(param: str) -> Behaviour:
    error = {"message": f"Unsupported: {param}", "type": "invalid_request_error", "param": param}
    return json_reply({"error": error}, status=400, headers=[JSON_TYPE])


def held(event: threading.Event, behaviour: Behaviour) -> Behaviour:
    async def behave(exchange: Exchange) -> None:

        await asyncio.to_thread(event.wait, 30.0)
        await behaviour(exchange)

    return behave


def write_files(folder: Path, url: str) -> tuple[str, ...]:
    """Write configuration and policy; gives the arguments of a proxy."""
    folder.mkdir()
    rules = "".join(f'    - {{models: ["{name}"], domain: {name}}}\n' for name in DRAFTS)
    domains = "".join(f"  {name}: {knobs}\n" for name, knobs in DRAFTS.items())
    defaults = "  draft_threshold: 0.5\n  audit: {enabled: false}\n"
    text = policy(
        "house", KEY, domains=domains, rules=rules, defaults=defaults, more="classifier: {enabled: false}\n"
    )
    (folder / "policies").mkdir()
    (folder / "policies" / "house.yaml").write_text(text, encoding="utf-8")
    config = folder / "config.yaml"
    managed = "api_key: 'env:TEST_MANAGED_KEY'"
    config.write_text(
        "default_upstream: main\nupstreams:\n"
        f"  main: {{base_url: '{url}', {managed}}}\n"
        f"  oracle: {{base_url: '{url}', {managed}, predicted_outputs: true}}\n"
        f"  other: {{base_url: '{url}', api_key: 'env:TEST_OTHER_KEY'}}\n"
    )
    return ("--config", str(config), "--policies", str(folder / "policies"))
