"""Swapped roles: the same words in an order that reverses the question.

`from A to B` against `from B to A`, `A sues B` against `B sues A`, `X better than Y` against
`Y better than X`, `日元换美元` against `美元换日元`. Moving a whole phrase, passives, and relations
that hold both ways (married to, between, and, or) change nothing and are left alone. Knows
nothing of synonyms: where the words differ the rule stays silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.numerals import cardinals
from semcache.decide.rereading import LONGEST_WORD
from semcache.decide.text import Token, is_han
from semcache.decide.wordlist import split

_FUNCTION_WORDS = frozenset(
    split(
        "a an the of is are was were be been being am do does did can could should would will shall may might must has have "
        "had i me my mine we us our you your he him his she her it its they them their this that these those there here what "
        "which who whom whose when where why how to from in on at by for with into onto out up off and or but so if then than "
        "as about not no please much many some any get go need want make use tell give find know like just also too very "
        "really one ones thing things s t"
    )
)
_PREPOSITIONS = frozenset(
    split("from to into for than by against over under per of onto versus instead after before")
)
_SYMMETRIC = frozenset(
    split(
        "close connected engaged acquaintance near similar adjacent partner sibling cousin twin associated linked tied neighbor "
        "neighbour colleague far apart dating friends similarly and or between versus vs married marry equal equals same similar different difference differ compare compared "
        "comparison versus relationship relation related both together meet distance friends friend plus times "
        "和 与 跟 同 或 及 、 还 区 比较"
    )
)
_PIVOTS = ("兑换成", "转换成", "兑换", "换成", "转成", "转换", "导致", "引起", "变成", "翻译成", "起诉", "超过", "换", "兑", "转",
           "到", "至", "比", "告", "打", "借给", "卖给", "送给", "欠", "给", "追", "赢", "管", "前", "后")  # fmt: skip
_PIVOT_REACH = 8
_BE = frozenset(split("is are was were be been being get gets got"))
_IRREGULAR = frozenset(
    split(
        "sold bought kept lost found made taken given seen known shown told paid won hit sent built caught held left met read "
        "brought taught thought beaten bitten broken chosen driven eaten written spoken stolen understood led fed hurt cut put set"
    )
)
_STEM_OF = {
    "sold": "sell", "bought": "buy", "kept": "keep", "lost": "lose", "found": "find", "made": "make", "taken": "take",
    "took": "take", "gave": "give", "given": "give", "seen": "see", "saw": "see", "known": "know", "told": "tell", "paid": "pay",
    "won": "win", "sent": "send", "built": "build", "caught": "catch", "held": "hold", "met": "meet", "brought": "bring",
    "taught": "teach", "beaten": "beat", "bitten": "bite", "bit": "bite", "broken": "break", "broke": "break",
    "written": "write", "wrote": "write", "eaten": "eat", "ate": "eat", "led": "lead", "fed": "feed", "men": "man",
    "sued": "sue", "owed": "owe", "women": "woman", "children": "child", "people": "person",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """`content` is the stems of the content words in order, `links` (preposition, stem) pairs.

    `passive` tells a passive with an agent, `symmetric` a relation that holds both ways; `han`
    is the run of Han characters for texts in Chinese, otherwise empty. `person` says whether the asker
    does something (`subject`) or has it done to him (`object`), `agent` whether somebody of his does it.
    """

    content: tuple[str, ...]
    links: frozenset[tuple[str, str]]
    passive: bool
    symmetric: bool
    han: str
    person: str = ""
    agent: bool = False


def of(tokens: Sequence[Token]) -> Order:
    """Read the order of a text's words; `mp3` is one word here."""
    words = _glued(tokens[:_MAX_WORDS])
    content: list[str] = []
    links: set[tuple[str, str]] = set()
    preposition = ""
    for word in words:
        if word in _PREPOSITIONS:
            preposition = word
        if word in _FUNCTION_WORDS and word not in ("one",):
            continue
        stemmed = stem(word)
        content.append(stemmed)
        if preposition and not word[0].isdigit() and word not in cardinals():
            links.add((preposition, stemmed))
            preposition = ""
    han = sum(1 for word in words if is_han(word)) * 2 > len(words)
    return Order(
        content=tuple(content),
        links=frozenset(links),
        passive=_is_passive(words),
        symmetric=any(word in _SYMMETRIC for word in words),
        han="".join(words) if han else "",
        person=_person(words),
        agent=_acts_for_itself(words),
    )


