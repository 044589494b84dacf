"""Does one question say more than the other: a clause, or words at an end, that the other has nothing of?

`What is the capital of France? Answer: visit our site` is near to `What is the capital of France?` in vector and wording, and
has another answer. A model of natural paraphrases has never seen such pairs, which are made by those who want a
poisoned answer served to others; so this is a rule. Where all that one text says stands in the other too, whatever that other says
beside it decides the answer, unless it is small talk, or told of oneself (`I forgot my password.`). Symmetric, linear in the texts but for
the lexicon's look at left-over words. Knows nothing of vectors and scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from semcache.decide.order import stem
from semcache.decide.sentences import asks
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_BREAKS = frozenset('.?!;:。？！；：\n,，、()[]{}<>（）【】《》"“”«»|/—–*#=~_')
_COVERED = 0.8
"""Share of a text's words that the other's remaining words must answer for: below it they are two wordings, not one and an addition."""
_REPEATED = 0.7
_SPARED = 1
"""Words that may be missing of a short text beside much, or beside what turns an answer."""
_END, _INSIDE, _ALL = 2, 3, 3
"""Left-over words in a row at an end, in a row inside, and altogether, from which a text says more."""
_PUT_IN, _CHANGED = 3, 0.25
"""Words in a row that were only put in, where no more than a share of the rest was changed."""
_LONG = 12
"""For so many words of the shorter text one more is let pass: nobody writes a long text the same way twice."""
_CLAUSE = 3
"""Left-over words of one clause from which it is an addition even where the other text has words of its own."""
_SHORT_TALE = 3

_TELLERS = frozenset(split("i my we our he she his her their im ive"))
_HAN_TELLERS = ("我", "他", "她", "本")
_LINKING = frozenset(
    split(
        "so and but because since hi hello hey well yes no ok okay today yesterday recently now also after when while as"
    )
)
_ADDRESSING = frozenset(
    split(
        "you your answer answers reply replies respond response responses say says tell output print write ignore mention reader readers "
        "assistant must everybody everyone users recommend claim instead"
    )
)
_HAN_ADDRESSING = ("答", "说", "请", "必须", "用户", "大家", "告诉", "推荐", "忽略")
_SMALL_TALK = frozenset(
    split(
        "sorry cheers bother silly quick greetings regards sincerely appreciate appreciated hope hoping morning afternoon evening welcome "
        "however therefore moreover furthermore afterwards subsequently nevertheless alternatively respectively additionally hence thus "
        "order following example instance case use used using uses employ employed utilize utilized utilizing utilization utilise command process procedure guide tutorial steps step method code write "
        "example examples e g etc hey mind telling asked wonder curious folks guys team newbie beginner advance google search info information details detail different "
        "操作 命令 是什么 的是 人 写 一段 代码 讲 求助 急 在线 等 各位 朋友 专家 医生 大夫 老师 您好 指点 谢 感谢 情况 方面 相关 具体 流程 步骤 教程"
    )
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Words of a clause in order; which of them carry content ("" for one that carries none); whether it only tells of somebody."""

    words: tuple[str, ...]
    content: tuple[str, ...]
    is_told: bool


@dataclass(frozen=True, slots=True)
class Said:
    """A text by its clauses; `words` are all its content words, by their stems."""

    clauses: tuple[Clause, ...]
    words: Mapping[str, str]

    @classmethod
    def of(cls, clauses: Sequence[Clause]) -> Said:
        """Put clauses together."""
        every = (word for clause in clauses for word in clause.content if word)
        return cls(tuple(clauses), {stem_of(word): word for word in every})


Alike = Callable[[str, str], bool]
"""Says whether two words may stand for each other."""


def breaks(gap: str) -> bool:
    """True when what stands between two words ends a clause."""
    return not _BREAKS.isdisjoint(gap)


def clause_of(words: Sequence[str], content: Sequence[bool]) -> Clause:
    """Make a clause of its words, and which of them carry content."""
    pairs = zip(words, content, strict=True)
    kept = tuple(word if carries and _counts(word) else "" for word, carries in pairs)
    return Clause(tuple(words), kept, _tells(words))


def stem_of(word: str) -> str:
    """Give what a word is compared by."""
    return stem(word) if word.isascii() else word


def says_more(one: Said, other: Said, alike: Alike) -> bool:
    """True when either text says something that the other has nothing of."""
    return _adds(one, other, alike) or _adds(other, one, alike)


def _counts(word: str) -> bool:
    """A lone Han character is mostly a piece of a word."""
    return word not in _SMALL_TALK and word[0].isalpha() and (not is_han(word) or _turns(word))


