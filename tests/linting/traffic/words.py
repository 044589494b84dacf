"""Texts and bodies for made-up traffic: prose of an application's own, tools, documents, and the dialects they go out in."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
_SENTENCE = 75
"""Characters of one, about."""

_SUBJECTS = [
    "the agent",
    "an order",
    "the customer",
    "every answer",
    "a refund",
    "the invoice",
    "this policy",
    "a shipment",
    "the schedule",
    "any warranty",
    "the patient",
    "a contract",
    "the booking",
    "each report",
    "the parcel",
    "a complaint",
    "the device",
    "an account",
    "the meeting",
    "the lesson",
]
_VERBS = [
    "must mention",
    "should never repeat",
    "may include",
    "has to confirm",
    "always needs",
    "can wait for",
    "describes",
    "depends on",
    "replaces",
    "is checked against",
    "is filed under",
    "refers to",
    "comes before",
    "is sent with",
    "belongs to",
    "is kept apart from",
]
_OBJECTS = [
    "the delivery address",
    "a short summary",
    "the exact amount",
    "two examples",
    "the terms of use",
    "a polite greeting",
    "its source",
    "the regional office",
    "an open ticket",
    "the original wording",
    "a signed form",
    "the responsible team",
    "its own appendix",
    "the previous agreement",
    "a second opinion",
    "the printed manual",
    "a calm tone",
    "the quality label",
]
_TAILS = [
    "",
    "when asked",
    " without delay",
    " in plain words",
    " unless told otherwise",
    " for all regions",
    " at no extra charge",
    " after a review",
    " on working days",
    " if it is known",
    " as written above",
    " in the customer's language",
]
_HAN = [
    "回答必须简明",
    "不要重复客户的问题",
    "所有价格以人民币计算",
    "退货需要保留包装",
    "请先核对订单信息",
    "遇到投诉应当道歉",
    "不得透露内部资料",
    "地址修改需要确认",
    "发票可以电子形式寄出",
    "配送时间视地区而定",
    "保修期按合同约定",
    "语气要礼貌耐心",
    "如不清楚请转人工",
    "引用条款时注明出处",
    "优惠不能叠加使用",
    "海外订单另行报价",
]
NAMES = [
    "Alice Johnson",
    "Bob Miller",
    "Carla Gomez",
    "David Lee",
    "Emma Schmidt",
    "Farid Khan",
    "Grace Okafor",
    "Hiro Tanaka",
    "Ines Silva",
    "Jonas Berg",
    "Kira Novak",
    "Liam Murphy",
    "Mei Chen",
    "Noor Haddad",
    "Olga Ivanova",
    "Pablo Ruiz",
    "Quinn Walsh",
    "Rosa Conti",
    "Sven Dahl",
    "Tara Singh",
]


class Reader(random.Random):
    """Draws its prose from real texts, at any place."""

    texts: tuple[str, ...] = ()

    def passage(self, size: int) -> str:
        text = self.choice(self.texts)
        text *= size // len(text) + 1
        at = self.randrange(len(text) - size + 1)
        return text[at : at + size].strip()


def sentence(rng: random.Random) -> str:
    if isinstance(rng, Reader):
        return rng.passage(_SENTENCE).replace("\n", " ")
    words = rng.choice(_SUBJECTS), rng.choice(_VERBS), rng.choice(_OBJECTS)
    return " ".join(words).capitalize() + rng.choice(_TAILS) + "."


def prose(rng: random.Random, sentences: int, joined: str = " ") -> str:
    if isinstance(rng, Reader):
        return rng.passage(_SENTENCE * sentences)
    return joined.join(sentence(rng) for _ in range(sentences))


def han_prose(rng: random.Random, sentences: int) -> str:
    return "".join(f"{rng.choice(_HAN)}，{rng.choice(_HAN)}。" for _ in range(sentences))


def document(rng: random.Random, lines: int) -> str:
    return prose(rng, lines, "\n")


def question(rng: random.Random) -> str:
    return f"What about {rng.choice(_SUBJECTS)} and {rng.choice(_OBJECTS)}{rng.choice(_TAILS)}?"


def tool(rng: random.Random, name: str) -> Body:
    names = rng.sample(("city", "order", "amount", "language", "limit", "reason", "currency"), 3)
    fields = {one: {"type": "string", "description": sentence(rng)} for one in names}
    schema = {"type": "object", "properties": fields, "required": names[:1]}
    return {
        "type": "function",
        "function": {"name": name, "description": prose(rng, 2), "parameters": schema},
    }


def shuffled_keys(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: shuffled_keys(value[name], rng) for name in names}
    return [shuffled_keys(one, rng) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Sent:
    """One request of made-up traffic."""

    body: Body
    at: float
    tenant: str = "acme"
    model: str = "gpt-4o"


def said(role: str, content: Any) -> Body:
    return {"role": role, "content": content}


def in_dialect(dialect: str, system: str, messages: list[Body], tools: list[Body] | None = None) -> Body:
    """Write a request down as OpenAI's chat or responses, or as Anthropic's messages."""
    if dialect == "anthropic":
        body: Body = {"model": "m", "max_tokens": 100, "messages": messages}
        if system:
            mark = {"cache_control": {"type": "ephemeral"}}
            body["system"] = [{"type": "text", "text": system, **mark}]
        flat = [one["function"] for one in tools or ()]
        if flat:
            body["tools"] = [
                {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
                for f in flat
            ]
        return body
    if dialect == "responses":
        body = {"model": "m", "instructions": system, "input": messages}
    else:
        head = [said("system", system)] if system else []
        body = {"model": "m", "messages": [*head, *messages]}
    return body | ({"tools": tools} if tools else {})
