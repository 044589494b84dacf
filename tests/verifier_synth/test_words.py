"""Labels that went wrong once when rows were read: words that must not be exchanged, traps that nobody sees."""

from __future__ import annotations

import random
import sys
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.verifier.synth.languages import chinese, english  # noqa: E402
from scripts.verifier.synth.loading import groups  # noqa: E402
from scripts.verifier.synth.words import WordIndex, put  # noqa: E402


@lru_cache(maxsize=4)
def index(name: str) -> WordIndex:
    return WordIndex(groups(f"{name}.txt"), spaced=name.endswith("en"))


def turned(name: str, kind: str, text: str) -> set[str]:
    return {put(text, c.old, c.new) for c in index(name).changes(kind, text)}


@pytest.mark.parametrize(
    ("name", "kind", "text", "never"),
    [
        ("same_en", "noun", "on a public holiday", "on a public vacation"),
        ("same_en", "noun", "my right ear", "my correct ear"),
        ("same_en", "noun", "a scheduled job", "a scheduled position"),
        ("same_en", "noun", "a Git branch", "a Git local office"),
        ("same_en", "noun", "a small claim", "a little claim"),
        ("same_en", "noun", "child benefit", "child advantage"),
        ("same_en", "noun", "20 yards", "20 gardens"),
        ("same_en", "noun", "a doctor's note", "a physician's note"),
        ("same_en", "noun", "a film negative", "a movie negative"),
        ("same_en", "noun", "a blog post", "a blog mail"),
        ("same_en", "verb", "promote", "advertise"),
        ("same_en", "verb", "leave", "set off"),
        ("same_en", "verb", "hire", "rent"),
        ("same_zh", "noun", "糖尿病人", "糖尿患者"),
        ("same_zh", "noun", "痛风病人", "疼风病人"),
        ("other_zh", "noun", "葡萄牙语", "蓝莓牙语"),
        ("other_zh", "noun", "糖尿病", "盐尿病"),
    ],
)
def test_words_in_a_fixed_expression_stay(name: str, kind: str, text: str, never: str) -> None:
    assert never not in turned(name, kind, text)


@pytest.mark.parametrize(
    ("name", "kind", "text", "wanted"),
    [
        ("same_en", "noun", "two parcels", "two packages"),
        ("same_en", "noun", "my second-hand sofa", "my second-hand couch"),
        ("same_en", "verb", "set up", "configure"),
        ("other_en", "noun", "my credit card", "my debit card"),
        ("other_en", "noun", "two dogs", "two cats"),
        ("other_en", "verb", "deposit", "withdraw"),
        ("same_zh", "noun", "在手机上", "用手机"),
        ("other_zh", "noun", "饭前", "饭后"),
    ],
)
def test_words_are_exchanged_where_they_fit(name: str, kind: str, text: str, wanted: str) -> None:
    assert wanted in turned(name, kind, text)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_changed_slot_is_always_part_of_the_question(lang: str) -> None:
    """The class "formula" does not name the amount, so its amount cannot be what makes two questions differ."""
    maker = english(None) if lang == "en" else chinese()
    word = "formula" if lang == "en" else "公式"
    numbers = [p for p in maker.pairs(random.Random(8), 1500) if p.kind == "number"]
    assert numbers
    assert not [p for p in numbers if word in p.a and word in p.b]
