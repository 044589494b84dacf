"""The form an answer is asked for in: data format, layout, length, style.

A wanted form may not be missing on one side: prose does not answer a request for JSON. Knows
nothing of numbers (`in 100 words` is theirs) nor of languages (see `places`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from semcache.decide.marks import Found, Mark
from semcache.decide.wordlist import split

FAMILY = "format"
_WELCOME = frozenset(("steps", "example"))
LENGTHS = frozenset(("paragraph", "sentence", "word", "page", "brief", "detailed"))

_DATA = split("json xml yaml csv html markdown latex sql toml")
_TABLE = {
    "table": "in a table|as a table|in table form|in table format|tabular|a table of|in tabular form|用表格|表格形式|列表格|以表格|做成表格|列个表|表格",
    "bullets": "bullet|bullets|bullet points|bullet list|bulleted list|bulleted|as a list|in list form|numbered list|"
    "要点|分点|列点|用列表|列表形式|逐条|分条",
    "page": "in a page|one page|single page|一页纸|一页",
    "brief": "brief summary|brief overview|brief explanation|brief description|brief introduction|short explanation|short description|briefly|in brief|in short|tl dr|tldr|keep it short|short answer|short summary|concisely|in a nutshell|in a few words|in a few sentences|简要|简短|简单介绍|简单说|简述|一句话概括",
    "detailed": "in detail|detailed description|detailed explanation|detailed summary|detailed guide|detailed answer|in great detail|in more detail|in depth|in-depth|detailed answer|thoroughly|at length|comprehensive|comprehensively|with full details|long answer|详细|详尽|深入|详细介绍|详细说明|具体说明|长一点",
    "paragraph": "in a paragraph|one paragraph|in prose|一段话|用一段话",
    "sentence": "in a sentence|one sentence|single sentence|in a single sentence|一句话|用一句话",
    "word": "one word|in a word|single word|yes or no answer|answer yes or no|一个词|用一个词|只回答是或否",
    "steps": "walk me through|walkthrough|step by step|step-by-step|分步骤|一步一步|逐步",
    "code": "code only|only code|just the code|as code|只要代码|只给代码",
    "child": "for a child|for kids|for children|like i am five|like i am 5|eli5|to a child|to a five year old|给小孩|给孩子讲|讲给孩子",
    "poem": "as a poem|in verse|as a haiku|haiku|写成诗|以诗",
    "email": "as an email|as a tweet|tweet|写成邮件",
    "example": "with examples|with an example|举例|举个例子|举例说明",
    "without explanation": "no explanation|without explanation|不要解释|无需解释",
    "script": "traditional chinese|繁体|繁体中文",
}


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table."""
    for name, phrases in _TABLE.items():
        for phrase in phrases.split("|"):
            yield phrase, Mark(FAMILY, name)
    for name in _DATA:
        for phrase in (
            f"in {name}",
            f"as {name}",
            f"to {name}",
            f"{name} format",
            f"return {name}",
            f"output {name}",
        ):
            yield phrase, Mark(FAMILY, name)


def conflict(one: frozenset[str], other: frozenset[str]) -> bool:
    """True when the texts ask for different forms; steps and examples many answers bring by themselves."""
    return one - _WELCOME != other - _WELCOME


def wanted(found: Sequence[Found]) -> frozenset[str]:
    """Give the forms that a text asks for."""
    return frozenset(item.mark.name for item in found)
