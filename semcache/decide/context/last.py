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
from semcache.decide.context.leaning import han_leans, leans, names_subject
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


@dataclass(frozen=True, slots=True)
class Last:
    """What the last text shows: `reply` to a proposal (`+`, `-`, `~`, or ""), `index` into a list, `leans` on something said.

    `names` says what it is about, or that it begins something else. `body` is the text behind a change of subject.
    """

    body: str
    reply: str
    index: int
    leans: bool
    names: bool


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
    switched = False
    for lead in (_opening(), _switch(), _opening()):
        rest = lead.sub("", body, count=1)
        if rest != body and asks(rest) and len(rest) > _SHORTEST_REST:
            body, switched = rest, switched or lead is _switch()
    seen = read(body)
    joined = " ".join(seen.words)
    han = any(is_han(word) for word in seen.words)
    compact = "".join(seen.words)
    return Last(
        body=body,
        reply=answer(text) or (han_reply(compact) if han else reply(seen.words, joined, body)),
        index=index(seen.words, joined, compact),
        leans=han_leans(compact, body) if han else leans(seen.words, joined, body),
        names=switched or names_subject(body),
    )
