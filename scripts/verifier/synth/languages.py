"""Puts the parts of a language together."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from scripts.verifier.synth.chinese import ChineseRenderer, ChineseSurface
from scripts.verifier.synth.english import article
from scripts.verifier.synth.good import GoodEdits
from scripts.verifier.synth.loading import families, groups, lines, schemas, surface, values
from scripts.verifier.synth.model import Schema, Value
from scripts.verifier.synth.pairs import PairMaker
from scripts.verifier.synth.quantities import CHINESE, ENGLISH
from scripts.verifier.synth.render import EnglishRenderer
from scripts.verifier.synth.surface import EnglishSurface
from scripts.verifier.synth.traps import TrapEdits, TrapWords
from scripts.verifier.synth.words import Group, WordIndex

_SURFACE = {
    "lower": 8, "nopunct": 6, "upper": 1, "greet": 6, "polite_start": 9, "polite_end": 8, "small": 8, "small_end": 3,
    "filler": 4, "contract": 6, "abbrev": 4, "spell": 6, "typo": 9, "typo2": 4, "punct": 4, "noarticle": 4,
    "titlecase": 1, "space": 1,
}  # fmt: skip
_PERSONS = [
    ("my wife", "her"), ("my son", "his"), ("my mother", "her"), ("my father", "his"), ("my daughter", "her"),
    ("my husband", "his"), ("my boss", "his"), ("my friend", "his"), ("a tourist", "his"), ("a minor", "his"),
    ("a student", "his"), ("a company", "its"), ("a child", "his"), ("a foreigner", "his"), ("a pensioner", "his"),
]  # fmt: skip
_RESTRICT_WORDS = [
    "second-hand", "expired", "lost", "temporary", "shared", "foreign", "commercial", "electric", "damaged", "stolen",
    "rented", "child's", "company", "fake", "custom-made", "discontinued", "borrowed", "broken", "frozen", "inherited",
]  # fmt: skip
_OWNERS = [
    ("my ", f"{who} ")
    for who in (
        "my son's", "my mother's", "my late father's", "someone else's", "my company's", "my friend's",
        "my landlord's", "a customer's", "my ex-husband's", "my employee's", "my neighbour's", "both of my",
        "only one of my", "all of my", "none of my",
    )
    if not who.endswith(" my")
]  # fmt: skip
_NEUTRAL = frozenset(
    {"by myself", "quickly", "at home", "online", "in the app", "on the website", "with tools", "locally"}
)
_NEGATIONS = [
    (r"^without ", "with "), (r"^with ", "without "), (r"^doesn't ", "does "), (r"^don't ", "do "),
    (r"^is ", "is not "), (r"^has ", "no longer has "), (r"^was ", "was not "), (r"^hasn't ", "has "),
    (r"^after ", "before "), (r"^before ", "after "), (r"^during ", "before "), (r"^while ", "when not "),
    (r"^in (?=(spring|summer|autumn|winter|cash|hot|cold|wet|Germany|France|Italy|the UK|California|Texas))", "outside of "),
    (r"^as an? ", lambda m: "if I'm not " + m.group().removeprefix("as ")), (r"^keeps ", "no longer keeps "),
    (r"^under <", "not under <"), (r"^for (?=(children|seniors|adults|students))", "not for "),
]  # fmt: skip
_NOT_ASKED = frozenset(  # first words of groups that make no sense in the frames of bare words
    {"Monday", "spring", "morning", "day", "minute", "kilogram", "metre", "litre", "king", "city", "river", "storm",
     "planet", "headache", "cold", "burn", "knee", "hand", "eye", "tooth", "heart", "back", "arm", "muscle", "stroke",
     "mother", "son", "brother", "husband", "baby", "man", "landlord", "employer", "buyer", "manager", "noun", "comma",
     "exam", "complaint", "refund", "meeting", "promotion", "sick leave", "rent", "weight", "chemistry", "algebra",
     "inflation", "France", "Japan", "Canada", "London", "New York", "California", "England", "Spanish", "Mars",
     "Easter", "January", "speed", "childhood", "divorce", "theft", "copyright", "asthma", "measles", "insomnia",
     "first", "left", "upper", "front", "more", "most", "best", "better", "highest", "largest", "oldest", "longest",
     "cheapest", "all", "always", "before", "above", "inside", "with", "ascending", "northern", "eastern", "minimum",
     "upstairs", "uphill", "married", "pregnant", "manual", "electric", "gross", "major", "used", "monthly", "single",
     "fine", "breakfast", "delivery", "atom", "bridge", "beach", "airport", "landing", "class", "branch", "heat",
     "wedding", "concert", "marathon", "kindergarten", "doctor", "lawyer", "teacher", "summary", "list", "string"}
)  # fmt: skip
_WEIGHTS = {
    "task": 46.0,
    "noun": 5.0,
    "verb": 4.0,
    "adj": 3.0,
    "problem": 8.0,
    "write": 4.0,
    "recommend": 5.0,
}


_SURFACE_ZH = {
    "greet": 6, "polite_start": 9, "polite_end": 7, "small": 7, "small_end": 3, "particle": 7, "slip": 6, "mixed": 7,
    "traditional": 9, "half": 4, "punct": 6, "nopunct": 6, "spaced": 3, "lower": 1,
}  # fmt: skip
_OWNERS_ZH = [("", who) for who in ("公司的", "朋友的", "父亲的", "别人的", "孩子的", "前夫的")]
_RESTRICT_ZH = [
    ("", word)
    for word in ("二手", "旧的", "国外的", "过期的", "临时的", "破损的", "定制的", "进口的", "租来的")
]
_NEGATIONS_ZH = [
    ("^没有", "有"), ("^没带", "带了"), ("^不用", "用"), ("^不请", "请"), ("^不放", "放"), ("^不加", "加"), ("^不吃", "吃"),
    ("^不通过", "通过"), ("^不找", "找"), ("^不含", "含"), ("以后$", "以前"), ("之前$", "之后"), ("前$", "后"), ("后$", "前"),
    ("^带宠物", "不带宠物"), ("^无", "有"), ("^免费", "付费"), ("^提前", "推迟"), ("^老是", "从不"), ("^一直", "从不"),
    ("^用(?=手机|微信|现金|信用卡|外币|微波炉|烤箱|白醋)", "不用"), ("^在国外", "不在国外"), ("^在网上", "不在网上"),
]  # fmt: skip


def chinese() -> PairMaker:
    """The maker of Chinese pairs."""
    same, other = (WordIndex(groups(f"{name}_zh.txt"), spaced=False) for name in ("same", "other"))
    found = [_anywhere(s, "zh") for s in schemas("zh")]
    whole = families("zh")
    words = TrapWords(
        CHINESE, [], _OWNERS_ZH, _RESTRICT_ZH, _NEGATIONS_ZH, frozenset({"在家", "一个人", "免费"})
    )
    return PairMaker(
        schemas=[(s, {"task": 40.0, "problem": 8.0}.get(s.name, 3.0)) for s in found]
        + [(s, 22.0 / len(whole)) for s in whole],
        renderer=ChineseRenderer(ChineseSurface(surface("zh"))),
        good=GoodEdits(same, _SURFACE_ZH),
        traps=TrapEdits(same, other, words),
        overlap=character_overlap,
        share_of_families=0.42,
    )


def character_overlap(a: str, b: str) -> int:
    """Shared characters of all characters, in tenths."""
    first, second = (set(re.findall(r"[\w]", t.lower())) for t in (a, b))
    return int(10 * len(first & second) / max(1, len(first | second)))


def english(wordnet: Path | None) -> PairMaker:
    """The maker of English pairs; with a WordNet directory a share of the pairs comes from it."""
    same_groups, other_groups = groups("same_en.txt"), groups("other_en.txt")
    same, other = WordIndex(same_groups), WordIndex(other_groups)
    found = [_anywhere(_filled(s, other_groups), "en") for s in schemas("en")]
    weighted = [(s, _WEIGHTS.get(s.name, 3.0)) for s in found]
    whole = families("en")
    weighted += [(s, 34.0 / len(whole)) for s in whole]
    if wordnet is not None:
        from scripts.verifier.synth.wordnet import schemas_from  # noqa: PLC0415 -- only read where asked for

        weighted += schemas_from(wordnet, [s for s in found if s.name in {"noun", "verb", "adj", "define"}])
    words = TrapWords(ENGLISH, _PERSONS, _OWNERS, _restrictions(), _NEGATIONS, _NEUTRAL)
    return PairMaker(
        schemas=weighted,
        renderer=EnglishRenderer(EnglishSurface(surface("en"))),
        good=GoodEdits(same, _SURFACE),
        traps=TrapEdits(same, other, words),
        overlap=word_overlap,
        share_of_families=0.42,
    )


def _restrictions() -> list[tuple[str, str]]:
    """Narrower kinds: "a car" -> "a rented car"."""
    return [(start, f"{start}{word} ") for start in ("my ", "a ", "an ") for word in _RESTRICT_WORDS]


def _anywhere(schema: Schema, lang: str) -> Schema:
    """Tasks take a few conditions more, which fit anywhere: other ones in each cluster."""
    if schema.name != "task":
        return schema
    common = [values(line)[0] for line in lines(f"anywhere_{lang}.txt")]
    fills = []
    for i, fill in enumerate(schema.fills):
        known = {w for v in fill[-1] for w in v}
        more = [common[(7 * i + 11 * k) % len(common)] for k in range(8)]
        fresh = tuple(v for v in dict.fromkeys(more) if not known & set(v))
        fills.append((*fill[:-1], fill[-1] + fresh))
    return replace(schema, fills=tuple(fills))


def _filled(schema: Schema, other: list[Group]) -> Schema:
    """The schemas of bare words take the groups of different words as their fillers."""
    wanted = {"noun": "nm", "verb": "v", "adj": "a"}.get(schema.name)
    if wanted is None:
        return schema
    rows: list[tuple[tuple[Value, ...], ...]] = [
        (tuple((_noun(w, pos),) for w in words),)
        for pos, words, _ in other
        if pos in wanted and words[0] not in _NOT_ASKED
    ]
    return Schema(
        name=schema.name,
        slots=schema.slots,
        classes=schema.classes,
        fills=tuple(rows),
        domains=tuple(f"{schema.name}-{i}" for i in range(len(rows))),
        near=schema.near,
    )


def _noun(word: str, pos: str) -> str:
    return f"{article(word)} {word}" if pos == "n" else word


def word_overlap(a: str, b: str) -> int:
    """Shared words of all words, in tenths."""
    first, second = (set(re.findall(r"[\w']+", t.lower())) for t in (a, b))
    return int(10 * len(first & second) / max(1, len(first | second)))