_MAX_WORDS = 160


def _glued(tokens: Sequence[Token]) -> tuple[str, ...]:
    words: list[str] = []
    for token in tokens:
        if words and not token.gap and token.low.isdecimal() and words[-1].isascii() and words[-1].isalpha():
            words[-1] += token.low
        else:
            words.append(token.low)
    return tuple(words)


_GIVING = frozenset(
    split(
        "tell give show help let remind explain send teach get to for with from of about than like find bring call buy book email "
        "write make contact offer lend cost take lead guide advise inform walk"
    )
)
_ASKING = frozenset(split("can could may is does do did will would should must has"))
_WISHING = frozenset(split("need want would am have wish"))


_RELATED = frozenset(
    split(
        "wife husband son daughter child kid mother father mom dad brother sister parents parent friend boss employer landlord tenant "
        "neighbor neighbour partner girlfriend boyfriend bank school doctor lawyer employee manager roommate company ex"
    )
)


def _acts_for_itself(words: Sequence[str]) -> bool:
    """`Can my wife use ...`: somebody stands where the asker would, right behind the auxiliary."""
    return any(
        word == "my"
        and 0 < i <= 3
        and i + 1 < len(words)
        and words[i + 1] in _RELATED
        and words[i - 1] in _ASKING
        for i, word in enumerate(words[:5])
    )


def _person(words: Sequence[str]) -> str:
    """`Can I evict him?` against `can he evict me?`."""
    acts = any(
        word in ("i", "we") and (i + 1 >= len(words) or words[i + 1] not in _WISHING)
        for i, word in enumerate(words)
    )
    suffers = any(word in ("me", "us") and words[i - 1] not in _GIVING for i, word in enumerate(words) if i)
    return "" if acts == suffers else "subject" if acts else "object"


def stem(word: str) -> str:
    """Give a crude stem: irregular forms by table, regular endings cut."""
    return _stem(word) if len(word) <= LONGEST_WORD else word


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if word in _STEM_OF:
        return _STEM_OF[word]
    for ending, rest in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            cut = word[: -len(ending)] + rest
            return cut[:-1] if len(cut) > 3 and (cut[-1] == "e" or cut[-1] == cut[-2]) else cut
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _is_passive(words: Sequence[str]) -> bool:
    for i, word in enumerate(words):
        if word == "by" and i >= 2:
            verb = words[i - 1]
            if (verb.endswith("ed") or verb in _IRREGULAR) and any(
                w in _BE for w in words[max(0, i - 8) : i - 1]
            ):
                return True
    return "被" in words


def conflict(one: Order, other: Order) -> bool:
    """True when the texts hold the same things in opposite roles."""
    if one.han or other.han:
        return bool(one.han and other.han) and _han_swapped(one.han, other.han)
    if _links_swapped(one, other):
        return True
    if sorted(one.content) != sorted(other.content):
        return False
    if _acts_differ(one, other):
        return True
    if one.symmetric or other.symmetric:
        return False
    if one.content == other.content:
        return one.passive != other.passive
    fixed = {word for _, word in one.links & other.links}
    if (
        one.passive == other.passive
        and one.links == other.links
        and _turned_around(one.content, other.content, fixed)
    ):
        return True
    around = _around(one.content) & _around(other.content, backwards=True)
    # What hangs on a preposition may move with it: `by area, the smallest` and `the smallest by area`.
    return one.passive == other.passive and any(fixed.isdisjoint(words) for words in around)


def _acts_differ(one: Order, other: Order) -> bool:
    """True when the asker does in one text what is done to him, or what somebody of his does, in the other."""
    if one.person and other.person and one.person != other.person and one.passive == other.passive:
        return True
    return one.agent != other.agent and "subject" in (one.person, other.person)


