"""One answer taken apart: prose without markup, code, sentences, and how it begins.

Knows nothing of comparing. Linear in the text; at most `MAX_SENTENCES` sentences are looked at one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.text import fold
from semcache.decide.wordlist import split

MAX_CHARACTERS = 20_000
MAX_SENTENCES = 24
_LEAD = 48
"""Characters of the beginning in which a yes, a no or a refusal is looked for."""
_REFUSAL_REACH = 160
_LARGEST_POWER = 30

_FENCE = re.compile(r"```[\w+#.-]{0,20}\n?(.*?)(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]{1,200})`")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\(([^)\s]{1,500})\)")
_MARKUP = re.compile(
    r"(?m)^\s{0,8}(?:#{1,6}\s+|[-*+•]\s+|\d{1,3}[.)]\s+|>\s?|\|)|\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)"
)
_RANGE = re.compile(
    r"(\d[\d.,]{0,12})\s{0,2}(to|or|and|-|–|—|~|～|至|到)\s{0,2}(\d[\d.,]{0,12})\s{0,2}"
    r"(?!(?:in|to|and|or|of|for|at|on|by|per|is|a|the|times)\b)(°\s?[CF]\b|[A-Za-z%℃°]{1,12}|[\u4e00-\u9fff]{1,2})"
)
"""`10 to 15 minutes`: the unit is meant for both."""
_ASIDE = re.compile(r"\s?[(（]\s{0,2}(?=[\d≈~])|\s/\s(?=\d)")
"""`8,849 m (29,032 ft)`: one amount twice, not their sum."""
_SUPERSCRIPTS = str.maketrans({"²": "^2", "³": "^3", "¹": "^1"})
_POWER = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)\s{0,2}[×x*·]\s{0,2}10\^?([1-9]\d?)(?![\d.])")
_ENDS = re.compile(r"(?<=[.!?])\s+|[。！？；\n]+")

_YES = split(
    "yes yeah yep absolutely certainly definitely correct true right sure indeed 是的 是 可以 能 会 对 对的 有 有的 需要 行 当然 没错 正确 应该 有效"
)
_NO = split(
    "no nope not incorrect false never unfortunately 不 不是 不可以 不能 不会 不对 没有 不需要 不行 不建议 不推荐 错误 无需 不用 不应该 不应 无效"
)
_REFUSALS = (
    "i'm sorry, but", "i am sorry, but", "i'm sorry, i can", "sorry, but i can", "sorry, i can", "i can't help", "i cannot help",
    "i can't assist", "i cannot assist", "i'm unable to", "i am unable to", "i'm not able to", "i am not able to",
    "i can't provide", "i cannot provide", "i can't share", "i cannot share", "i won't", "i will not", "as an ai",
    "i don't have access", "i do not have access", "i don't have real-time", "i do not have real-time", "i don't have information",
    "i don't know", "i do not know", "i can't comply", "i cannot comply", "i can't answer", "i cannot answer", "i must decline",
    "unable to assist", "unable to help", "can't discuss", "cannot discuss",
    "抱歉", "对不起", "很遗憾", "我不能", "我无法", "无法提供", "无法回答", "不能提供", "作为一个ai", "作为人工智能", "作为ai", "我没有权限",
    "我不知道", "不能协助", "无法协助", "无法帮助", "不便回答",
)  # fmt: skip
_DENIALS = ("can't", "cannot", "unable", "not able", "won't", "will not", "don't", "do not", "decline", "不能", "无法", "没有", "不知道", "不便", "拒绝")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as comparison sees it.

    `prose` has no code and no markup, `code` are its fenced and quoted pieces, `sentences` the prose in
    parts. `lead` is `yes`, `no` or "" by the first words; `refuses` says that it answers nothing.
    """

    text: str
    prose: str
    code: tuple[str, ...]
    sentences: tuple[str, ...]
    lead: str
    refuses: bool


def read_answer(text: str) -> Answer:
    """Take an answer apart; any text will do."""
    return _read(text[:MAX_CHARACTERS].strip())


