"""Instructions with a text to work on: translate, summarise, classify, correct, explain this code.

There the pasted text decides and the instruction is a template: two texts for one instruction
are two questions, however near an encoder finds them. The payload stands in a fence, a tag, or
triple quotes, behind a colon or in quotation marks after a verb of such tasks, or on lines of
its own beside the instruction. Payloads agree when their letters and digits do. Knows nothing of
what an instruction means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.text import Text
from semcache.decide.wordlist import split

# After these the text is all that matters, be it one word long.
_TASKS = frozenset(
    split(
        "translate translating translation summarize summarise summarizing summary classify classification categorize categorise "
        "extract extracting rewrite rephrase paraphrase proofread spellcheck transcribe label tag tldr tl;dr reword shorten "
        "correct transliterate punctuate condense polish anonymize anonymise redact normalize normalise parse tokenize "
        "sentiment grammar typos"
    )
)
# After these only where the text is long, or named as such.
_MAYBE = frozenset(
    split(
        "explain analyze analyse review improve edit simplify convert fix check answer given read evaluate rate identify detect find "
        "describe critique debug refactor document comment optimize optimise complete continue fill format solve based "
        "according using use consider list following below above passage text article paragraph sentence sentences email "
        "message document code snippet function log logs error data table csv json context excerpt transcript review reviews"
    )
)
_HAN_TASKS = (
    "翻译", "译成", "译为", "总结", "概括", "摘要", "概述", "归纳", "提取", "抽取", "分类", "改写", "润色", "校对", "纠错", "改错", "缩写", "扩写", "仿写",
    "情感分析", "判断情感", "标注", "脱敏", "转写", "语病", "提炼",
)  # fmt: skip
_HAN_MAYBE = (
    "解释", "分析", "转换", "修改", "优化", "检查", "回答", "根据", "阅读", "以下", "如下", "下面", "下列", "这段", "这篇", "上面", "上述", "代码", "文本", "文章",
    "段落", "句子", "邮件", "内容", "材料", "点评", "评价", "补全", "续写", "格式化",
)  # fmt: skip
_LONG = 40
"""Letters from which a text behind a colon or on its own lines is something to work on."""
_REACH = 400
"""Letters an instruction has at most beside its text."""
_MARKS = frozenset(":\n`<\"“「『'")


@dataclass(frozen=True, slots=True)
class Payload:
    """A text to work on: `letters` to compare by, and where it stands in the folded text [start, end)."""

    letters: str
    start: int
    end: int


@lru_cache(maxsize=1)
def _containers() -> re.Pattern[str]:
    """Fences, triple quotes, tags, and lines of dashes or hashes around a text."""
    return re.compile(
        r"```[^\n`]{0,40}\n(?P<fence>[^`]{1,32768})(?:```|$)"
        r"|\"\"\"(?P<triple>[^\"]{1,32768})(?:\"\"\"|$)"
        r"|'''(?P<single>[^']{1,32768})(?:'''|$)"
        r"|<(?P<tag>[A-Za-z][\w-]{0,30})>(?P<inside>[^<]{1,32768})</(?P=tag)>"
    )


@lru_cache(maxsize=1)
def _quoted() -> re.Pattern[str]:
    return re.compile(
        r"\"([^\"]{1,8192})\"|“([^”]{1,8192})”|「([^」]{1,8192})」|『([^』]{1,8192})』|(?<![A-Za-z])'([^'\n]{1,8192})'(?![A-Za-z])"
    )


@lru_cache(maxsize=1)
def _letters_pattern() -> re.Pattern[str]:
    return re.compile(r"[\W_]+")


def letters(text: str) -> str:
    """Give the letters and digits of a text in lower case, with nothing between."""
    return _letters_pattern().sub("", text).lower()


def find(text: Text) -> Payload | None:
    """Give the text that an instruction works on, or None where no such text shows."""
    head = text.head
    if _MARKS.isdisjoint(head):
        return None
    return _contained(head) or _behind_colon(head) or _in_quotes(head) or _on_lines(head)


def _made(head: str, start: int, end: int) -> Payload | None:
    found = letters(head[start:end])
    return Payload(found, start, end) if found else None


def _contained(head: str) -> Payload | None:
    """Give what stands in the longest container; an inline word in backticks is no text to work on."""
    spans = [
        (match.start(group), match.end(group))
        for match in _containers().finditer(head)
        for group in ("fence", "triple", "single", "inside")
        if match.group(group) is not None
    ]
    if not spans:
        return None
    # Several containers are one payload: all of them count.
    return _made(head, spans[0][0], spans[-1][1])


def _is_task(instruction: str) -> tuple[bool, bool]:
    """Say whether words ask to work on a text: surely, or perhaps."""
    words = set(re.findall(r"[a-z;]+", instruction.lower()))
    sure = not _TASKS.isdisjoint(words) or any(word in instruction for word in _HAN_TASKS)
    return sure, sure or not _MAYBE.isdisjoint(words) or any(word in instruction for word in _HAN_MAYBE)


def _behind_colon(head: str) -> Payload | None:
    at = head.find(":")
    while 0 <= at <= _REACH:
        inside = head[at + 1 : at + 3]
        if not inside.startswith("//") and not (at and head[at - 1].isdigit() and inside[:1].isdigit()):
            return _after_instruction(head, head[:at], at + 1)
        at = head.find(":", at + 1)
    return None


def _after_instruction(head: str, instruction: str, start: int) -> Payload | None:
    sure, perhaps = _is_task(instruction)
    payload = _made(head, start, len(head)) if perhaps else None
    if payload is None or sure or len(payload.letters) >= _LONG:
        return payload
    return None


def _in_quotes(head: str) -> Payload | None:
    """Give the longest quotation, where the words around it ask to work on it."""
    spans = [match.span(match.lastindex) for match in _quoted().finditer(head) if match.lastindex]
    if not spans:
        return None
    start, end = max(spans, key=lambda span: span[1] - span[0])
    around = head[:start][:_REACH] + " " + head[end:][-_REACH:]
    sure, perhaps = _is_task(around)
    payload = _made(head, start, end) if perhaps else None
    return payload if payload is not None and (sure or len(payload.letters) >= _LONG) else None


def _on_lines(head: str) -> Payload | None:
    """Give the lines beside a first or last line that asks to work on them."""
    lines = [match.span() for match in re.finditer(r"[^\n]+", head) if match.group().strip()]
    if len(lines) < 2:
        return None
    for instruction, span in (
        (lines[0], (lines[1][0], lines[-1][1])),
        (lines[-1], (lines[0][0], lines[-2][1])),
    ):
        words = head[slice(*instruction)]
        sure, perhaps = _is_task(words) if len(words) <= _REACH else (False, False)
        payload = _made(head, *span) if perhaps else None
        if payload is not None and (sure or len(payload.letters) >= _LONG):
            return payload
    return None


def conflict(one: Payload | None, other: Payload | None, one_plain: str, other_plain: str) -> bool:
    """True when the texts to work on differ; `*_plain` are the letters and digits of the whole texts.

    Where only one text shows its payload, the other must hold it somewhere.
    """
    if one is None and other is None:
        return False
    if one is not None and other is not None:
        return one.letters != other.letters
    if one is not None:
        return one.letters not in other_plain
    return other is not None and other.letters not in one_plain
