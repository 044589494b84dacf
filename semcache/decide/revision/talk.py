"""Talk in a revised answer that belongs to the revision and not to the question. Pure.

About the draft or the old answer, of the edit's form, of instructions; refusals; and an end that is none. What the old
answer or the question says as well is their own matter, but for refusals.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.revision.prompt import instruction_runs

_REFUSAL = re.compile(
    r"(?i)\A\W{0,8}(?:i['’]?m (?:very |really )?sorry|sorry,|i (?:can(?:no|['’])t|am unable|am not able|won['’]?t be able)"
    r"|i['’]m (?:unable|not able)|unfortunately,? i (?:can|am)|as an ai\b|as a language model"
    r"|(?:很|非常)?抱歉|对不起|我(?:无法|不能|没有办法)|作为(?:一个)?(?:ai|人工智能|语言模型))"
)
_TALK = re.compile(
    r"(?i)\b(?:the|this|your|that)\s+(?:old(?:er)?|previous|stored|cached|original|revised|updated|edited|new|draft)\s+"
    r"(?:answer|question|draft|response)\b|\b(?:the|this|your)\s+draft\b|\b(?:old|stored|cached)[_ ]answer\b"
    r"|\b(?:json|search/replace)\s+(?:edit|patch)\b"
    r"|\b(?:answer|response)\s+(?:remains?|is)\s+(?:unchanged|the same)\b|\bno changes? (?:is|are|was|were)? ?(?:needed|required|necessary)\b"
    r"|[\"']edit[\"']\s*:|[\"']old[\"']\s*:\s*[\"']|[\"']replace[\"']\s*:\s*\["
    r"|旧(?:的)?(?:答案|回答|问题)|原(?:来的)?(?:答案|回答)|(?:上述|该|这份)?草稿|(?:新|修改后)的?(?:答案|回答)|无需修改|保持不变即可"
)
_RUN = 6
_END = re.compile(r"[.!?。！？…:：;；)\]}>\"'”’」』】》`*_|~]\s*\Z")
_LISTED = re.compile(r"(?:^|\n)\s*(?:[-*+•]|\d{1,3}[.)、])[^\n]*\Z")
_DANGLING = re.compile(
    r"(?i)(?:[,，、;(（\[{:]|\b(?:and|or|the|a|an|of|to|for|with|is|are|that|which|but))\s*\Z|[的和或与是在但]\Z"
)


def talk(asked: str, before: str, after: str, fence: str) -> tuple[str, ...]:
    """Give the closed words for what does not belong there: `fence`, `refusal`, `talk`, `cut`.

    Args:
        asked: the new question.
        before: the old answer.
        after: the revised one.
        fence: the random word of the instructions, "" for none.
    """
    found = {
        "fence": bool(fence) and fence.lower() in after.lower(),
        "refusal": _REFUSAL.search(after[:200]) is not None,
        "talk": _talks(asked, before, after),
        "cut": is_cut(before, after),
    }
    return tuple(word for word, stands in found.items() if stands)


def is_cut(before: str, after: str) -> bool:
    """True when an answer ends as no whole one does, unless the old one ended in the same way."""
    if after.count("```") % 2:
        return True
    if after.rstrip()[-12:] == before.rstrip()[-12:]:
        return False
    if _DANGLING.search(after[-40:]):
        return True
    return bool(_END.search(before[-8:])) and not _END.search(after[-8:]) and not _LISTED.search(after[-400:])


def _talks(asked: str, before: str, after: str) -> bool:
    own = f"{asked}\n{before}".lower()
    if any(match[0].lower() not in own for match in _TALK.finditer(after)):
        return True
    words = [word.strip(".,:;") for word in after.lower().split()]
    runs = _instructions()
    return any(tuple(words[i : i + _RUN]) in runs for i in range(len(words) - _RUN + 1))


@lru_cache(maxsize=1)
def _instructions() -> frozenset[tuple[str, ...]]:
    return instruction_runs(_RUN)
