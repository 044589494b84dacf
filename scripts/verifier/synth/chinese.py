"""Chinese: how the parts of a question are joined, and what can be changed on its surface."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from scripts.verifier.synth.model import Meaning, Style, Value
from scripts.verifier.synth.quantities import CHINESE, plain
from scripts.verifier.synth.render import mirror, replaced, wording
from scripts.verifier.synth.words import put
from semcache.decide.hanzi import simplify

_SLOT = re.compile(r"\{(\w)\}")
_ORDER = [
    "slip",
    "mixed",
    "polite_start",
    "polite_end",
    "small",
    "small_end",
    "greet",
    "particle",
    "spaced",
    "punct",
    "nopunct",
    "half",
    "traditional",
    "lower",
    "upper",
]
_BOTH = frozenset(
    "面干只台表松谷云斗余几才丑卷征了里后系制"
)  # simplified forms that are also words of their own
_HALF = str.maketrans({"，": ",", "？": "?", "。": ".", "！": "!", "：": ":", "“": '"', "”": '"'})


class ChineseRenderer:
    """Modifiers stand where the template has them, by default in front of the verb."""

    def __init__(self, surface: ChineseSurface) -> None:
        self._surface = surface

    def text(self, meaning: Meaning, style: Style) -> str:
        """The question."""
        template = meaning.schema.classes[meaning.kind][style.template]
        if meaning.patch:
            template = put(template, *meaning.patch)
        if style.mirrored:
            template = mirror(template, meaning.schema.symmetric)
        for slot, old, new in style.words:
            if slot == "frame":
                template = put(template, old, new)
        inside, lead = self._modifiers(meaning, style)
        parts = {slot: self._slot(slot, value, style) for slot, value in meaning.values}
        core = _SLOT.sub(lambda m: inside if m.group(1) == "M" else parts[m.group(1)], template)
        return self._surface.apply(_spaced(lead + core), style.surface)

    def _slot(self, slot: str, value: Value, style: Style) -> str:
        text = wording(value, style)
        for where, old, new in style.words:
            if where == slot:
                text = put(text, old, new)
        return _quantities(text, style)

    @staticmethod
    def _modifiers(meaning: Meaning, style: Style) -> tuple[str, str]:
        texts, lead = [], ""
        for value in meaning.modifiers:
            said = [t for t in value if t.startswith("!")]
            if style.sentence and said and not lead:
                lead = said[0][1:] + "，"
            else:
                texts.append(_quantities(replaced(wording(value, style), style), style))
        if style.backwards:
            texts.reverse()
        joint = "" if any(t.endswith("的") for t in texts) else "，"
        if style.front and texts and meaning.schema.name in {"task", "problem"}:
            return joint.join(texts[1:]), texts[0] + "，" + lead
        return joint.join(texts), lead


def _quantities(text: str, style: Style) -> str:
    if "<" in text and style.quantities:
        text = CHINESE.equal(text, random.Random(style.quantities))
    return plain(text)


def _spaced(text: str) -> str:
    """One space between two Latin words that would otherwise run together."""
    return re.sub(r"(?<=[A-Za-z0-9])(?=Python|Java|Go|Rust|Mac|Linux)", " ", text)


class ChineseSurface:
    """Applies one operation at a time; an operation that finds nothing to do gives the text back."""

    def __init__(self, words: dict[str, list[str]]) -> None:
        self._words = words
        self._traditional = _traditional_table()
        self.operations: dict[str, Callable[[str, random.Random], str]] = {
            "greet": lambda text, rng: rng.choice(words["greet"]) + text,
            "polite_start": self._polite,
            "polite_end": lambda text, rng: text + rng.choice(words["polite_end"]),
            "small": lambda text, rng: rng.choice(words["small"]) + text,
            "small_end": lambda text, rng: _ended(text) + rng.choice(words["small"]),
            "particle": self._particle,
            "slip": lambda text, rng: self._table("slip", text, rng),
            "mixed": lambda text, rng: self._table("mixed", text, rng),
            "traditional": lambda text, _: text.translate(self._traditional),
            "half": lambda text, _: text.translate(_HALF),
            "punct": lambda text, rng: text.rstrip("？。！?") + rng.choice(("？？", "", "?", "。", "！")),
            "nopunct": lambda text, _: re.sub(r"[？。！]", " ", text).strip(),
            "spaced": lambda text, _: re.sub(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])", " ", text),
            "lower": lambda text, _: text.lower(),
            "upper": lambda text, _: text.upper(),
        }  # fmt: skip

    def apply(self, text: str, operations: tuple[tuple[str, int], ...]) -> str:
        """The text after the operations: first the words, then what stands around them, then the characters."""
        for name, seed in sorted(operations, key=lambda o: _ORDER.index(o[0])):
            text = self.operations[name](text, random.Random(seed))
        return text

    def _polite(self, text: str, rng: random.Random) -> str:
        return text if text.startswith(("请问", "请")) else rng.choice(self._words["polite_start"]) + text

    def _particle(self, text: str, rng: random.Random) -> str:
        core = text.rstrip("？?")
        asks = core != text and not core.endswith("吗")
        return core + rng.choice(self._words["particle"]) + text[len(core) :] if asks else text

    def _table(self, section: str, text: str, rng: random.Random) -> str:
        rows = [tuple(row.split(">")) for row in self._words[section]]
        fit = [(a, b) for a, b in rows if a in text]
        if not fit:
            return text
        old, new = rng.choice(fit)
        return text.replace(old, new, 1)


def _ended(text: str) -> str:
    return text if text.endswith(("？", "。", "！", "?")) else text + "。"


def _traditional_table() -> dict[int, str]:
    """Simplified to traditional characters: the product's own table backwards, first come first kept."""
    found: dict[int, str] = {}
    for code in range(0x4E00, 0xA000):
        plain_form = simplify(chr(code))
        if plain_form != chr(code) and plain_form not in _BOTH:
            found.setdefault(ord(plain_form), chr(code))
    return found
