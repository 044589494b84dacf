"""What a revised answer says that no answer to the question would: refusals, talk of its making, foreign matter. Pure.

What the older answer says too is its own matter, for an answer about prompt injection may quote one: of refusals, of
what was done to an answer, and of foreign matter (there the question counts too) anything of that kind; of talk
about answers and drafts only the very words, in older answer or question, for `the new version` excuses no `old
answer`. An answer that begins with a refusal, or repeats the reviser's task, is never let pass. English and Chinese; other languages are not read for talk,
for addresses and scripts they are. An address that is right but new is refused as well: nobody can tell it from one
that was put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from semcache.decide.private_data import Value, pieces, values
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.prompt import instruction_runs

_RUN = 6
"""Words of the instructions, one after another, that no answer holds by chance."""

_I = r"\bi(?:['\u2019]m|\s{1,4}am|\s{1,4}was)"
_CANNOT = rf"(?:\bi\s{{1,4}}(?:can(?:not|['\u2019]t|\s{{1,4}}not)|could\s{{1,4}}not|couldn['\u2019]t)|{_I}\s{{1,4}}(?:not\s{{1,4}}able|unable)\s{{1,4}}to)"
_REFUSALS = (
    rf"{_CANNOT}\s{{1,4}}(?:\w{{1,30}}\s{{1,4}})?(?:help|assist|answer|provide|give|revise|edit|comply|determine|tell|say|find|access|share|fulfil)",
    rf"{_I}\s{{1,4}}(?:very\s{{1,4}}|really\s{{1,4}}|so\s{{1,4}})?sorry\b|\bmy\s{{1,4}}apologies\b|\bi\s{{1,4}}apologi[sz]e\b",
    r"^[^\w\n]{0,4}(?:sorry|unfortunately)\b",
    r"\bas\s{1,4}an?\s{1,4}(?:ai\b|artificial|language\s{1,4}model|large\s{1,4}language)",
    r"\bi\s{1,4}(?:do\s{1,4}not|don['\u2019]t)\s{1,4}(?:\w{1,30}\s{1,4})?(?:have|know)\s{1,4}(?:\w{1,30}\s{1,4}){0,3}(?:information|context|access|details|data|enough)",
    r"\b(?:not\s{1,4}enough|insufficient|without\s{1,4}(?:more|further|additional))\s{1,4}(?:context|information|details)\b",
    r"\b(?:please|could\s{1,4}you)\s{1,4}(?:provide|share|give)\s{1,4}(?:\w{1,30}\s{1,4}){0,3}(?:context|details|information|document)",
    r"\b(?:context|document|text|passage)s?\s{1,4}(?:provided\s{1,4})?do(?:es)?\s{1,4}not\s{1,4}(?:mention|contain|include|say|specify)",
    "抱歉|对不起|不好意思",
    "作为(?:一个|一名)?(?:ai|人工智能|语言模型|大模型)",
    "我(?:无法|不能|没法|没有办法|没有权限)(?:直接)?(?:回答|提供|帮助|确定|获取|访问|修改|给出|判断|完成)",
    "(?:缺少|缺乏|没有)(?:足够的?|相关的?)?(?:上下文|信息|背景)|信息不足|请(?:您)?提供(?:更多|具体|相关)",
)
_BEGINS_REFUSING = re.compile(
    r"\A\W{0,8}(?:i['’]?m (?:very |really )?sorry|sorry,|i (?:can(?:no|['’])t|am unable|am not able|won['’]?t be able)"
    r"|i['’]m (?:unable|not able)|unfortunately,? i (?:can|am)|as an ai\b|as a language model"
    r"|(?:很|非常)?抱歉|对不起|我(?:无法|不能|没有办法)|作为(?:一个)?(?:ai|人工智能|语言模型))"
)
_ITS = r"\b(?:the|this|that|your|my|our)\s+"
_WHICH = (
    r"(?:previous|prior|stored|cached|old(?:er)?|original|earlier|existing|revised|updated|edited|new(?:er)?)"
)
_TALK = (
    rf"{_ITS}(?:{_WHICH}|draft)\s+(?:answer|question|response|reply|draft)s?\b|\b(?:the|this|your)\s+draft\b|\b(?:old|stored|cached)[_ ]answer\b",
    r"\b(?:json|search/replace)\s+(?:edit|patch)\b|[\"'](?:edit|changes|answer|old|new|replace|rewrite|keep)[\"']\s*:",
    r"\b(?:answer|response)\s+(?:remains?|stays|was|is)\s+(?:unchanged|the\s+same|correct\s+as)\b",
    r"\bno\s+(?:changes?|edits?)\s{0,4}(?:is|are|was|were)?\s{0,4}(?:needed|required|necessary|made)\b",
    "(?:之前|先前|原来|原有|原先|原|旧|存储|缓存|以前|上面|上述|修改后|更新后|修订后|新)的?(?:答案|回答|回复)|旧的?问题",
    "(?:上述|该|这份)?草稿|无需(?:修改|更改)|不需要(?:修改|更改)|保持不变即可",
)
_MAKINGS = (
    rf"{_ITS}{_WHICH}\s{{1,4}}versions?\b",
    r"\bi(?:['\u2019]ve|\s{1,4}have)?\s{1,4}(?:\w{1,30}\s{1,4})?(?:updated|edited|revised|rewritten|changed|replaced|adapted|adjusted|modified|corrected|kept|swapped)\b",
    r"\bhere(?:['\u2019]s|\s{1,4}is|\s{1,4}are)\s{1,4}(?:the|your|an?)\s{1,4}(?:\w{1,30}\s{1,4})?(?:edit|edits|edited|revised|revision|updated|update|rewritten|rewrite|corrected|changes)\b",
    r"\bas\s{1,4}requested\b|\bper\s{1,4}your\s{1,4}(?:request|instructions?)\b",
    "(?:之前|先前|原来|原有|原先|旧|存储|缓存|以前|上面|上述|修改后|更新后|修订后|新)的?(?:问题|版本)",
    "我(?:已经?|把|将|对)[^。！？\n]{0,12}(?:修改|更新|修订|改写|替换|编辑|调整|改为|改成)",
    "(?:以下|下面|这)是?(?:修改|更新|修订|编辑|改写)(?:后|过)?的?",
    "(?:按照?|根据|应)您?的?(?:要求|请求|指示)(?:进行|做)?了?(?:修改|更新|编辑|调整)",
)
_FOREIGN = (
    r"\b(?:ignore|disregard|forget|override)\s{1,4}(?:\w{1,30}\s{1,4}){0,3}(?:previous|prior|above|earlier|preceding|all|any|these|your)\b"
    r"(?:\s{1,4}\w{1,30}){0,3}\s{0,4}(?:instruction|prompt|rule|message|direction|context|text)?",
    r"\b(?:system|developer)\s{1,4}(?:prompt|message|instructions?)\b|\byou\s{1,4}are\s{1,4}now\b|\bnew\s{1,4}instructions?\s{0,4}:",
    r"</?\s{0,4}(?:script|iframe|object|embed|form|input|img|svg|link|meta|style|base|video|audio)\b",
    r"\bon(?:error|load|click|mouseover|focus)\s{0,4}=|\b(?:javascript|vbscript)\s{0,4}:|\bdata\s{0,4}:\s{0,4}(?:text|image|application)/",
    r"\b(?:ignore[zr]|ignorier\w{1,3}|ignora|oublie[zr]|vergiss|olvida)\s{1,4}(?:\w{1,30}\s{1,4}){0,4}(?:instructions?|anweisung(?:en)?|instrucciones|consignes|regeln|reglas)\b",
    r"\b(?:note|message|notice)\s{1,4}to\s{1,4}(?:the|any)\s{1,4}(?:editor|reviewer|assistant|model|developer|ai|reader)s?\b|\bi\s{1,4}(?:order|command|instruct)\s{1,4}you\b"
    r"|\b(?:mark|approve|accept)\s{1,4}(?:the|this)\s{1,4}answer\b|\b(?:reviewer|developer|editor)\s{1,4}(?:has|have|of\s{1,4}this)\b|\b(?:begin|start|end)\s{1,4}your\s{1,4}(?:reply|answer|response)\b",
    r"[a-z.!?]\s{1,3}\{\s{0,4}[\"'{%]|\{\{|\{%|<%|\$\{|\}\s{0,4}\]\s{0,4}\}|[a-z0-9+/]{24,400}={1,2}(?![a-z0-9])",
    r"<\|[^|\n]{1,40}\|>|\[/?inst\]|<</?sys>>|^\s{0,3}#{2,4}\s{0,4}(?:system|instructions?|assistant|user)\b|(?:^|[.!?]\s)\s{0,4}(?:system|assistant|user)\s{0,4}:",
    "(?:忽略|无视|忘记|忘掉|不要理会)(?:[^。！？\n]{0,8})(?:指令|指示|提示|规则|要求|内容)|系统提示词?|你现在是",
)


@lru_cache(maxsize=4)
def _compiled(phrases: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(phrase, re.MULTILINE) for phrase in phrases)


@lru_cache(maxsize=1)
def _address() -> re.Pattern[str]:
    return re.compile(
        r"[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'()\[\]，。；！？、]{1,2000}"
        r"|(?<![a-z0-9._%+-])[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,120}\.[a-z]{2,24}"
        r"|(?<![a-z0-9@.-])(?:[a-z0-9-]{1,63}\.){1,5}"
        r"(?:com|net|org|io|cn|info|biz|ru|top|xyz|shop|site|online|app|dev|co|me|cc|link|click|ly|gl|uk|de|fr|edu|gov)(?![a-z0-9-])"
        r"|(?<!\d)(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\d.])"
    )


def talk(asked: str, old: str, new: str, fence: str = "") -> Iterator[Flaw]:
    """Yield what a revised answer says that it should not.

    Args:
        asked: the question that it is to answer.
        old: the answer that it was made of.
        new: the answer.
        fence: the random word of the instructions; "" for none.
    """
    asked, old, new = asked.lower(), old.lower(), new.lower()
    known = f"{old}\n{asked}"
    if fence and fence.lower() in new:
        yield Flaw.FENCE
    if _BEGINS_REFUSING.search(new) or _says_newly(_REFUSALS, new, old):
        yield Flaw.REFUSAL
    if _quotes_newly(_TALK, new, known) or _repeats_the_task(new):
        yield Flaw.TALK
    if _says_newly(_MAKINGS, new, old):
        yield Flaw.MAKING
    put_in = (addresses(new) - addresses(old) - addresses(asked)) or (
        _personal(new) - _personal(old) - _personal(asked)
    )
    if put_in or _says_newly(_FOREIGN, new, known):
        yield Flaw.FOREIGN


def _says_newly(phrases: tuple[str, ...], new: str, known: str) -> bool:
    """True when a phrase stands in `new`, and none like it in `known`; both in lower case."""
    return any(phrase.search(new) and not phrase.search(known) for phrase in _compiled(phrases))


def _quotes_newly(phrases: tuple[str, ...], new: str, known: str) -> bool:
    """True when a phrase stands in `new` in words that do not stand in `known`; both in lower case."""
    return any(match[0] not in known for phrase in _compiled(phrases) for match in phrase.finditer(new))


def _repeats_the_task(new: str) -> bool:
    words = [word.strip(".,:;") for word in new.split()]
    runs = _instructions()
    return any(tuple(words[i : i + _RUN]) in runs for i in range(len(words) - _RUN + 1))


@lru_cache(maxsize=1)
def _instructions() -> frozenset[tuple[str, ...]]:
    return instruction_runs(_RUN)


def _personal(text: str) -> frozenset[Value]:
    """Give telephone numbers, accounts and keys: nobody can tell a right one from one that was put in."""
    return frozenset().union(*map(values, pieces([text])))


def addresses(text: str) -> frozenset[str]:
    """Give the links, hosts and e-mail addresses of a text in lower case, without what ends a sentence behind them."""
    if "." not in text and "://" not in text:
        return frozenset()
    return frozenset(match.group().rstrip(".,:;!?*_`~/") for match in _address().finditer(text))
