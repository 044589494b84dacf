"""Short answers and pointers into a list: `yes please`, `no`, `the second one`, `option b`.

What they answer or point at is for others to find. Knows nothing of what was said before.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.context.clauses import asks
from semcache.decide.context.words import words_of
from semcache.decide.numerals import ordinals
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_MAX_REPLY = 12
_YES = frozenset(
    split(
        "yes yeah yep yup sure ok okay absolutely definitely certainly alright agreed correct right exactly confirmed confirm proceed perfect great fine please"
    )
)
_NO = frozenset(split("no nope nah never stop neither"))
_DO_IT = ("go ahead", "do it", "do that", "do so", "please do", "that works", "sounds good", "go for it", "let us do it", "let us do that", "why not", "of course", "not now", "not yet", "do not", "keep going", "continue", "go on", "carry on", "tell me more", "start", "finish it")  # fmt: skip
_HAN_REPLY = ("好的", "好", "是的", "是", "对", "可以", "行", "嗯", "没错", "当然", "确认", "同意", "继续", "不用", "不要", "不是", "不", "别", "算了", "没有", "麻烦你", "那就", "就这样", "要", "需要", "ok")  # fmt: skip
_PLAIN_YES = frozenset(split("yes yeah yep yup sure"))
_PLAIN_NO = frozenset(split("no nope nah"))
_HARMLESS_NO = ("no problem", "no worries", "no rush", "no doubt")


def answer(sentence: str) -> str:
    """Give the sign of a text that begins with a plain yes or no, else ""."""
    words = words_of(sentence)[:_MAX_REPLY]
    joined = " ".join(words)
    if not words or joined.startswith(_HARMLESS_NO):
        return ""
    if is_han(words[0]):
        text = "".join(words)
        if text.startswith(("不是", "不用", "不要", "不需要", "没有", "还没", "不行", "不对", "不可以")):
            return "-"
        return (
            "+"
            if text.startswith(("是的", "对的", "可以的", "要的", "有的", "是啊", "没错"))
            or text in ("是", "对", "要", "有", "可以", "行")
            else ""
        )
    if words[0] in _PLAIN_NO:
        return "-"
    return "+" if words[0] in _PLAIN_YES else ""


def reply(words: tuple[str, ...], joined: str, body: str) -> str:
    """Give the sign of a short English reply: `+`, `-`, `~` for one that is neither, "" for no reply."""
    if not words or len(words) > _MAX_REPLY:
        return ""
    if words[0] in _NO or joined.startswith(
        ("do not", "not now", "not yet", "cancel that", "forget it", "never mind")
    ):
        return "-"
    # `Do it` begins as questions do.
    if "?" not in body and _bidding().search(joined):
        return "+"
    if asks(body):
        return ""
    if words[0] in _YES or joined.startswith(_DO_IT):
        return "+"
    return "" if len(words) > _MAX_REPLY // 2 else "~"


@lru_cache(maxsize=1)
def _bidding() -> re.Pattern[str]:
    return re.compile(
        r"^(?:(?:ok|okay|yes|yeah|sure|please|great|perfect|fine|alright) )*do (?:it|that|so)\b"
    )


def han_reply(text: str) -> str:
    """Give the sign of a short Chinese reply, as `reply` does."""
    if len(text) > _MAX_REPLY:
        return ""
    if asks(text):
        return ""
    if text.startswith(("不", "别", "没", "算了", "先不", "取消吧")):
        return "-"
    if text.startswith(_HAN_REPLY):
        return "+"
    return "" if len(text) > _MAX_REPLY // 2 else "~"


_POSITIONS = {"former": 1, "latter": -1, "last": -1}
_HAN_INDEX = re.compile("第([一二三四五六七八九十]|\\d{1,2})[个条种款步点项]?|最后一|前者|后者")
_INDEX = re.compile(
    r"\b(?:option|number|step|item|point|choice|no|plan|suggestion|idea|answer|part|method) (\d{1,2}|[a-e])\b|\b([a-z]+) (?:one|ones|option|item|choice|step|point|suggestion|idea|method|approach|solution|example|recipe|part)\b"
)


def index(words: tuple[str, ...], joined: str, compact: str) -> int:
    """Give the place in a list that is pointed at: from 1, -1 for the last, 0 for none."""
    found = _HAN_INDEX.search(compact)
    if found is not None:
        mark = found.group(1)
        if mark is None:
            return 1 if found.group() == "前者" else -1
        return int(mark) if mark.isdigit() else "一二三四五六七八九十".index(mark) + 1
    for match in _INDEX.finditer(joined):
        place = _place(match.group(1)) if match.group(1) else _ordinal(match.group(2))
        if place:
            return place
    for i, word in enumerate(words):
        if word in ("former", "latter"):
            return _POSITIONS[word]
        if word in ("first", "second", "third", "fourth", "fifth", "last") and i + 1 == len(words):
            return _place(word)
    return 0


def _place(word: str) -> int:
    if word.isdigit():
        return int(word)
    if len(word) == 1:
        return ord(word) - ord("a") + 1
    return _ordinal(word)


def _ordinal(word: str) -> int:
    return _POSITIONS.get(word, 0) or int(ordinals().get(word, 0))
