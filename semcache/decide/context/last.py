"""What the last question leans on: an answer to what was proposed, an item of a list, a thing named before.

Reads only the last user text. Every doubt is read as leaning on the history; knows nothing of
what the history says (see `reach`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.context.chatter import is_courtesy
from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.leaning import han_leans, leans
from semcache.decide.context.replies import answer, han_reply, index, reply
from semcache.decide.text import fold, is_han, read

_SHORTEST_REST = 5
_SWITCHES = (
    "by the way", "btw", "one more thing", "one other thing", "one last thing", "another thing", "on another note",
    "on a different note", "on a separate note", "on an unrelated note", "unrelated question", "unrelated", "separate question", "different question", "different topic",
    "changing the subject", "change of topic", "completely different topic", "new question", "another question", "quick question", "one more question", "last question", "just curious", "out of curiosity",
    "also", "oh and", "actually",
)  # fmt: skip
_HAN_SWITCHES = ("顺便问一下", "顺便问下", "顺便问", "顺便", "另外问一下", "另外", "对了", "换个话题", "换个问题", "还有一个问题", "还有个问题", "再问一个问题",
                 "再问一下", "问个别的", "题外话", "新问题")  # fmt: skip
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
        reply=answer(text) or (han_reply(compact) if han else reply(seen.words, joined, body)),
        index=index(seen.words, joined, compact),
        leans=han_leans(compact, body) if han else leans(seen.words, joined, body),
        personal=any(mark in compact for mark in _HAN_PERSONAL) if han else bool(_PERSONAL.search(joined)),
    )
