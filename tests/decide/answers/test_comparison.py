"""Two answers to one question: right answers in other words agree, other facts are seen, the rest is left open.

The pairs were written for this; `sim` is the likeness of both answers by the bundled encoders. The rules
were made on `development`; each other file was run once when the rules stood, and then kinds of faults
were mended that it showed (ranges, asides, long texts, roundings, powers). On first sight 8 of their 92
right answers were called wrong, and one of their 56 different ones right.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.answers import reading
from semcache.decide.answers.comparison import compare

HERE = Path(__file__).parent
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def confusion(name: str, *, alike: bool) -> Counter[tuple[bool | None, bool | None]]:
    found: Counter[tuple[bool | None, bool | None]] = Counter()
    for row in rows(name):
        verdict = compare(row["q"], row["a"], row["b"], row["sim"] if alike else None)
        found[row["same"], verdict.agree] += 1
    return found


@pytest.mark.parametrize("alike", [True, False])
def test_confusion(alike: bool) -> None:
    """At most one of a hundred decided labels is wrong, and most pairs are decided."""
    total: Counter[tuple[bool | None, bool | None]] = Counter()
    for name in ("development", "held_out", "verbose", "fresh"):
        total += confusion(name, alike=alike)
    wrong = total[True, False] + total[False, True]
    decided = wrong + total[True, True] + total[False, False]
    assert wrong <= 3
    assert decided >= (200 if alike else 175)
    assert total[False, False] >= 92
    assert total[None, True] == total[None, False] == 0


@pytest.mark.parametrize("row", rows("development"), ids=lambda row: f"{row['domain']}-{row['q'][:24]}")
def test_the_order_of_the_two_does_not_matter(row: Row) -> None:
    one = compare(row["q"], row["a"], row["b"], row["sim"])
    other = compare(row["q"], row["b"], row["a"], row["sim"])
    assert one == other


@pytest.mark.parametrize("row", rows("verbose"), ids=lambda row: row["q"][:24])
def test_an_answer_agrees_with_itself(row: Row) -> None:
    assert compare(row["q"], row["a"], row["a"]).agree is True
    assert compare(row["q"], row["b"], f"  {row['b']}\n\n").agree is True


@pytest.mark.parametrize(
    ("question", "cached", "fresh", "word"),
    [
        ("How much?", "It costs $5.", "It costs $7.", "numbers"),
        ("Wie viel?", "Es sind 3 km.", "Es sind 4000 m.", "numbers"),
        ("Can I eat it?", "Yes, you can.", "No, you cannot.", "polarity"),
        ("可以吃吗？", "可以，没问题。", "不可以，有毒。", "polarity"),
        ("How do I do it?", "Sorry, I can't help with that.", "Press the red button.", "refusal"),
        ("What is it?", "It is a kind of tree that grows in the north.", "这是一种生长在北方的树。", "language"),
        ("Where do I write to?", "Write to help@a.com", "Write to sales@b.com", "identifiers"),
        ("Who was it?", "It was Ada Lovelace.", "It was Grace Hopper.", "names"),
        ("How do I enable it?", "Enable it in the menu.", "Disable it in the menu.", "opposites"),
        ("Return JSON", '{"a": [1, 2], "b": null}', '{"a": [1, 3], "b": null}', "values"),
        ("How do I list files?", "Run `ls -l`.", "Run `dir /w`.", "code"),
    ],
)  # fmt: skip
def test_another_fact_is_named(question: str, cached: str, fresh: str, word: str) -> None:
    verdict = compare(question, cached, fresh)
    assert verdict.agree is False
    assert word in verdict.reasons
    assert 0.8 <= verdict.confidence <= 1.0


@pytest.mark.parametrize(
    ("question", "cached", "fresh"),
    [
        ("How far is it?", "It is 1.5 km.", "The distance is 1500 metres."),
        ("How long?", "About 90 minutes.", "It takes 1.5 hours."),
        ("How hot?", "Cook it at 350 °F.", "Cook it at 177 °C (350 °F)."),
        ("多少钱？", "一共三百元。", "总共300元。"),
        ("Return JSON", '{"a": 1, "confidence": 0.91}', '```json\n{"confidence": 0.88, "a": 1}\n```'),
        ("Who was it?", "Sorry, I can't help with that.", "I cannot help with this request."),
        ("Answer?", "42", "**42**"),
    ],
)
def test_other_words_for_the_same_agree(question: str, cached: str, fresh: str) -> None:
    assert compare(question, cached, fresh).agree is True


@pytest.mark.parametrize(("cached", "fresh"), [("", "x"), ("x", ""), ("", ""), ("   ", "\n")])
def test_of_nothing_nothing_can_be_told(cached: str, fresh: str) -> None:
    assert compare("What?", cached, fresh).agree is None


def test_a_poem_is_never_another_fact() -> None:
    verdict = compare("Write a poem about rain.", "Drops on the pane in 1999.", "Clouds of 2024 are weeping.")
    assert (verdict.agree, verdict.reasons) == (None, ("open-ended",))


def test_likeness_helps_wording_and_excuses_no_fact() -> None:
    question = "What is it made of?"
    vague = ("Mostly out of wood from old trees.", "It's largely timber, taken off ancient trunks.")
    assert compare(question, *vague).agree is None
    assert compare(question, "It weighs 5 kg.", "It weighs 9 kg.", similarity=0.99).agree is False


@given(st.text(max_size=80), st.text(max_size=200), st.text(max_size=200), st.none() | st.floats(-1, 1))
def test_any_text_has_a_verdict(question: str, cached: str, fresh: str, similarity: float | None) -> None:
    verdict = compare(question, cached, fresh, similarity)
    assert 0.0 <= verdict.confidence <= 1.0
    assert verdict == compare(question, fresh, cached, similarity)
    if cached == fresh and cached.strip():
        assert verdict.agree is True


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda kids: st.lists(kids, max_size=4) | st.dictionaries(st.text(max_size=4), kids, max_size=4),
        max_leaves=12,
    )
)
def test_data_agrees_with_itself_however_it_is_written(value: Any) -> None:
    if isinstance(value, dict | list):
        plain, fenced = json.dumps(value), f"```json\n{json.dumps(value, indent=2)}\n```"
        assert compare("Give JSON", plain, fenced).agree in (True, None)


@pytest.mark.parametrize(
    "evil",
    ["(" * 20_000, "1-" * 10_000, "`" * 20_000, "```" * 6_000, "[](" * 6_000, "不" * 20_000, "1 or " * 4_000],
)
def test_hostile_texts_cost_little(evil: str) -> None:
    begun = time.process_time()
    compare(evil, evil + "1", evil + "2")
    assert time.process_time() - begun < 2.0


def test_what_is_remembered_of_an_answer_is_no_longer_than_what_is_read_of_it() -> None:
    read = "word " * (reading.MAX_CHARACTERS // 5)
    assert reading.read_answer(read + "x" * 1_000_000) is reading.read_answer(read + "y" * 1_000_000)
