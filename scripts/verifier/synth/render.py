"""Puts a meaning into words in a given style (English and Chinese differ in how the parts are joined)."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from scripts.verifier.synth.english import bare, capital, gerund, lower_first, participle, with_articles
from scripts.verifier.synth.model import Meaning, Style, Value
from scripts.verifier.synth.quantities import ENGLISH, plain
from scripts.verifier.synth.surface import EnglishSurface
from scripts.verifier.synth.words import put

_SLOT = re.compile(r"\{(\w)([+-]?)(\w?)\}")
_SUBJECT = re.compile(r"\b(can|should|must|could|would|may|will|do|am) I\b", re.I)
_THIRD = {"do": "does", "am": "is"}


class EnglishRenderer:
    """English: modifiers follow their verb, or stand first with a comma, or as a sentence of their own."""

    def __init__(self, surface: EnglishSurface) -> None:
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
        behind, lead = self._modifiers(meaning, style, template)
        parts = {slot: self._slot(slot, value, style) for slot, value in meaning.values}
        core = _SLOT.sub(
            lambda m: behind if m.group(1) == "M" else _form(parts[m.group(1)], m), plain(template)
        )
        core = self._person(re.sub(r"(?<=[a-z])%", " percent", core), meaning)
        text = self._with_lead(core, lead)
        return self._surface.apply(capital_text(with_articles(text), template), style.surface)

    def _slot(self, slot: str, value: Value, style: Style) -> str:
        text = wording(value, style)
        for where, old, new in style.words:
            if where == slot:
                text = put(text, old, new)
        return self._quantities(text, style)

    @staticmethod
    def _quantities(text: str, style: Style) -> str:
        if "<" in text and style.quantities:
            text = ENGLISH.equal(text, random.Random(style.quantities))
        return plain(text)

    def _modifiers(self, meaning: Meaning, style: Style, template: str) -> tuple[str, str]:
        """Modifiers behind the verb, and what stands in front of the question."""
        texts = []
        for value in meaning.modifiers:
            text = wording(value, style)
            text = replaced(text, style)
            texts.append(self._quantities(text, style))
        if style.backwards:
            texts.reverse()
        if style.sentence:
            said = [t for v in meaning.modifiers for t in v if t.startswith("!")]
            if said:
                hidden = {wording(v, style) for v in meaning.modifiers if any(t.startswith("!") for t in v)}
                rest = [t for t in texts if t not in hidden]
                return _joined(rest), capital(said[0][1:]) + "."
        whole = "?" in template and template[:1].isupper()
        if style.front and texts and whole and _can_front(texts[0]):
            return _joined(texts[1:]), capital(texts[0]) + ","
        return _joined(texts), ""

    @staticmethod
    def _with_lead(core: str, lead: str) -> str:
        if not lead:
            return core
        return f"{lead} {lower_first(core)}" if lead.endswith(",") else f"{lead} {core}"

    @staticmethod
    def _person(text: str, meaning: Meaning) -> str:
        if meaning.person is None:
            return text
        who, possessive = meaning.person
        if len(re.findall(r"\bI\b|\bme\b|\bI'", text)) != 1:
            return text

        def change(match: re.Match[str]) -> str:
            verb = match.group(1)
            low = _THIRD.get(verb.lower(), verb.lower())
            return (low.capitalize() if verb[0].isupper() else low) + " " + who

        new = _SUBJECT.sub(change, text, count=1)
        return (
            re.sub(r"\bmy (?!wife|son|mother|father|daughter|husband|boss|friend)", possessive + " ", new)
            if new != text
            else text
        )


def _joined(texts: list[str]) -> str:
    return "".join(" " + t for t in texts)


def replaced(text: str, style: Style) -> str:
    for where, old, new in style.words:
        if where == "M" and not new.startswith("!"):
            text = put(text, old, new)
    return text


def _can_front(text: str) -> bool:
    return text.split(maxsplit=1)[0] in {
        "in", "on", "at", "for", "after", "with", "without", "during", "before", "as", "under", "over", "by", "from",
        "while", "when", "within", "behind", "using",
    }  # fmt: skip


def wording(value: Value, style: Style) -> str:
    """The chosen wording of a value that is no sentence."""
    usable = [w for w in value if not w.startswith("!")]
    chosen = dict(style.wording).get(value[0], 0)
    return usable[chosen % len(usable)]


def mirror(template: str, pair: tuple[str, str] | None) -> str:
    if pair is None:
        return template
    first, second = pair
    swapped = template.replace("{" + first, "{\0").replace("{" + second, "{" + first)
    return swapped.replace("{\0", "{" + second)


def _form(text: str, match: re.Match[str]) -> str:
    match match.group(2), match.group(3):
        case "+", "g":
            return gerund(text)
        case "+", "p":
            return participle(text)
        case "-", _:
            return bare(text)
    return text


def capital_text(text: str, template: str) -> str:
    """Capital first letters of all sentences, unless the template is a bare list of keywords."""
    if template[:1].islower() and not template.endswith((".", "?")):
        return text
    text = capital(text)
    return re.sub(r"([.?!] )([a-z])", lambda m: m.group(1) + m.group(2).upper(), text)


def mirrored(style: Style) -> Style:
    """The style with the symmetric slots the other way round."""
    return replace(style, mirrored=not style.mirrored)
