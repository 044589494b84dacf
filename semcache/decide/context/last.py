"""What the last question leans on: an answer to what was proposed, an item of a list, a thing named before.

Reads only the last user text. Every doubt is read as leaning on the history; knows nothing of
what the history says (see `reading`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.context.chatter import is_courtesy
from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.words import base, units, words_of
from semcache.decide.numerals import ordinals
from semcache.decide.text import fold, is_han, read
from semcache.decide.wordlist import split

_MAX_REPLY = 12
_MANY = 2
_SHORTEST_REST = 5

_SWITCHES = (
    "by the way", "btw", "one more thing", "one other thing", "one last thing", "another thing", "on another note",
    "on a different note", "on a separate note", "on an unrelated note", "unrelated question", "unrelated", "separate question", "different question", "different topic",
    "changing the subject", "change of topic", "completely different topic", "new question", "another question", "quick question", "one more question", "last question", "just curious", "out of curiosity",
    "also", "oh and", "actually",
)  # fmt: skip
_HAN_SWITCHES = ("顺便问一下", "顺便问下", "顺便问", "顺便", "另外问一下", "另外", "对了", "换个话题", "换个问题", "还有一个问题", "还有个问题", "再问一个问题",
                 "再问一下", "问个别的", "题外话", "新问题")  # fmt: skip
_YES = frozenset(
    split(
        "yes yeah yep yup sure ok okay absolutely definitely certainly alright agreed correct right exactly confirmed confirm proceed perfect great fine please"
    )
)
_NO = frozenset(split("no nope nah never stop neither"))
_DO_IT = ("go ahead", "do it", "do that", "do so", "please do", "that works", "sounds good", "go for it", "let us do it", "let us do that", "why not", "of course", "not now", "not yet", "do not", "keep going", "continue", "go on", "carry on", "tell me more", "start", "finish it")  # fmt: skip
_HAN_REPLY = ("好的", "好", "是的", "是", "对", "可以", "行", "嗯", "没错", "当然", "确认", "同意", "继续", "不用", "不要", "不是", "不", "别", "算了", "没有", "麻烦你", "那就", "就这样", "要", "需要", "ok")  # fmt: skip
_POINTERS = frozenset(
    split(
        "it its this that these those they them their he him his she her hers one ones former latter both either neither same above previous "
        "aforementioned such another other others else instead rest remaining itself themselves either all"
    )
)
_COMPARES = frozenset(
    split(
        "more less cheaper better worse faster slower bigger smaller larger shorter longer easier simpler harder again still already too "
        "either next yet anymore then so otherwise sooner later earlier higher lower alternatively alternative alternatives version"
    )
)
_OPENERS = frozenset(split("and so but then or because plus else ok okay also what's"))
_HALVES = ("what about", "how about", "what if", "and if", "how come", "what else", "why not", "which one", "which ones", "how so", "like what", "for example", "such as", "any other", "in that case", "if so", "if not", "in total", "at all", "at the end", "in the end", "the whole thing")  # fmt: skip
_HAN_POINTERS = ("它", "他", "她", "这", "那", "其", "前者", "后者", "上面", "上述", "刚才", "之前", "前面", "此", "该", "同样", "另一", "别的", "其他", "还有", "再", "更",
                 "也", "又", "呢", "所以", "那么", "然后", "接下来", "下一步", "第一", "第二", "第三", "第四", "第五", "最后一", "哪个", "哪一个", "哪种", "哪款", "还是", "还能", "还可以", "还需要", "还要", "一样", "总共", "一共", "继续")  # fmt: skip
# A document that has to be before one's eyes.
_DOCUMENTS = re.compile(
    r"\b(?:the|its|their) (?:\w+ ){0,2}(?:text|article|document|contract|clause|report|essay|passage|paragraph|story|letter|code|table|data|dataset|file|author|writer|speaker|narrator|conclusion|content|attachment|image|picture|photo|chart|graph|draft|review|resume|cv|error|message|output|result|results|log|query|snippet|function|script)\b(?! of| in the world)"
    r"|\bmain (?:point|points|idea|argument|message|character)\b"
)
# `the fee`, `the red one`: a thing that was spoken of; not `the capital of Peru`, `the tallest tree`.
_DEFINITE = re.compile(
    r"\bthe (?!(?:\w+est|most|least|best|first|second|third|last|next|world|earth|sun|moon|sky|sea|ocean|internet|web|universe|weather|news|government|law|usa|us|uk|eu|un|"
    r"bible|economy|human|human body|body|brain|heart|store|shop|app|website|site|company|office|difference|main|day|week|weekend|year|morning|evening|night|time|average|normal|usual|correct|right|proper|"
    r"maximum|minimum|meaning|definition|rule|rules|easiest|cheapest|holidays|future|past|present|public|police|poor|rich|elderly|french|chinese|english|german|roman|romans|middle ages|president|king|queen|pope)\b)"
    r"[a-z]+(?: (?!of|in|for|between|to|that|on|at|with|by|from|and|or|behind|about|called)[a-z]+)?(?: (?:is|are|was|were|do|does|did|can|will|have|has|get|come|work|last|take|cost|need|still|now|then|again|today|tomorrow|already)\b.*|)$"
)
_HAN_DOCUMENTS = (
    "文章",
    "文档",
    "合同",
    "原文",
    "全文",
    "报告",
    "文中",
    "本文",
    "段",
    "作者",
    "总结",
    "概括",
    "翻译",
    "改写",
    "润色",
    "摘要",
    "主要内容",
    "大意",
    "中心思想",
    "条款",
    "材料",
    "资料",
    "内容",
    "代码",
    "报错",
    "图",
    "表",
    "主人公",
    "结论",
    "上文",
    "哪些要点",
    "提到",
    "缩写",
    "扩写",
)
_FREE_HAN = (
    "其实",
    "这里",
    "那里",
    "应该",
    "该不该",
    "再见",
    "更新",
    "更改",
    "更换",
    "其他人",
    "活该",
    "再生",
    "也许",
    "这辈子",
    "这世界",
    "彼此",
    "因此",
    "从此",
    "尤其",
    "其中",
    "极其",
)
# Attributes of something that has to be named before.
_ATTRIBUTES = frozenset(
    base(word)
    for word in split(
        "price cost fee total amount sum difference balance charge penalty deadline date time duration length size color colour weight height "
        "address number status result outcome reason cause step steps option options choice alternative warranty refund return delivery shipping "
        "discount rate rates rule rules policy requirement requirements side effect effects dose dosage limit minimum maximum example examples source "
        "name title author meaning definition age location place distance speed temperature version feature features benefit benefits risk risks "
        "advantage disadvantage pros cons plan deal offer link email phone eta estimate schedule notice period payment invoice receipt confirmation "
        "label cancel exchange replacement credit upgrade downgrade change send start finish end pay arrive buy ship charged eligible covered qualify "
        "happen expire last work apply matter recommend summary summarize summarise explain shorten translate rewrite list table bullet points word words sentence sentences paragraph english "
        "spanish french german chinese japanese korean italian language tone formal informal simple simpler detail details"
    )
)
_PERSONAL = re.compile(
    r"\b(?:do|does|did|am|are|is|was|will|would|can|could|should|shall|may|might|must|have|has|had) (?:i|we|my|our)\b"
    r"|\bwhat (?:should|can|could|do|must|would) (?:i|we)\b|\b(?:for|to|with|in|on|of|at|about) (?:me|us|my case|my situation)\b|\bwhich \w+ (?:should|do|can) (?:i|we)\b"
    r"|\bmy (?:case|situation|options|chances|rights)\b"
)
_HAN_PERSONAL = ("我能", "我可以", "我需要", "我应该", "我该", "我会", "我是不是", "我要", "适合我", "我还", "我有", "我的情况", "我们能", "我们可以", "我们需要", "我们该", "我得")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Last:
    """What the last text shows: `reply` to a proposal (`+`, `-`, `~`, or ""), `index` into a list, `leans` on something said.

    `personal` asks about the asker's own case. `body` is the text behind a change of subject.
    """

    body: str
    reply: str
    index: int
    leans: bool
    personal: bool


@lru_cache(maxsize=1)
def _switch() -> re.Pattern[str]:
    latin = "|".join(re.escape(phrase) for phrase in sorted(_SWITCHES, key=len, reverse=True))
    han = "|".join(_HAN_SWITCHES)
    return re.compile(rf"^(?:(?:{latin})(?![a-z])|(?:{han}))[\s,.:;!—-]*", re.IGNORECASE)


@lru_cache(maxsize=1)
def _opening() -> re.Pattern[str]:
    """`Great, thanks!` before a question says nothing."""
    latin = r"(?:(?:oh|ok|okay|great|perfect|cool|awesome|alright|got it|thanks(?: a lot| so much)?|thank you(?: so much| very much)?|hi|hello|hey|nice|wonderful|good to know|i see|makes sense|sounds good|appreciate it|understood)(?![a-z])[\s,.!;:—-]*)+"
    return re.compile(
        rf"^(?:{latin}|(?:好的|好|嗯|谢谢你?|明白了?|知道了|了解了?|你好|您好|哦)[,，。.!！\s]+)",
        re.IGNORECASE,
    )


@lru_cache(maxsize=256)
def meant(text: str) -> Last:
    """Read the last user text; courtesies beside a question are left out."""
    kept = [part for part in sentences(text) if not is_courtesy(part, user=True)]
    body = " ".join(kept) or fold(text)
    for lead in (_opening(), _switch(), _opening()):
        rest = lead.sub("", body, count=1)
        body = rest if asks(rest) and len(rest) > _SHORTEST_REST else body
    seen = read(body)
    joined = " ".join(seen.words)
    han = any(is_han(word) for word in seen.words)
    compact = "".join(seen.words)
    return Last(
        body=body,
        reply=answer(text) or (_han_reply(compact) if han else _reply(seen.words, joined)),
        index=_index(seen.words, joined, compact),
        leans=_han_leans(compact, body) if han else _leans(seen.words, joined, body),
        personal=any(mark in compact for mark in _HAN_PERSONAL) if han else bool(_PERSONAL.search(joined)),
    )


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


def _reply(words: tuple[str, ...], joined: str) -> str:
    if not words or len(words) > _MAX_REPLY:
        return ""
    if words[0] in _NO or joined.startswith(
        ("do not", "not now", "not yet", "cancel that", "forget it", "never mind")
    ):
        return "-"
    if asks(joined):
        return ""
    if words[0] in _YES or joined.startswith(_DO_IT):
        return "+"
    return "" if len(words) > _MAX_REPLY // 2 else "~"


def _han_reply(text: str) -> str:
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


def _index(words: tuple[str, ...], joined: str, compact: str) -> int:
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


def _leans(words: tuple[str, ...], joined: str, body: str) -> bool:
    if (
        not words
        or words[0] in _OPENERS
        or any(joined.startswith(half) or f" {half}" in joined for half in _HALVES)
    ):
        return True
    if (
        _DOCUMENTS.search(joined)
        or _DEFINITE.search(_cased(body))
        or not asks(body)
        or any(word in _COMPARES for word in words)
    ):
        return True
    if any(word in _POINTERS and not _explained(words, i) for i, word in enumerate(words)):
        return True
    own = [unit for unit in units(body) if base(unit.lstrip("=")) not in _ATTRIBUTES]
    return len(set(own)) < (1 if _named(body) else _MANY)


def _cased(body: str) -> str:
    """Give the words with the capitals of names, in small letters otherwise."""
    return " ".join(token.low if token.first else token.raw for token in read(body).tokens)


def _named(body: str) -> bool:
    """True when a capital shows a name: one such word says what is asked about."""
    return any(
        token.raw[0].isupper() and not token.first and len(token.raw) > 1 for token in read(body).tokens
    )


_DUMMY = frozenset(
    split(
        "is possible okay ok legal safe better best worth take true normal bad good cost mean necessary time rain"
    )
)
_TIMES = frozenset(split("week month year weekend morning afternoon evening time summer winter spring fall"))


def _explained(words: tuple[str, ...], i: int) -> bool:
    """True for `is it possible to`, `this week`, `all`, and a pronoun whose noun stands before it in the text."""
    word, after = words[i], words[i + 1] if i + 1 < len(words) else ""
    if word == "it":
        return after in _DUMMY and "to" in words[i + 1 : i + 5]
    if word in ("this", "these") and after in _TIMES:
        return True
    if word in ("one", "all", "both", "her", "his", "their") and i > 0:
        return word == "all" or (
            word == "one"
            and bool(after)
            and after not in ("is", "of", "do", "should", "has")
            and words[i - 1] not in ("the", "this", "that", "which")
        )
    return False


def _han_leans(text: str, body: str) -> bool:
    bare = text
    for free in _FREE_HAN:
        bare = bare.replace(free, "")
    if not asks(body) or any(mark in bare for mark in (*_HAN_POINTERS, *_HAN_DOCUMENTS)):
        return True
    return len(units(body)) < _MANY * 2
