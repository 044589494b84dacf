"""Does a question point back by itself: a pronoun, an ellipsis, a comparison, `the fee`, `the text`?

Reads the question only; every doubt is read as yes. Knows nothing of what was said before.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.context.clauses import asks
from semcache.decide.context.words import base, units
from semcache.decide.text import read
from semcache.decide.wordlist import split

_MANY = 2
_WHOLE = 4
"""Units of content that say which thing is meant, though it is called `the`."""
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
        "spanish french german chinese japanese korean italian language tone formal informal simple simpler installation assembly repair insurance financing protection coverage training demo trial sample setup maintenance spare part parts accessories model models brand brands material materials range selection detail details"
    )
)
YOU = frozenset(split("you your yours"))
FIRST_PERSON = frozenset(split("i me my mine we us our ours myself"))
WORLD = frozenset(split("what who where when which does do is are did was were"))
JUDGING = frozenset(
    split("best good better recommend suggest should top worth need right ideal healthy safe suitable")
)
_DUMMY = frozenset(
    split(
        "is possible okay ok legal safe better best worth take true normal bad good cost mean necessary time rain"
    )
)
_TIMES = frozenset(split("week month year weekend morning afternoon evening time summer winter spring fall"))


def leans(words: tuple[str, ...], joined: str, body: str) -> bool:
    """True for an English question that is not whole by itself."""
    if (
        not words
        or words[0] in _OPENERS
        or any(joined.startswith(half) or f" {half}" in joined for half in _HALVES)
    ):
        return True
    own = [unit for unit in units(body) if not _is_attribute(unit)]
    if (
        _DOCUMENTS.search(joined)
        or (_DEFINITE.search(_cased(body)) and len(set(own)) < _WHOLE)
        or not asks(body)
        or any(word in _COMPARES for word in words)
    ):
        return True
    if any(word in _POINTERS and not _explained(words, i) for i, word in enumerate(words)):
        return True
    if is_to_those_who_serve(words) and (own or len(set(units(body))) >= _MANY):
        return False
    # `the capital of Peru` is whole; `delivery to Norway` is of something.
    bare = len(own) == len(units(body))
    return len(set(own)) < (1 if _named(body) and bare else _MANY)


def _is_attribute(unit: str) -> bool:
    return base(unit.lstrip("=")) in _ATTRIBUTES or unit in _attribute_units()


@lru_cache(maxsize=1)
def _attribute_units() -> frozenset[str]:
    """`delivery` is read as the unit of all words for delivering."""
    return frozenset(
        unit for word in ("delivery", "shipping", "price", "warranty", "deadline") for unit in units(word)
    )


def is_to_those_who_serve(words: tuple[str, ...]) -> bool:
    """True for `do you`, `your`, without anybody else in it: they are the same for all who ask."""
    return (
        not YOU.isdisjoint(words)
        and FIRST_PERSON.isdisjoint(words)
        and JUDGING.isdisjoint(words)
        and (words[0] in WORLD or words[0] == "how")
    )


def _cased(body: str) -> str:
    """Give the words with the capitals of names, in small letters otherwise."""
    return " ".join(token.low if token.first else token.raw for token in read(body).tokens)


def _named(body: str) -> bool:
    """True when a capital shows a name: one such word says what is asked about."""
    return any(
        token.raw[0].isupper() and not token.first and len(token.raw) > 1 for token in read(body).tokens
    )


def names_subject(body: str) -> bool:
    """True for a question with a name, or words enough, to say by itself what it is about."""
    return _named(body) or len(set(units(body))) >= _WHOLE


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


def han_leans(text: str, body: str) -> bool:
    """True for a Chinese question that is not whole by itself."""
    bare = text
    for free in _FREE_HAN:
        bare = bare.replace(free, "")
    if not asks(body) or any(mark in bare for mark in (*_HAN_POINTERS, *_HAN_DOCUMENTS)):
        return True
    return len(units(body)) < _MANY * 2