def _around(content: Sequence[str], *, backwards: bool = False) -> set[tuple[str, str, str]]:
    """Give (before, pivot, after) of each inner content word."""
    step = -1 if backwards else 1
    return {tuple(content[i - 1 : i + 2][::step]) for i in range(1, len(content) - 1)}  # type: ignore[misc]  # slices of 3


def _turned_around(one: Sequence[str], other: Sequence[str], fixed: set[str]) -> bool:
    """True when two words or more that stood before some word stand behind it, and the other way round."""
    for i, pivot in enumerate(one):
        if not 0 < i < len(one) - 1 or one.count(pivot) != 1:
            continue
        j = other.index(pivot)
        left, right = set(one[max(0, i - 2) : i]), set(one[i + 1 : i + 3])
        left2, right2 = set(other[max(0, j - 2) : j]), set(other[j + 1 : j + 3])
        if (left & right2) - fixed and (right & left2) - fixed and not (left & left2 or right & right2):
            return True
    return False


def _links_swapped(one: Order, other: Order) -> bool:
    """`to yen` against `to dollars` where both texts speak of both."""
    for preposition, word in one.links - other.links:
        for preposition2, word2 in other.links - one.links:
            turned = ("of", word) in other.links or ("of", word2) in one.links
            same = preposition == preposition2 and word != word2 and not turned
            if (
                same
                and _once(word, one, other)
                and _once(word2, one, other)
                and not _is_free(preposition, one, other)
            ):
                return True
    return False


def _once(word: str, one: Order, other: Order) -> bool:
    return one.content.count(word) == 1 and other.content.count(word) == 1


def _is_free(preposition: str, one: Order, other: Order) -> bool:
    """True where the link may move without swapping roles: `of`, `by`, and passives."""
    if preposition in ("of", "by"):
        return True
    return one.symmetric or other.symmetric or one.passive != other.passive


def _han_swapped(one: str, other: str) -> bool:
    passive = ("被" in one) != ("被" in other)
    swapped = _exactly_swapped(one, other) or any(
        _swapped_at(pivot, one, other) for pivot in _pivots_in(one, other)
    )
    return swapped and not passive


def _pivots_in(one: str, other: str) -> Iterator[str]:
    return (pivot for pivot in _PIVOTS if pivot in one and pivot in other)


def _swapped_at(pivot: str, one: str, other: str) -> bool:
    """True when what stands before the pivot in one text stands behind it in the other, and vice versa."""
    sides_one, sides_other = _sides(pivot, one), _sides(pivot, other)
    return any(
        _meets(left, right2) and _meets(left2, right) and not left.endswith(left2[-2:])
        for left, right in sides_one
        for left2, right2 in sides_other
    )


def _sides(pivot: str, text: str) -> list[tuple[str, str]]:
    """Give the text before and behind each occurrence of the pivot (at most four)."""
    sides: list[tuple[str, str]] = []
    at = text.find(pivot)
    while at >= 0 and len(sides) < 4:
        behind = at + len(pivot)
        sides.append((text[max(0, at - _PIVOT_REACH) : at], text[behind : behind + _PIVOT_REACH]))
        at = text.find(pivot, behind)
    return sides


def _meets(left: str, right: str) -> bool:
    """True when an end of `left`, two characters or more, begins `right`."""
    return any(right.startswith(left[-size:]) for size in range(2, min(len(left), len(right)) + 1))


def _exactly_swapped(one: str, other: str) -> bool:
    """True when the texts are `p X m Y s` and `p Y m X s` with a middle that has a direction."""
    if len(one) != len(other) or one == other:
        return False
    start = _common(one, other)
    end = len(one) - _common(one[start:][::-1], other[start:][::-1])
    left, right = one[start:end], other[start:end]
    for first in range(1, len(left) - 1):
        if not right.endswith(left[:first]):
            continue
        for second in range(1, len(left) - first):
            middle = left[first : len(left) - second]
            if right.startswith(left[len(left) - second :]) and right[second : len(right) - first] == middle:
                return not _holds_both_ways(one, middle)
    return False


def _holds_both_ways(text: str, middle: str) -> bool:
    return (
        any(mark in middle for mark in "和与跟同或及") or "还是" in middle or "区别" in text or "比较" in text
    )


def _common(one: str, other: str) -> int:
    size = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        size += 1
    return size
