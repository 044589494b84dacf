"""Whether an answer is in the language and the form that its question, or its request, asks for. Pure.

From the question: the language that it is in or that it asks for (`in French`, `翻译成法语`); a data format, a table, a
list; so many items; at most or about so many words, sentences, paragraphs, characters. From the request:
`response_format`. What cannot be seen in an answer (style, depth, for whom it is written) is not looked for. An
answer without any list is not held to a number of items: it may name them in prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from semcache.decide import language
from semcache.decide.features import features
from semcache.decide.numerals import cardinals
from semcache.decide.revision.bounded_schema import keeps_to
from semcache.decide.text import read

_SAMPLE = 400
"""Characters by which the language of an answer is told."""
_HEAD = 2_000
"""Characters of a question in which counts are looked for."""
_ABOUT = 1.2
"""People who ask for 100 words take 120; an answer of less than half is another thing."""
_SPOKEN = {
    "english|英语|英文": "en",
    "french|法语|法文": "fr",
    "german|德语|德文": "de",
    "spanish|西班牙语|西语": "es",
    "italian|意大利语": "it",
    "portuguese|葡萄牙语|葡语": "pt",
    "dutch|荷兰语": "nl",
    "chinese|mandarin|中文|汉语|普通话": "zh",
    "japanese|日语|日文": "ja",
    "korean|韩语|韩文": "hangul",
    "russian|俄语|俄文": "cyrillic",
    "greek|希腊语": "greek",
    "arabic|阿拉伯语": "arabic",
}
_HAN_DIGITS = "零一二三四五六七八九十"


@lru_cache(maxsize=1)
def _wanted_language() -> re.Pattern[str]:
    names = "|".join(f"(?P<{code}>{names})" for names, code in _SPOKEN.items())
    return re.compile(rf"(?:\b(?:in|into|to)\s{{1,4}}|用|译成|译为|翻译成|翻译为|写成)(?:{names})(?![a-z])")


@lru_cache(maxsize=1)
def _items() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:list|give|name|suggest|recommend|provide|show|tell|write|propose|describe)(?: me| us)?(?: the| your)?(?: top| best| first| exactly)?"
        r" (?P<en>\d{1,3}|[a-z]{3,9}) (?!(?:words?|sentences?|paragraphs?|pages?|lines?|characters?|minutes?|hours?|days?|percent)\b)[a-z]"
        r"|\btop (?P<top>\d{1,3}) [a-z]"
        r"|(?:列出|给出|给我|推荐|列举|举出?|写出?|说出|提供|介绍)(?P<zh>\d{1,3}|[两一二三四五六七八九十])(?:个|条|种|点|本|项|款|部|首|家|位|道|例)"
    )


@lru_cache(maxsize=1)
def _lengths() -> re.Pattern[str]:
    return re.compile(
        r"\b(?P<how>in|within|under|at most|no more than|not more than|less than|fewer than|up to|maximum of|max|about|around|exactly)"
        r"(?: about| around| exactly| at most| under)? (?P<en>\d{1,5}|[a-z]{3,9})[ -](?P<unit>words?|sentences?|paragraphs?|characters?|lines?)\b"
        r"|(?P<zh>\d{1,5}|[两一二三四五六七八九十])个?(?P<zhunit>字|句话|段话|段|行)(?P<zhhow>以内|之内|以下|左右|内)?"
    )


@lru_cache(maxsize=1)
def _item() -> re.Pattern[str]:
    return re.compile(r"(?m)^ {0,3}(?:[-*+•]\s|\d{1,3}[.)、:]\s{0,1})(?=\S)")


@lru_cache(maxsize=1)
def _fenced() -> re.Pattern[str]:
    return re.compile(r"\A```[\w+#-]{0,20}[ \t]{0,9}\n(.*)\n```\Z", re.DOTALL)


def has_form(asked: str, response_format: Mapping[str, Any] | None, answer: str) -> bool:
    """True when an answer has the form that its question and the request ask for, as far as that can be seen.

    Args:
        asked: the question that it is to answer.
        response_format: of the request, as it was sent; None: none.
        answer: what it says.
    """
    question, body, low = features(asked), answer.strip(), asked[:_HEAD].lower()
    wanted = question.formats | question.lengths
    return (
        all(_SEEN[name](body) for name in wanted if name in _SEEN)
        and _has_items(low, body)
        and _has_length(low, body)
        and _fits(response_format, answer)
    )


def is_spoken(asked: str, stored: str, before: str, after: str) -> bool:
    """True when an answer is in the language that its question is in, or asks for.

    Args:
        asked: the question that it is to answer.
        stored: the older question.
        before: the answer to it.
        after: the answer.
    """
    spoken, question = _language(after), features(asked).language
    wanted = _wanted_language().search(asked.lower())
    if wanted is not None and wanted.lastgroup is not None:
        return not language.conflict(wanted.lastgroup, spoken)
    if not language.conflict(question, spoken):
        return True
    # `How do I say thanks abroad?`: the older answer to a question in this language was in that one already.
    return not language.conflict(question, features(stored).language) and _language(before) == spoken


def _fits(response_format: Mapping[str, Any] | None, answer: str) -> bool:
    match response_format:
        case None | {"type": "text"}:
            return True
        case {"type": "json_object"}:
            return isinstance(_parsed(answer), dict)
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            value = _parsed(answer)
            return value is not _NO_JSON and keeps_to(schema, value) is True
    # A form that nobody here knows: whether the answer has it, nobody can tell.
    return False


def _language(text: str) -> str:
    return language.detect(read(text[:_SAMPLE]))


_NO_JSON = object()


def _parsed(text: str) -> Any:
    """Give the value of a JSON text; `_NO_JSON` for other texts."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _NO_JSON