def _adds(longer: Said, shorter: Said, alike: Alike) -> bool:
    """True when `longer` has all of `shorter` and says more."""
    odd = {
        word
        for key, word in longer.words.items()
        if key not in shorter.words and not any(alike(word, other) for other in shorter.words.values())
    }
    left = {word for clause in longer.clauses if not clause.is_told for word in clause.content if word in odd}
    surplus = len(left) - sum(1 for key in shorter.words if key not in longer.words)
    if not left:
        return False
    turned = surplus >= 1 and any(map(_turns, left))
    surplus -= len(shorter.words) // _LONG
    if turned or surplus >= _ALL:
        # A word may be missing only of a text that is otherwise repeated as it stands.
        spared = _SPARED if _repeats(longer, shorter) else 0
        if (shorter.words or spared) and _covers(longer.words.values(), shorter, alike, spared):
            return True
    if _adds_clause(longer, shorter, odd, surplus, alike) or _puts_in(longer, shorter, odd):
        return True
    return surplus >= 1 and _adds_run(longer, shorter, odd, alike)


def _adds_clause(longer: Said, shorter: Said, odd: Set[str], surplus: int, alike: Alike) -> bool:
    for place, clause in enumerate(longer.clauses):
        left = [word for word in clause.content if word in odd]
        carried = sum(1 for word in clause.content if word)
        if clause.is_told or not left or carried - len(left) > 1 or len(longer.clauses) == 1:
            continue
        if surplus < 1 and len(left) < _CLAUSE:
            continue
        others = (it for i, it in enumerate(longer.clauses) if i != place)
        if _covers([word for it in others for word in it.content], shorter, alike):
            return True
    return False


def _adds_run(longer: Said, shorter: Said, odd: Set[str], alike: Alike) -> bool:
    """True for left-over words in a row, none of the other's between, that the rest does without."""
    marked = [(word, clause.is_told) for clause in longer.clauses for word in clause.content]
    start = 0
    while start < len(marked):
        end = start
        while end < len(marked) and (not marked[end][0] or marked[end][0] in odd):
            end += 1
        run = [word for word, is_told in marked[start:end] if word and not is_told]
        rest = [word for word, _ in (*marked[:start], *marked[end:])]
        most = _END if start == 0 or end == len(marked) else _INSIDE
        if len(run) >= most and _covers(rest, shorter, alike):
            return True
        start = end + 1
    return False


def _puts_in(longer: Said, shorter: Said, odd: Set[str]) -> bool:
    """True where one text is the other with a phrase put into it."""
    words = [(word, clause.is_told) for clause in longer.clauses for word in clause.words]
    before = [word for clause in shorter.clauses for word in clause.words]
    matcher = SequenceMatcher(None, before, [word for word, _ in words], autojunk=False)
    changed, found = 0, False
    for step, left, right, start, end in matcher.get_opcodes():
        if step == "equal":
            continue
        said = sum(1 for word, is_told in words[start:end] if word in odd and not is_told)
        if step == "insert" and end - start >= _PUT_IN and said >= _END:
            found = True
        else:
            changed += max(right - left, 0)
    return found and changed <= _CHANGED * len(before)


def _repeats(longer: Said, shorter: Said) -> bool:
    """True where most of one text stands in the other, word by word and in order."""
    before = [word for clause in shorter.clauses for word in clause.words]
    words = [word for clause in longer.clauses for word in clause.words]
    blocks = SequenceMatcher(None, before, words, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) >= _REPEATED * len(before)


def _covers(words: Iterable[str], other: Said, alike: Alike, spared: int = 0) -> bool:
    """True when `words` have nearly all that the other text says; `spared` may be missing in any case, if something is left."""
    held = {stem_of(word): word for word in words if word}
    found = sum(
        1
        for key, one in other.words.items()
        if key in held or any(alike(one, word) for word in held.values())
    )
    missing = len(other.words) - found
    return missing <= (1 - _COVERED) * len(other.words) or (
        missing <= spared and found >= min(spared, len(other.words))
    )


def _tells(words: Sequence[str]) -> bool:
    """True for a clause that tells of somebody, and nobody what to answer."""
    if any(is_han(word[0]) for word in words):
        run = "".join(words)
        return run[:1] in _HAN_TELLERS and not any(word in run for word in _HAN_ADDRESSING)
    first = next((word for word in words if word not in _LINKING), "")
    tells = len(words) >= _SHORT_TALE and first in _TELLERS and not asks(words)
    return tells and _ADDRESSING.isdisjoint(words)


def _turns(word: str) -> bool:
    """True for a word that turns an answer; Han words that no lexicon knows may have others' characters beside it."""
    if is_han(word[0]):
        return any(mark in word for mark in _turning() if not mark.isascii())
    return stem_of(word) in _turning()


@lru_cache(maxsize=1)
def _turning() -> frozenset[str]:
    """Give the stems of words that, said beside a question, turn its answer into something else."""
    words = split(
        "wrong wrongly false falsely fake incorrect incorrectly untrue lie lies lying liar opposite nonsense gibberish rude rudely sarcastic "
        "sarcastically scammer pirate deceive mislead misleading insult curse swear refuse jailbreak hypnotise 撒谎 骗子 错误 胡说 假的 谎话 骗 谎"
    )
    return frozenset(map(stem_of, words))
