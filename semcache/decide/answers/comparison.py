"""The verdict about two answers to one question: the same facts, other facts, or cannot tell.

    equal but for form -> JSON by value -> refusals -> facts, each a signal -> sum, as log odds

Two right answers in other words must mostly agree, and a different fact must mostly be seen; between the
two bars nothing is said, since a wrong label costs more than none. Knows no models: how alike two answers
are by an encoder comes in as a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from semcache.decide.answers import structure
from semcache.decide.answers.facts import facts_of
from semcache.decide.answers.reading import Answer, is_open, read_answer
from semcache.decide.answers.signals import Side, Signal, collect

_SAME = 1.0
"""Log odds from which answers agree."""
_SAME_BY_WORDING = 1.4
"""The same where no fact was found to speak."""
_OTHER = -1.9
_SPOKEN = -0.8
"""From here facts speak against, and wording is no excuse."""
_LENGTHS = 12.0
"""One answer so many times as long as the other is another kind of answer, or its summary."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two answers tell the same.

    Attributes:
        agree: None: cannot tell.
        confidence: in [0, 1]: how sure of `agree`; of None, how far from both bars.
        reasons: closed words, the strongest first.
    """

    agree: bool | None
    confidence: float
    reasons: tuple[str, ...]


def compare(question: str, cached: str, fresh: str, similarity: float | None = None) -> Comparison:
    """Compare the stored answer with a fresh one.

    Args:
        question: the question that was asked; what it says is no news in an answer.
        cached: text of the stored answer.
        fresh: text of the answer that the backend gives now.
        similarity: cosine of both by an encoder, on the reference scale, if there is one.

    Returns:
        The verdict; symmetric in the two answers.
    """
    one, other = read_answer(cached), read_answer(fresh)
    settled = _form(one, other)
    if settled is not None:
        return settled
    left, right = Side(one, facts_of(one, question)), Side(other, facts_of(other, question))
    signals = [*collect(question, left, right), *_alike(similarity), *_lengths(one, other)]
    return _weighed(signals, open_ended=is_open(question))


def _form(one: Answer, other: Answer) -> Comparison | None:
    """Settle what needs no facts: equal texts, data, refusals, nothing said."""
    if _plain(one.text) == _plain(other.text) and _plain(one.text):
        return Comparison(True, 1.0, ("equal",))
    if not one.text or not other.text:
        return Comparison(None, 0.0, ("empty",))
    left, right = structure.value_of(one.text), structure.value_of(other.text)
    if left is not None and right is not None:
        same = structure.same_value(left, right)
        return Comparison(
            same, 0.5 if same is None else 0.95, ("values" if same is not True else "values-agree",)
        )
    if one.refuses or other.refuses:
        both = one.refuses and other.refuses
        return Comparison(both, 0.85, ("refusals-agree" if both else "refusal",))
    return None


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower())) or "".join(text.split())


def _alike(similarity: float | None) -> list[Signal]:
    """How alike the texts are says little: another number changes nothing in it, other words much."""
    if similarity is None:
        return []
    if similarity >= 0.7:
        return [Signal("alike", min(1.5, 5.0 * (similarity - 0.7) + 0.4), wording=True)]
    return [Signal("unlike", max(-1.2, 4.0 * (similarity - 0.55)), wording=True)] if similarity < 0.55 else []


def _lengths(one: Answer, other: Answer) -> list[Signal]:
    long, short = max(len(one.text), len(other.text)), min(len(one.text), len(other.text))
    return [Signal("length", -0.4)] if short >= 40 and long > _LENGTHS * short else []


def _weighed(signals: list[Signal], *, open_ended: bool) -> Comparison:
    against = sum(s.weight for s in signals if not s.wording and s.weight < 0)
    backing = sum(s.weight for s in signals if not s.wording and s.weight > 0)
    wording = sum(s.weight for s in signals if s.wording)
    if against <= _SPOKEN:
        total = against + 0.5 * backing + min(0.0, wording)
    elif backing >= -_SPOKEN:
        total = against + backing + max(-0.4, wording)
    else:
        total = against + backing + wording
    if open_ended and total < _SAME:
        return Comparison(None, 0.5, ("open-ended",))
    bar = _SAME if backing else _SAME_BY_WORDING
    agree = True if total >= bar else False if total <= _OTHER else None
    speaking = [s for s in signals if agree is None or (s.weight > 0) == agree]
    ranked = sorted(speaking, key=lambda signal: -abs(signal.weight))
    sure = 1 / (1 + exp(-abs(total)))
    confidence = sure if agree is not None else max(0.0, 1 - abs(total))
    return Comparison(agree, round(confidence, 4), tuple(dict.fromkeys(signal.word for signal in ranked)))
