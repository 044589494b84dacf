"""Negations: how many a text holds, after taking away those that negate nothing.

`not only`, `why not`, a tag question, `I don't know how to`, `能不能`, `区别` hold the word but
not the meaning. Knows nothing of opposites (see `poles`); `polarity` joins the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from semcache.decide.marks import Found, Mark
from semcache.decide.order import stem
from semcache.decide.text import Token, is_han
from semcache.decide.wordlist import split

FAMILY = "negation"
_NEG, _TROUBLE, _BOTH, _NONE = "negation", "trouble", "inability", "harmless"

_TABLE = {
    _NEG: """
not|never|no|without|none|neither|nor|nobody|no one|nothing|nowhere|hardly|unless|except|except for|apart from
other than|lacking|lack|lacks|avoid|avoids|avoided|avoiding|free of|non|no longer|not yet|refrain|instead of|rather than
不|没|没有|未|别|非|无|勿|莫|不要|不是|不会|不用|无需|不需要|不必|不想|不可|不应该|不应|不该|未经|尚未|从不|从未|并非|绝不
除非|除了|除外|避免|忌|忌口|禁忌|切勿|不再|没法律|不带|除去|免""",
    _BOTH: """
can not|could not|unable|not able|will not|would not|does not work|do not work|is not working|not working|not work
did not work|does not start|inability|not possible|not load|not respond|not responding|not turn on|not connect|not recognized
不能|不开|不起来|不起|不进去|不进|不着|不下|不通|不掉|不住|不见|不亮|不响|收不到|找不到|不显示|不响应|没收到|不了|无法|没法|不能够|不上|不出|不到|不动|打不开|用不了|登不上|不行|不可以|不工作|没反应|不好用|不见了|没办法""",
    _TROUBLE: """
trouble|problem|problems|hard|difficult|struggle|struggles|issue|issues|error|errors|difficulty|difficulties|fail|fails|failed|failing|failure|broken|stuck
refuses to|refusing to|keeps crashing|crash|crashes|declined|locked out|missing|lost|lose|wrong|struggling|stopped working
失败|出错|报错|问题|坏了|故障|异常|卡住|崩溃|错误|丢了|丢失|困难|打不开|不好使""",
    _NONE: """
