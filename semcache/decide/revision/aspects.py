"""Which side of a thing a question is about: its symptoms, its treatment, its cost. Pure.

Questions about two sides of one thing share nearly all their words and lie near each other, and their answers share
nothing: no revision by small edits makes the one of the other. Only where both questions plainly ask for a side,
and for none in common, is that said. A list of common sides, not a lexicon; what is not in it is left to the verifier.
`What is X?` asks for what it is only where nothing else is asked for. Knows nothing of things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_SIDES: Mapping[str, str] = {
    "symptoms": r"symptoms?|signs|症状|表现|征兆",
    "treatment": r"treat(?:ment|ments|ed|ing)?|cures?|therap(?:y|ies)|remed(?:y|ies)|治疗|疗法|怎么治|如何治|根治|治愈",
    "causes": r"causes?|caused|reasons?|原因|引起|导致|为什么",
    "diagnosis": r"diagnos(?:e|ed|is|ing)|检查|诊断|确诊|化验|检测",
    "prevention": r"prevent(?:ed|ing|ion)?|预防|避免",
    "genes": r"genetic changes|genes?|mutations?|基因",
    "heredity": r"inherit(?:ed|ance)?|hereditary|runs? in families|遗传",
    "frequency": r"how (?:common|frequent|many people)|prevalence|发病率|多少人",
    "outlook": r"outlook|prognosis|life expectancy|survival|预后|能活|寿命|存活",
    "risk": r"at risk|risk factors?|高危|易感",
    "research": r"clinical trials?|(?:what )?research|临床试验|研究进展",
    "complications": r"complications?|并发症|后遗症",
    "stages": r"stages|分期|阶段",
    "side effects": r"side[ -]effects?|adverse effects?|副作用|不良反应",
    "dose": r"dos(?:e|es|age)|how (?:much|many) (?:mg|ml|tablets|pills)|剂量|用量",
    "diet": r"diet|what to eat|吃什么|饮食|食疗|忌口",
    "contagion": r"contagious|infectious|transmit(?:ted)?|传染|传播",
    "cost": r"how much (?:does|do|is|are|will|would)|costs?|prices?|fees?|多少钱|价格|费用|收费",
    "history": r"history of|origin of|invented|历史|起源|由来",
    "benefits": r"benefits?|advantages?|好处|优点|益处",
    "drawbacks": r"drawbacks?|disadvantages?|downsides?|坏处|缺点|危害",
}
_WHAT = r"\A\W*(?:what (?:is|are|s)|what's|define|definition of|meaning of)\b|(?:是什么|什么是|是啥|什么意思)"


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (side, re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE))
        for side, words in _SIDES.items()
    )


@lru_cache(maxsize=1)
def _what() -> re.Pattern[str]:
    return re.compile(_WHAT, re.IGNORECASE)


@lru_cache(maxsize=2048)
def sides(question: str) -> frozenset[str]:
    """Give the sides that a question asks for; none for one of no plain side, or beyond `_MOST` characters."""
    if len(question) > _MOST:
        return frozenset()
    found = frozenset(side for side, pattern in _patterns() if pattern.search(question))
    return found or (frozenset(("what",)) if _what().search(question) else found)


_MOST = 300
"""Characters: longer texts speak of many sides beside the one that they ask for."""


def differ(one: str, other: str) -> bool:
    """True when both questions ask for a side, and for none in common."""
    left, right = sides(one), sides(other)
    return bool(left and right) and left.isdisjoint(right)
