"""Does a question ask how things stand with something of the asker's own? Then only who knows the asker can answer. Pure.

`Where is my order?`, `what's my balance?`, `我的快递到哪了`: an upstream that knows who asks has another answer for each. How a thing is
done is everybody's question: `how do I cancel my order`, `can I change my address`, `why was my card declined`.
Looks for the plain forms only, in English and Chinese, in the beginning of a text. What it does not find is not proven to be fit for all.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.text import fold

LONGEST = 600
"""Characters that are read: longer texts bring along what they are about."""
_THING = (
    "orders?|parcels?|packages?|deliver(?:y|ies)|shipments?|refunds?|balances?|bills?|invoices?|statements?|transactions?|payslips?|paychecks?|salary"
    "|direct deposit|credit (?:score|limit|rating)|appointments?|bookings?|reservations?|flights?|boarding pass|subscription|membership|warranty"
    "|test results?|lab results?|exam results?|grades?|points|rewards|miles|vacation days|leave days|days off|pto|annual leave|leave balance|leave request"
    "|calendar|agenda|to-?do list|shopping list|reminders?|meetings?|inbox|e-?mails?|messages?|claims?|applications?|prescriptions?"
    "|tracking number|order number|account number|customer number|member(?:ship)? number|policy number|due date|interest rate|insurance plan|data usage"
)
_OF_MINE = (
    rf"my (?:(?!(?:for|of|in|on|at|to|from|with|by|about|and|or) )[\w'-]{{1,16}} ){{0,3}}?(?:{_THING})\b"
)
_ASKING = (
    r"what(?:'s| is| are| was| were|s)|how (?:much|many|big|high|low|long)(?: (?:money|days|points|time))? (?:is|are|was|were|do i have|have i|did i|does)"
    r"|where(?:'s| is| are| did| has| have|s)|when(?:'s| is| are| was| will| does| did|s)|who (?:is|has)"
    r"|has|have|is|are|was|were|did|which of|do i have"
)
_SHOWING = (
    r"(?:(?:please|pls|can you|could you|would you|will you|i want to|i need to|i'd like to|let me) ){0,2}"
    r"(?:show|tell|give|check|read|look up|find|list|display|pull up|track|see|know|get)(?: me| us| out)?"
)
_LEAD = r"(?:^|[.?!\n;,:] {0,2}|\b(?:hi|hello|hey|and|so|but|ok|okay|please|also) )"


_SIGNS = ("my ", " i ", "我")


@lru_cache(maxsize=1)
def _english() -> re.Pattern[str]:
    filler = r"(?: (?:the|a|an|current|status|state|total|latest|next|last|remaining|exact|amount|date|day|time|number|left|on|in|of|for|with|about|up|to|any|all))"
    return re.compile(
        rf"{_LEAD}(?:{_ASKING}|{_SHOWING}){filler}{{0,6}} {_OF_MINE}"
        rf"|{_LEAD}(?:where|when|what)(?:'s| is| are|s)? {_OF_MINE}"
        rf"|{_LEAD}how (?:much|many) (?:[\w'-]{{1,16}} ){{0,4}}?(?:do i|have i|did i)(?: (?:still|currently|now))? (?:have(?! (?:to|for|before|until|if)\b)|owe|earn|spend|spent|left|got|paid|earned|used)\b"
        rf"|{_LEAD}(?:what|how much) (?:did i (?:spend|pay|earn)|do i owe(?! for an? ))\b"
    )


@lru_cache(maxsize=1)
def _chinese() -> re.Pattern[str]:
    thing = "订单|快递|包裹|退款|余额|账单|发票|流水|工资|额度|积分|预约|预订|航班|会员|保单|检查结果|体检报告|成绩|年假|假期|日程|消息|邮件|申请|进度"
    return re.compile(
        rf"我的?(?:[\u4e00-\u9fff]{{0,6}}?)(?:{thing})[^,。?!\n]{{0,8}}?(?:到哪|在哪|是多少|有多少|还剩|多少|是什么|什么时候到|什么时候发|发货了|到了吗|到账了|了吗|怎么样了|进展|状态)"
        rf"|(?:查一?下|查查|看看|看一下|显示|告诉我|帮我查)[^,。?!\n]{{0,4}}我的?[^,。?!\n]{{0,6}}?(?:{thing})"
        r"|我(?:还|现在|目前)?(?:有|剩|欠)(?:下)?多少[^,。?!\n]{0,3}?(?:钱|积分|天|余额|额度)"
    )


def asks_after_own(text: str) -> bool:
    """True when a question asks how things stand with something of the asker's own."""
    if len(text) > LONGEST:
        return False
    folded = fold(text).lower().strip()
    if not any(sign in folded for sign in _SIGNS):
        return False  # most texts: no pattern is tried
    return bool(_english().search(folded) or _chinese().search(folded))
