"""Puts the parts of a language together."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.verifier.synth.english import article
from scripts.verifier.synth.good import GoodEdits
from scripts.verifier.synth.loading import groups, schemas, surface
from scripts.verifier.synth.model import Schema, Value
from scripts.verifier.synth.pairs import PairMaker
from scripts.verifier.synth.render import EnglishRenderer
from scripts.verifier.synth.surface import EnglishSurface
from scripts.verifier.synth.traps import TrapEdits
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
_RESTRICT = (
    "second-hand expired lost temporary shared foreign small large old new cheap commercial vintage wooden electric"
    " portable heavy damaged stolen rented child's company fake custom-made discontinued imported"
).split()
_OWNERS = [
    "my son's ", "my mother's ", "my late father's ", "someone else's ", "my company's ", "my friend's ",
    "my landlord's ", "a customer's ", "my ex-husband's ", "my employee's ", "my neighbour's ",
]  # fmt: skip
_NEUTRAL = frozenset(
    {"by myself", "quickly", "at home", "online", "in the app", "on the website", "with tools", "locally"}
)
_NEGATIONS = [
    ("without ", "with "), ("with ", "without "), ("won't ", "will "), ("doesn't ", "does "), ("don't ", "do "),
    ("keeps ", "never stops to have problems, it no longer keeps "), ("is ", "is not "), ("has ", "no longer has "),
    ("was ", "was not "), ("hasn't ", "has "), ("after ", "before "), ("before ", "after "),
    ("inside ", "outside "), ("in ", "outside of "), ("during ", "before "), ("while ", "when not "),
]  # fmt: skip
_NEGATIONS = [n for n in _NEGATIONS if n[0] not in {"keeps ", "in ", "won't "}]
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


def english(wordnet: Path | None) -> PairMaker:
    """The maker of English pairs; with a WordNet directory a share of the pairs comes from it."""
    same_groups, other_groups = groups("same_en.txt"), groups("other_en.txt")
    same, other = WordIndex(same_groups), WordIndex(other_groups)
    found = [_filled(s, other_groups) for s in schemas("en")]
    weighted = [(s, _WEIGHTS.get(s.name, 3.0)) for s in found]
    if wordnet is not None:
        from scripts.verifier.synth.wordnet import schemas_from  # noqa: PLC0415 -- only read where asked for

        weighted += schemas_from(wordnet, [s for s in found if s.name in {"noun", "verb", "adj"}])
    return PairMaker(
        schemas=weighted,
        renderer=EnglishRenderer(EnglishSurface(surface("en"))),
        good=GoodEdits(same, _SURFACE),
        traps=TrapEdits(same, other, _PERSONS, _RESTRICT, _OWNERS, _NEUTRAL, _NEGATIONS),
        overlap=word_overlap,
    )


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
