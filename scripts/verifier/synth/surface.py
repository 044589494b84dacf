"""Changes of an English text that leave its meaning alone: case, typing errors, greetings, fillers, contractions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from scripts.verifier.synth.english import capital, lower_first

_KEYS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk",
    "k": "jl", "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "w", "r": "et", "s": "ad", "t": "ry",
    "u": "yi", "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip
_QUESTION = re.compile(
    r"^(how|what|what's|why|when|where|who|which|can|could|is|are|do|does|did|should|will|am|may|must)\b",
    re.I,
)
_ORDER = [
    "contract",
    "spell",
    "abbrev",
    "filler",
    "noarticle",
    "polite_start",
    "polite_end",
    "small",
    "small_end",
    "greet",
    "typo",
    "typo2",
    "space",
    "punct",
    "nopunct",
    "titlecase",
    "lower",
    "upper",
]
_KEEP = re.compile(r"\b(not|no|never|without|before|after|under|over)\b", re.I)


class EnglishSurface:
    """Applies one operation at a time; an operation that finds nothing to do gives the text back."""

    def __init__(self, words: dict[str, list[str]]) -> None:
        self._words = words
        self._rows = {section: _compiled(words[section]) for section in ("contract", "abbrev", "spell")}
        self.operations: dict[str, Callable[[str, random.Random], str]] = {
            "lower": lambda text, _: text.lower(),
            "nopunct": lambda text, _: re.sub(r"[?!.]+(?=\s|$)|(?<=[a-z]),(?=\s)", "", text).strip(),
            "upper": lambda text, _: text.upper(),
            "greet": self._greet,
            "polite_start": self._polite_start,
            "polite_end": lambda text, rng: f"{text} {rng.choice(words['polite_end'])}",
            "small": self._small,
            "small_end": lambda text, rng: f"{_ended(text)} {rng.choice(words['small'])}",
            "filler": self._filler,
            "contract": lambda text, rng: self._table("contract", text, rng),
            "abbrev": lambda text, rng: self._table("abbrev", text, rng),
            "spell": lambda text, rng: self._table("spell", text, rng),
            "typo": _typo,
            "typo2": lambda text, rng: _typo(_typo(text, rng), rng),
            "punct": _punctuation,
            "noarticle": lambda text, _: re.sub(r"\b(the|a|an) (?=\w)", "", text),
            "titlecase": lambda text, _: text.title().replace("'S", "'s").replace("'T", "'t"),
            "space": lambda text, rng: re.sub(" ", "  ", text, count=rng.randint(1, 2)),
        }

    def apply(self, text: str, operations: tuple[tuple[str, int], ...]) -> str:
        """The text after the operations: first the words, then what stands around them, then the letters."""
        order = list(_ORDER)
        for name, seed in sorted(operations, key=lambda o: order.index(o[0])):
            text = self.operations[name](text, random.Random(seed))  # a repeatable choice, nothing secret
        return text

    def _greet(self, text: str, rng: random.Random) -> str:
        greeting = rng.choice(self._words["greet"])
        return f"{greeting} {lower_first(text) if greeting.endswith(',') else text}"

    def _polite_start(self, text: str, rng: random.Random) -> str:
        fit = self._words["polite_start"] if _QUESTION.match(text) else ["Okay, so", "So,", "Well,", "Um,"]
        return f"{rng.choice(fit)} {lower_first(text)}"

    def _small(self, text: str, rng: random.Random) -> str:
        said = rng.sample(self._words["small"], rng.choices((1, 2, 3), (60, 28, 12))[0])
        return f"{' '.join(said)} {capital(text)}"

    def _filler(self, text: str, rng: random.Random) -> str:
        found = re.match(
            r"^(How do I|How can I|Can I|Where can I|Why should I|What is|Should I|Do I|Why does|Is it) ",
            text,
        )
        word = rng.choice(self._words["filler"])
        return f"{found.group(1)} {word} {text[found.end() :]}" if found else text

    def _table(self, section: str, text: str, rng: random.Random) -> str:
        fit = [(pattern, new) for pattern, new in self._rows[section] if pattern.search(text)]
        if not fit:
            return text
        pattern, new = rng.choice(fit)
        return pattern.sub(lambda m: capital(new) if m.group()[:1].isupper() else new, text)


def _compiled(rows: list[str]) -> list[tuple[re.Pattern[str], str]]:
    pairs = (row.split(">") for row in rows)
    return [(re.compile(rf"(?<![\w'-]){re.escape(old)}(?![\w'-])", re.I), new) for old, new in pairs]


def _ended(text: str) -> str:
    return text if text.endswith(("?", ".", "!")) else text + "."


def _typo(text: str, rng: random.Random) -> str:
    spots = [m for m in re.finditer(r"[A-Za-z]{5,}", text) if not _KEEP.match(m.group())]
    if not spots:
        return text
    spot = rng.choice(spots)
    word, at = spot.group(), rng.randrange(1, len(spot.group()) - 1)
    match rng.randrange(4):
        case 0:
            new = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 1:
            new = word[:at] + word[at + 1 :]
        case 2:
            new = word[:at] + word[at] + word[at:]
        case _:
            new = word[:at] + rng.choice(_KEYS.get(word[at].lower(), "e")) + word[at + 1 :]
    return text[: spot.start()] + new + text[spot.end() :]


def _punctuation(text: str, rng: random.Random) -> str:
    core = text.rstrip("?!. ")
    ends = ["??", " ?", "...", "", "?!", "."] if text.endswith("?") else ["", "!", ".."]
    return core + rng.choice(ends)
