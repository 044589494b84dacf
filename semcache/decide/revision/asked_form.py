"""The form that a question asks for, and whether an answer has it as far as that can be seen. Pure.

A table, a list, so many items, a data format, a language of code, at most so many words or sentences. What an answer
need not show (style, depth) is not looked for. Knows nothing of `response_format` (see `schema`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from semcache.decide.features import Features, features
from semcache.decide.numerals import cardinals
from semcache.decide.revision.schema import parsed
from semcache.decide.text import read

_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)、:][ \t]?)\S")
_ROW = re.compile(r"(?m)^[ \t]*\|?[^|\n]+\|[^\n]*$")
_FENCE = re.compile(r"```[ \t]*([\w+#-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ITEMS = re.compile(
    r"(?i)\b(?:list|give(?: me)?|name|suggest|provide|write|show(?: me)?|top|tell me)\s+(?:me\s+)?(?:the\s+|top\s+|at least\s+)?"
    r"(\d{1,3}|[a-z]{3,9})\s+(?:[a-z-]+\s+){0,3}?(?:things|tips|ways|examples|reasons|ideas|names|steps|facts|methods|benefits|"
    r"books|points|options|questions|synonyms|exercises|recipes|items|titles|words for)\b"
)
_HAN_ITEMS = re.compile(
    r"(?:列出|给出|给我|推荐|举出?|写出?|说出)\s*(\d{1,3}|[一二两三四五六七八九十]{1,2})\s*(?:个|条|种|点|本|项)"
)
_WORDS = re.compile(
    r"(?i)\b(?:in|under|within|at most|no more than|not more than|maximum(?: of)?|max|up to|fewer than|less than|about|around)\s+"
    r"(\d{1,5})\s+words\b|(\d{1,5})\s*(?:个)?字(?:以内|之内|左右|以下)|(?:不超过|不多于|最多)\s*(\d{1,5})\s*(?:个)?字"
)
_SLACK = 1.15
"""What people take for about so many words."""
_HAN_NUMBERS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
_CODE = {
    "python": ("python", "py", "python3"),
    "java": ("java",),
    "javascript": ("javascript", "js", "jsx", "node"),
    "typescript": ("typescript", "ts", "tsx"),
    "rust": ("rust", "rs"),
    "golang": ("go", "golang"),
    "csharp": ("csharp", "cs", "c#"),
    "cplusplus": ("cpp", "c++", "cplusplus"),
    "ruby": ("ruby", "rb"),
    "php": ("php",),
    "kotlin": ("kotlin", "kt"),
    "swift": ("swift",),
    "scala": ("scala",),
    "perl": ("perl", "pl"),
}


def has_form(asked: str, answer: str) -> bool:
    """True unless an answer visibly lacks the form that its question asks for."""
    found = features(asked)
    wanted = found.formats | found.lengths
    return (
        all(_FORMS[name](answer) for name in wanted if name in _FORMS)
        and _has_items(asked, answer)
        and _is_short(asked, answer)
        and _speaks_code(found, answer)
    )


def _is_json(answer: str) -> bool:
    blocks = [match[2] for match in _FENCE.finditer(answer)] or [answer]
    return any(isinstance(parsed(block.strip()), dict | list) for block in blocks)


def _has_table(answer: str) -> bool:
    return len(_ROW.findall(answer)) >= 2 or "<table" in answer.lower() or "\\begin{tabular}" in answer


def _has_list(answer: str) -> bool:
    return len(_ITEM.findall(answer)) >= 2


def _sentences(answer: str) -> int:
    return len(re.findall(r"[.!?](?:\s|\Z)|[。！？]", answer.strip()))


_FORMS: dict[str, Callable[[str], bool]] = {
    "table": _has_table,
    "bullets": _has_list,
    "json": _is_json,
    "xml": lambda answer: re.search(r"<\w[^>]*>", answer) is not None,
    "html": lambda answer: re.search(r"<\w[^>]*>", answer) is not None,
    "csv": lambda answer: len(re.findall(r"(?m)^[^,\n]*,[^\n]*$", answer)) >= 2,
    "sentence": lambda answer: _sentences(answer) <= 1,
    "word": lambda answer: len(read(answer).words) <= 4,
    "paragraph": lambda answer: "\n\n" not in answer.strip(),
    "code": lambda answer: answer.strip().startswith("```") or "```" not in answer,
}
"""Forms that can be seen, by their names in `formats`."""


def _has_items(asked: str, answer: str) -> bool:
    """True unless a list has another number of items than was asked for."""
    wanted = _count(asked)
    items = len(_ITEM.findall(_FENCE.sub("", answer)))
    return wanted is None or items < 2 or items == wanted


def _count(asked: str) -> int | None:
    match = _ITEMS.search(asked[:2000]) or _HAN_ITEMS.search(asked[:2000])
    if match is None:
        return None
    word = match[1].lower()
    return int(word) if word.isdecimal() else cardinals().get(word, _HAN_NUMBERS.get(word))


def _is_short(asked: str, answer: str) -> bool:
    match = _WORDS.search(asked[:4000])
    if match is None:
        return True
    most = int(next(filter(None, match.groups())))
    return len(read(answer).words) <= most * _SLACK + 1


def _speaks_code(found: Features, answer: str) -> bool:
    """True unless blocks of code say that they are in another language than the only one that is asked for."""
    asked = found.kinds.get("language", frozenset()) & _CODE.keys()
    if len(asked) != 1:
        return True
    (name,) = asked
    known = {short: language for language, words in _CODE.items() for short in words}
    told = {known.get(match[1].lower(), name) for match in _FENCE.finditer(answer) if match[1]}
    return not told or name in told