cost nothing|costs nothing|for nothing|not only|only want|only need|only have|the only thing|if only|i only|read only|only just|why not|or not|whether or not|if not|not sure|not certain|no matter|no problem|no idea|not to mention|no worries
do not know|can not remember|can not seem to|can not tell|can not decide|can not understand|not able to remember|does not know|did not know|do not understand|did not understand|do not remember|can not remember|do not recall
can not recall|can not figure|can not find out|do not mind|do not worry|does not matter|can not wait|do not get|not really sure
no doubt|no rush|no hurry|no offense|no offence|no pressure|not urgent|nothing urgent|not a rush|do not want to bother|do not mean to|would not mind|no need to rush|not a native|not an expert|not a lawyer|not a doctor|not tech savvy|not very technical|not good with|not just|not merely|nothing but|not quite sure|do not really know|do not hesitate|if you do not mind|problem set
have no idea|have no clue|no clue|never mind|nevertheless|nonetheless|lost and found|can not seem to remember|not familiar
难道不|难道没|无精打采|不插电|非凡|模糊不清|不清|后天性|先天|不过|不同|不错|不仅|不但|不管|不论|不妨|不断|不锈钢|不动产|差不多|对不起|不好意思|不客气|不久|不止|不如|不得了|了不起
不知道|不清楚|不懂|不太懂|不明白|不记得|不确定|不太清楚|不太会|我不会|要不|来不及|不由|不禁|不愧|不然|不等式|不良反应|不孕|不育|不孕不育
未来|未婚|未成年|未必|区别|分别|特别|级别|类别|性别|别人|别的|个别|识别|告别|鉴别|辨别|别墅|离别|国别|派别|送别|别克
非常|非洲|是非|非得|无论|无线|无锡|无聊|无人机|无花果|无限|无所谓|无创|是否|能否|可否|会否|与否|有无|有没有|是不是|能不能|会不会
要不要|可不可以|好不好|行不行|对不对|该不该|用不用|需不需要|想不想|没事|没关系|没问题|不用谢|不用担心|不见得|忍不住|免费|不客气|没错
免疫|免疫力|避免不了|避孕|难免|不少|不免|不禁|不得不|不可避免|不可不|非不|不足|不明|不稳|不适|不舒服|不振|不全|不调|不齐|不规则|不正常|不平衡|不安|不均""",
}  # fmt: skip

# What a word that denies may also be called: `avoid` and `prevent`, `instead of` and `substitute for`.
_SORTS = {
    "avoid": "avoid", "avoids": "avoid", "avoided": "avoid", "avoiding": "avoid", "refrain": "avoid", "避": "avoid",
    "instead": "instead", "rather": "instead", "other": "instead", "apart": "instead", "except": "instead",
    "lack": "lack", "lacks": "lack", "lacking": "lack", "without": "lack", "hardly": "lack", "no": "lack",
}  # fmt: skip
_NOTHING: frozenset[str] = frozenset()
_SYNONYMS = {
    "avoid": frozenset(stem(word) for word in split(
        "prevent prevention stop reduce minimize minimise lower protect escape overcome fix keep guard evade dodge quit eliminate "
        "防 止 免 少")),
    "instead": frozenset(stem(word) for word in split("substitute alternative alternatives replace replacement swap besides exclude excluding another 替 代 换 外")),
    "lack": frozenset(stem(word) for word in split("deficiency shortage missing absence insufficient low little free zero less 缺 乏 少 空")),
}  # fmt: skip
_SCOPE, _HAN_SCOPE = 3, 2
_STOPPING = frozenset(
    split("stop stops prevent prevents keep keeps block blocks stopping preventing keeping discourage")
)
_LED = frozenset(("no", "not", "without", "never"))
"""Negations whose place tells what they deny."""
_JOINING = frozenset(("and", "or", "but", "so", "then", "if", "that", "because"))
# How the letters go on that affirm nothing, or speak of something else; better too many than too few.
_OTHERWISE = (
    "no", "out", "never", "any", "un", "in", "im", "free", "zero", "lack", "little", "few",
    "with", "of", "from", "by", "and", "or", "but", "who", "that", "which",
)  # fmt: skip
_SWEEPING = frozenset(("nothing", "never", "nobody", "nowhere"))
# Between a negation and what it denies.
_LIGHT = frozenset(
    split(
        "a an the to be been being is are was were am do does did have has had can could should would will shall may might must "
        "i you we they he she it my your our their his her its any some this that these those of in on at for with by from as "
        "and or very really too so just even ever not no never without"
    )
) | frozenset("要能会可以应该是有用想得被再的了在给把让不没无")
_FUNCTIONS = frozenset(
    split(
        "work works working load loads loading open opens opening start starts starting connect connects connecting respond "
        "responds charge charges charging print prints printing log sign boot play plays sync syncs turn show shows "
        "showing appear appears arrive arrived arriving come came go going receive received luck success help helped find"
    )
)
_LEADING = frozenset(split("is are was were does did can could should would has have will must may"))
_SUBJECTS = frozenset(split("i you we they he she it the this that there my your our their these those"))
_FINAL = frozenset("吗呢啊呀吧么了")
_YES_CHARACTERS = frozenset("能会可行要吃是有")


@dataclass(frozen=True, slots=True)
class Negation:
    """The negations that may count: `scopes` are the stems each denies, `told` whether it is a failure in an aside.

    `trouble` is True when the text reports a failure or an inability; `leads` are the letters that lead to each negation
    (see `_leads`).
    """

    scopes: tuple[tuple[str, ...], ...]
    told: tuple[bool, ...]
    trouble: bool
    sorts: tuple[str, ...] = ()
    leads: tuple[tuple[str, ...], ...] = ()

    def counted(self, other_words: frozenset[str], other_letters: str) -> tuple[int, int]:
        """Count the negations of something that the other text speaks of: all, and those not in an aside."""
        # Each once: a text may say the same a thousand times.
        affirmed = {lead for lead in set(chain(*self.leads)) if _affirms(lead, other_letters)}
        counts = [
            (_concerns(scope, other_words) or not affirmed.isdisjoint(leads))
            and _SYNONYMS.get(sort, _NOTHING).isdisjoint(other_words)
            for scope, sort, leads in zip(self.scopes, self.sorts, self.leads, strict=True)
        ]
        return sum(counts), sum(
            1 for counts_, told in zip(counts, self.told, strict=True) if counts_ and not told
        )


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = class of the phrase."""
    for name, lines in _TABLE.items():
        for line in lines.strip().split("\n"):
            for phrase in line.split("|"):
                yield phrase, Mark(FAMILY, name)


def of(found: Sequence[Found], tokens: Sequence[Token], asides: frozenset[int]) -> Negation:
    """Count the negations of a text from its marks."""
    words = [token.low for token in tokens]
    stopped = _stopped(words)
    scopes: list[tuple[str, ...]] = []
    told: list[bool] = []
    sorts: list[str] = []
    leads: list[tuple[str, ...]] = []
    trouble = False
    for item in found:
        failure = item.mark.name in (_TROUBLE, _BOTH) or _fails(words, item)
        trouble |= failure
        if item.mark.name in (_NEG, _BOTH) and not _is_idle(words, tokens, item):
            scope = _scope(tokens, item.end)
            scopes.append(scope)
            sorts.append(_SORTS.get(words[item.start], ""))
            leads.append(() if failure else _leads(words, tokens, item.start))
            idle = not scope or words[item.start] in _SWEEPING
            told.append((failure or idle) and item.start in asides)
    for at in stopped:
        scopes.append((stem(words[at]),))
        told.append(False)
        sorts.append("avoid")
        leads.append(())
    return Negation(tuple(scopes), tuple(told), trouble, tuple(sorts), tuple(leads))