def _bare(body: str) -> str:
    """Give what stands in the one block of code that an answer consists of; else the answer."""
    match = _fenced().search(body)
    return match[1] if match else body


def _is_json(body: str) -> bool:
    return isinstance(_parsed(_bare(body)), dict | list)


def _is_table(body: str) -> bool:
    rows = [line for line in body.splitlines() if "|" in line or "\t" in line]
    return len(rows) > 1 or "<table" in body.lower() or "\\begin{tabular}" in body


def _is_list(body: str) -> bool:
    return len(_item().findall(body)) > 1


def _is_tagged(body: str) -> bool:
    return re.search(r"<[A-Za-z!?][^<>]{0,500}>", body) is not None


def _is_csv(body: str) -> bool:
    rows = [line for line in _bare(body).splitlines() if line.strip()]
    return len(rows) > 1 and all("," in row or ";" in row for row in rows)


def _sentences(body: str) -> int:
    return max(1, len(re.findall(r"[.!?](?=\s|\Z)|[。！？]", body))) if body else 0


def _paragraphs(body: str) -> int:
    return len([part for part in re.split(r"\n[ \t]{0,20}\n", body) if part.strip()])


def _words(body: str) -> int:
    return len(re.findall(r"[\u3400-\u9fff\u3040-\u30ff]|[^\W_]+(?:['’.,-][^\W_]+)*", body))


_SEEN: dict[str, Callable[[str], bool]] = {
    "json": _is_json,
    "table": _is_table,
    "bullets": _is_list,
    "xml": _is_tagged,
    "html": _is_tagged,
    "csv": _is_csv,
    "sentence": lambda body: _sentences(body) <= 1,
    "paragraph": lambda body: _paragraphs(body) <= 1,
    "word": lambda body: _words(body) <= 3,
}
"""Forms, by their names in the `formats` and `lengths` of features, that an answer is seen to have or not to have."""


def _number(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    if word in ("one", "two", "three") or word in cardinals():
        return int(cardinals()[word])
    return 2 if word == "两" else _HAN_DIGITS.index(word) if word in _HAN_DIGITS else None


def _has_items(asked: str, body: str) -> bool:
    """True unless an answer is a list of another length than was asked for."""
    match = _items().search(asked)
    if match is None:
        return True
    wanted = _number(next(filter(None, match.group("en", "top", "zh"))))
    items = len(_item().findall(body))
    return wanted is None or wanted < 2 or items < 2 or items == wanted


def _has_length(asked: str, body: str) -> bool:
    """True unless an answer is visibly longer than asked for, or by far too short for about so much."""
    match = _lengths().search(asked)
    if match is None:
        return True
    wanted = _number(match["en"] or match["zh"])
    unit = match["unit"] or match["zhunit"]
    if wanted is None or wanted < 1:
        return True
    size = _measure(unit, body)
    if unit[:4] not in ("word", "char", "字"):
        return size <= wanted
    strict = (match["how"] or "") in (
        "under",
        "at most",
        "no more than",
        "not more than",
        "less than",
        "fewer than",
    ) or (match["zhhow"] in ("以内", "之内", "以下", "内"))
    # Counting words is no exact art: a few more are let pass even of a strict bound.
    most = wanted * (1.05 if strict else _ABOUT) + 1
    floor = 0.0 if strict or match["how"] in ("within", "up to", "max", "maximum of") else wanted / 2
    return floor <= size <= most


def _measure(unit: str, body: str) -> int:
    match unit[:4]:
        case "sent" | "句话":
            return _sentences(body)
        case "para" | "段话" | "段":
            return _paragraphs(body)
        case "line" | "行":
            return len([line for line in body.splitlines() if line.strip()])
        case "char":
            return len(body)
    return _words(body)
