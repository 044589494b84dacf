"""What holds for every text: symmetry, no objection to itself, no exception, bounded work."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import GateRules
from semcache.decide.features import extract, features
from semcache.decide.gate import Comparison, compare, vetoes
from semcache.decide.reasons import Veto

ALL = GateRules()

pieces = st.sampled_from(
    [
        "How", "do", "I", "not", "don't", "can't", "3", "3.11", "1,000", "½", "$", "5 mg", "ml", "°C", "May", "Monday", "from", "to",
        "Paris", "NBA", "`x_y`", "'quoted", "\"", "?", ".", "\n", "不", "能不能", "一二三", "百分之五", "下午三点", "从", "到", "北京",
        "被", "換", "半", "点", "第", "(", ")", "half past", "2024-13-45", "99:99", "12:", "٣", "²", "Ⅷ", "𝟗", "\u0301", "\u202e",
        "\ud800", "İ", "ß", "ﷺ", "–", "twenty", "hundred", "and", "one", "turn", "off", "is", "by", "sold",
    ]
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=80),
    st.lists(pieces, max_size=14).map(" ".join),
    st.lists(pieces, max_size=14).map("".join),
)


@given(texts, texts)
@settings(max_examples=300, deadline=None)
def test_symmetric_total_and_only_category_words(one: str, other: str) -> None:
    found = vetoes(one, other, ALL)
    assert found == vetoes(other, one, ALL)
    assert set(found) <= {veto.value for veto in Veto}


@given(texts)
@settings(max_examples=300, deadline=None)
def test_never_objects_to_the_same_text(text: str) -> None:
    assert vetoes(text, text, ALL) == ()
    assert vetoes(text, f"  {text}\n", ALL) == ()


words = st.lists(
    st.sampled_from(
        [
            "how",
            "do",
            "i",
            "reset",
            "my",
            "password",
            "cancel",
            "order",
            "card",
            "before",
            "after",
            "travel",
            "not",
            "refund",
            "3",
            "twenty",
            "不",
            "怎么",
            "退款",
        ]
    ),
    min_size=1,
    max_size=10,
)


@given(words, st.data())
@settings(deadline=None)
def test_case_blanks_punctuation_and_contractions_change_nothing(
    plain: list[str], data: st.DataObject
) -> None:
    gaps = st.sampled_from([" ", "  ", "\t", ", ", "; ", ". ", "\n"])
    other = "".join(word + data.draw(gaps) for word in plain)
    one = " ".join(plain)
    assert vetoes(one, other, ALL) == ()
    assert (
        vetoes(one, one[0].upper() + one[1:] + data.draw(st.sampled_from(["", "?", "!", "...", "？"])), ALL)
        == ()
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I don't want it", "I do not want it"), ("I dont want it", "I don’t want it"), ("can't stop", "cannot stop"),
        ("What's up?", "what is up"), ("it won't start", "It will not start"), ("I'm here", "i am here"),
    ],
)  # fmt: skip
def test_contractions_are_spellings(one: str, other: str) -> None:
    assert vetoes(one, other, ALL) == ()


HOSTILE = {
    "letters": "a" * 1_000_000,
    "digits": "7" * 1_000_000,
    "numeral runs": "九" * 1_000_000,
    "combining marks": "a" + "\u0301\u0316" * 500_000,
    "quotes": "'" * 1_000_000,
    "backticks": "`a" * 500_000,
    "operators": "1+" * 500_000,
    "underscores": "a_" * 500_000,
    "dots": "a." * 500_000,
    "at signs": "a@" * 500_000,
    "parentheses": "(" * 1_000_000,
    "blanks": " " * 1_000_000,
    "expanding": "ﷺ" * 200_000,
    "negations": "not " * 250_000,
    "han negations": "不" * 1_000_000,
    "number words": "twenty " * 150_000,
    "swaps": "ab到" * 330_000,
    "surrogates": "\ud800" * 1_000_000,
    "https": "https://" * 125_000,
    "mixed": "How 5 mg 不 'x' A_b (May) " * 40_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_read_in_bounded_time(name: str) -> None:
    text = HOSTILE[name]
    started = time.perf_counter()
    found = extract(text)
    assert compare(found, found, ALL) == Comparison()
    assert time.perf_counter() - started < 6.0
    assert compare(found, features("How do I reset my password?"), ALL) == compare(
        features("How do I reset my password?"), found, ALL
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b no c ", "a b no "),
        ("a b no c ", "a b not"),
        ("no a no b ", "noano"),
        ("x without y ", "x with out "),
    ],
)
def test_denials_said_a_thousand_times_are_compared_in_bounded_time(one: str, other: str) -> None:
    denying, going_on = extract(one * 10_000), extract(other * 10_000)
    started = time.perf_counter()
    compare(denying, going_on, ALL)
    compare(going_on, denying, ALL)
    assert time.perf_counter() - started < 2.0


@pytest.mark.parametrize("piece", ["a ", "7", "九", "'x", "not ", "到ab", "`a", "A-"])
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    def cost(size: int) -> float:
        text = (piece * size)[:size]
        best = 9.0
        for _ in range(3):
            started = time.perf_counter()
            extract(text)
            best = min(best, time.perf_counter() - started)
        return best

    small, large = cost(40_000), cost(320_000)
    assert large < 8 * 4 * small + 0.05


def test_what_is_not_read_must_be_equal() -> None:
    """fc-035: a long common beginning says nothing about the end."""
    rules = "Follow the house rules of this company. " * 400
    toast, format_ = rules + "Draft a toast for a wedding.", rules + "Give the command that formats the disk."
    assert "unread" in vetoes(toast, format_, ALL)
    assert vetoes(toast, toast.upper(), ALL) == ()


def test_a_typical_pair_takes_a_fraction_of_a_millisecond() -> None:
    one, other = (
        "How do I reset the password of my account in 3 steps?",
        "How can I reset my account's password in 2 steps?",
    )
    vetoes(one, other, ALL)
    best = 9.0
    for _ in range(200):
        started = time.perf_counter()
        compare(extract(one), extract(other), ALL)
        best = min(best, time.perf_counter() - started)
    assert best < 0.002
