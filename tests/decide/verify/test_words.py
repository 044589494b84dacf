"""Texts as the verifier compares them: English words, Chinese runs cut, both in one text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.verify.words import MAX_WORDS, Words, words_of

HAN = frozenset(("修改", "收货", "地址", "收货地址", "密码", "我们", "如何", "怎么"))


def read(text: str) -> Words:
    return words_of(text, HAN, 4)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("How do I reset my password?", "how do i reset my password"),
        ("Don't cancel it", "do not cancel it"),
        ("What's 12.5 % of $40?", "what is 12.5 % of $ 40"),
        ("怎么修改收货地址？", "怎么 修改 收货地址"),
        ("怎麼修改收貨地址?", "怎么 修改 收货地址"),
        ("修改地址密", "修改 地址 密"),
        ("请修改Python密码", "请 修改 python 密码"),
        ("修改，地址", "修改 地址"),
        ("", ""),
        (" \n?!", ""),
    ],
)
def test_forms(text: str, forms: str) -> None:
    assert read(text).forms == tuple(forms.split())


def test_the_longest_known_word_is_taken_from_the_left() -> None:
    assert read("收货地址").forms == ("收货地址",)
    assert words_of("收货地址", HAN, 2).forms == ("收货", "地址")
    assert words_of("收货地址", frozenset(), 4).forms == ("收", "货", "地", "址")


def test_what_carries_content() -> None:
    found = read("How do I reset my passwords?")
    assert [form for form, carries in zip(found.forms, found.content, strict=True) if carries] == [
        "reset",
        "passwords",
    ]
    assert read("怎么修改密码").content == (False, True, True)


def test_stems_make_forms_of_a_word_equal() -> None:
    assert read("passwords").stems == read("password").stems
    assert read("密码").stems == ("密码",)


def test_names_are_written_with_a_capital_inside_a_sentence() -> None:
    assert read("When does Berlin vote? Munich does.").named == {"berlin"}
    assert read("berlin").named == frozenset()
    assert read("如何修改").named == frozenset()


def test_han_is_noticed() -> None:
    assert read("怎么 reset").has_han
    assert not read("reset").has_han


def test_a_text_of_more_words_than_are_compared_is_not_whole() -> None:
    inside, beyond = read("word " * (MAX_WORDS - 1)), read("word " * (MAX_WORDS + 1))
    assert inside.whole
    assert not beyond.whole
    assert len(beyond.forms) == MAX_WORDS
    assert not read("a. " * 40_000).whole


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = read(text)
    assert len(found.forms) == len(found.stems) == len(found.content)
    assert all(found.forms)


def test_long_runs_take_linear_time() -> None:
    began = time.process_time()
    read("货" * 30_000)
    assert time.process_time() - began < 1.0