@lru_cache(maxsize=256)
def _read(text: str) -> Answer:
    fenced = [match.strip() for match in _FENCE.findall(text)]
    rest = _FENCE.sub("\n", text)
    quoted = [match.strip() for match in _INLINE.findall(rest)]
    # What is quoted stays readable: it is often the answer itself.
    rest = _LINK.sub(r"\1 \2", rest.replace("`", " "))
    # Folding makes of 3² a 32.
    prose = _ASIDE.sub(" or ", _MARKUP.sub(" ", fold(rest.translate(_SUPERSCRIPTS))))
    prose = _POWER.sub(_written_out, prose)
    prose = _RANGE.sub(r"\1 \4 \2 \3 \4", prose).strip()
    sentences = tuple(part.strip() for part in _ENDS.split(prose) if part and part.strip())
    return Answer(
        text=text,
        prose=prose,
        code=tuple(part for part in (*fenced, *quoted) if part),
        sentences=sentences[:MAX_SENTENCES],
        lead=_lead(prose),
        refuses=_refuses(prose),
    )


def _written_out(match: re.Match[str]) -> str:
    """`9.46×10^12` is 9460000000000."""
    power = int(match.group(2))
    return f"{float(match.group(1)) * 10**power:.0f}" if power <= _LARGEST_POWER else match.group()


def _lead(prose: str) -> str:
    low = prose[:_LEAD].lower().lstrip(" \"'“‘([")
    first = re.match(r"[a-z]+", low)
    if first is not None:
        word = first.group()
        return "yes" if word in _YES else "no" if word in _NO else ""
    if any(low.startswith(word) for word in _NO if not word.isascii()):
        return "no"
    marks = tuple("，,。.！! ；;：:")
    said = [word for word in _YES if not word.isascii() and low.startswith(word)]
    # `是的，` and `可以，` answer; `会议在三点` and `有效期` do not.
    return "yes" if any(low[len(word) :].startswith(marks) or len(low) == len(word) for word in said) else ""


def _refuses(prose: str) -> bool:
    low = prose[:_REFUSAL_REACH].lower()
    if not any(phrase in low for phrase in _REFUSALS):
        return False
    # `Sorry, we are closed` is an answer.
    return any(word in low for word in _DENIALS) and not _says_much(prose)


def _says_much(prose: str) -> bool:
    """A long text that begins with an apology or a caveat goes on to answer."""
    return len(prose) > 600 or (len(prose) > 200 and not prose.isascii())


@lru_cache(maxsize=1)
def _closed_pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|[.!?,;]\s+)(?:is|are|was|were|do|does|did|can|could|should|would|will|may|might|must|has|have|had|am|need)"
        r"(?:n't)?\s",
        re.IGNORECASE,
    )


def is_closed(question: str) -> bool:
    """True for a question that a yes or a no answers."""
    text = fold(question[:2000]).strip()
    if any(
        word in text
        for word in (
            "吗",
            "是否",
            "能否",
            "可否",
            "是不是",
            "能不能",
            "可不可以",
            "会不会",
            "要不要",
            "有没有",
        )
    ):
        return True
    closed = _closed_pattern().search(text) is not None
    return closed and not re.search(
        r"\bor\b|\b(?:what|which|who|whom|whose|when|where|why|how)\b", text, re.IGNORECASE
    )


_OPEN = re.compile(
    r"^\W*(?:(?:please|can you|could you|help me|i need you to|i want you to)\s+)*(?:write|compose|draft|create|invent|imagine"
    r"|suggest|brainstorm|recommend|come up with|think of|make up|give me (?:some |an? )?(?:ideas?|names?|suggestions?)"
    r"|tell me a (?:joke|story|riddle|fun fact)|generate|rewrite|paraphrase|what do you think)\b"
    r"|\bwhat(?:'s| is| are)? the best\b|\b(?:favou?rite|your opinion|fun fact)\b"
    r"|^\W*(?:请|帮我|给我|麻烦)*(?:写|创作|编|起(?:个|一个)?名|想(?:个|一个|几个)|推荐|讲(?:个|一个)|说(?:个|一个)笑话)"
    r"|起(?:个|一个)?名|你(?:怎么看|觉得)|哪个(?:最)?好|讲(?:个|一个)(?:笑话|故事)",
    re.IGNORECASE,
)


def is_open(question: str) -> bool:
    """True for a wish that good answers meet in many ways: a poem, a name, an opinion."""
    return _OPEN.search(fold(question[:500]).strip()) is not None