def _stopped(words: Sequence[str]) -> list[int]:
    """Give the places of the verbs in `stop him from calling`, `keep it from rusting`."""
    return [
        i + 1
        for i, word in enumerate(words[:-1])
        if word == "from"
        and words[i + 1].endswith("ing")
        and not _STOPPING.isdisjoint(words[max(0, i - 5) : i])
    ]


def _concerns(scope: Sequence[str], other_words: frozenset[str]) -> bool:
    """True when the other text speaks of what is denied: of its first word, or of all that follows it."""
    first, *rest = scope or ("",)
    if is_han(first):
        return any(word in other_words for word in scope)
    return not scope or first in other_words or (len(rest) > 1 and all(word in other_words for word in rest))


def _leads(words: Sequence[str], tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    """Give the letters of the two words before `no`, `not`, `without`; with a full stop before one that begins its sentence.

    Where the other text has them, too, and goes on without denying, it affirms what this one denies, whatever it calls
    that: `if there is no response`, `if there is a reply`.
    """
    if words[at] not in _LED or tokens[at].first or tokens[at].gap.strip() or at == 0:
        return ()
    if words[at - 1] in _JOINING:
        return ()
    alone = at == 1 or tokens[at - 1].first
    before = words[at - 1] if alone else words[at - 2] + words[at - 1]
    found = [f".{before}" if alone else before]
    if words[at] == "without":
        found = [f"{lead}with" for lead in found]
    elif words[at - 1] in ("do", "does", "did") and not alone and at + 1 < len(words):
        found.append(words[at - 2] + words[at + 1])
    return tuple(found)


def _affirms(lead: str, letters: str) -> bool:
    """True when a text has these letters (behind a full stop: at its beginning) and goes on without denying."""
    if lead[0] == ".":
        return letters.startswith(lead[1:]) and _goes_on(letters, len(lead) - 1)
    at = letters.find(lead)
    while at >= 0:
        if _goes_on(letters, at + len(lead)):
            return True
        at = letters.find(lead, at + 1)
    return False


def _goes_on(letters: str, at: int) -> bool:
    return at < len(letters) and not letters.startswith(_OTHERWISE, at)


def _scope(tokens: Sequence[Token], end: int) -> tuple[str, ...]:
    """Give the stems of what a negation at tokens [.., end) denies: the next content words of its sentence."""
    found: list[str] = []
    for token in tokens[end:]:
        if token.first:
            break
        if token.low in _LIGHT:
            continue
        found.append(stem(token.low))
        if len(found) >= (_HAN_SCOPE if is_han(token.low) else _SCOPE):
            break
    return tuple(found)


def _fails(words: Sequence[str], item: Found) -> bool:
    """`does not load`, `will never start`, `no longer works`: something that should does not."""
    if item.mark.name == _NEG and "why" in words[max(0, item.start - 3) : item.start]:
        return True
    return item.mark.name == _NEG and any(word in _FUNCTIONS for word in words[item.end : item.end + 2])


def _is_idle(words: Sequence[str], tokens: Sequence[Token], item: Found) -> bool:
    """True for a negation that asks instead of negating."""
    i = item.start
    word = words[i]
    if word == "no":
        return item.end < len(words) and words[item.end][:1].isdigit()
    if word in ("not", "can", "could", "will", "would"):
        return _is_leading_question(words, tokens, i if word != "not" else i - 1) or _is_tag(words, item.end)
    return word in ("不", "没") and (_is_a_not_a(words, i) or _is_final(words, tokens, item.end))


def _is_leading_question(words: Sequence[str], tokens: Sequence[Token], i: int) -> bool:
    """`Isn't Paris the capital?` asks the same as `Is Paris the capital?`; `Do not open` does not."""
    if i < 0 or not tokens[i].first or i + 2 >= len(words) or words[i + 1] != "not":
        return False
    return words[i] in _LEADING or (words[i] == "do" and words[i + 2] in _SUBJECTS)


def _is_tag(words: Sequence[str], end: int) -> bool:
    """`..., isn't it?` at the very end."""
    return end == len(words) - 1 and words[end] in _SUBJECTS and end >= 2


def _is_a_not_a(words: Sequence[str], i: int) -> bool:
    """`能不能`, `需要不需要`."""
    before, after = words[max(0, i - 2) : i], words[i + 1 : i + 3]
    return bool(before and after) and (before[-1] == after[0] or (len(before) == 2 and before == after))


def _is_final(words: Sequence[str], tokens: Sequence[Token], end: int) -> bool:
    """`可以吃不？`, `吃了没`: a closing negation makes the question."""
    while end < len(words) and words[end] in _FINAL:
        end += 1
    return end == len(words) or tokens[end].first


def denies(item: Found) -> bool:
    """True for a mark that denies something by itself."""
    return item.mark.name in (_NEG, _BOTH)
