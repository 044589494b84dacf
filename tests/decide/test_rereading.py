"""What is remembered of texts is bounded by their length, too."""

from __future__ import annotations

from semcache.decide.context.saying import saying
from semcache.decide.context.words import base, spans, spoken, units, words_of
from semcache.decide.features import features
from semcache.decide.names import stem as stem_of_name
from semcache.decide.order import stem
from semcache.decide.rereading import FEW, LONGEST, LONGEST_WORD, MANY, SHORT, Remembered, remembered


def counting() -> tuple[Remembered[[str], list[str]], list[int]]:
    read: list[int] = []

    @remembered(len)
    def reading(text: str) -> list[str]:
        read.append(len(text))
        return [text]

    return reading, read


def test_equal_texts_are_read_once() -> None:
    reading, read = counting()
    for length in (1, SHORT, SHORT + 1, LONGEST):
        assert reading("a" * length) is reading("a" * length)
    assert read == [1, SHORT, SHORT + 1, LONGEST]
    reading.forget()
    reading("a")
    assert read[4:] == [1]


def test_long_texts_are_read_each_time() -> None:
    reading, read = counting()
    assert reading("a" * (LONGEST + 1)) == reading("a" * (LONGEST + 1))
    assert read == [LONGEST + 1] * 2


def test_of_longer_ones_few_are_remembered_and_push_out_no_short_one() -> None:
    reading, read = counting()
    short = reading("short")
    for number in range(FEW + 1):
        reading(f"{number:0{SHORT + 1}}")
    assert len(read) == FEW + 2
    reading(f"{0:0{SHORT + 1}}")
    assert len(read) == FEW + 3
    assert reading("short") is short


def test_of_short_ones_many_are_remembered() -> None:
    reading, read = counting()
    for number in range(MANY):
        reading(str(number))
    assert reading("0") is not None
    reading("one more")
    reading("1")
    assert len(read) == MANY + 2


def test_what_reads_whole_texts_remembers_by_length() -> None:
    for one in (features, words_of, spoken, units, spans, saying):
        assert isinstance(one, Remembered)


def test_a_word_beyond_all_words_has_no_other_form() -> None:
    for form in (stem, stem_of_name, base):
        assert form("cities") != "cities"
        assert form("s" * LONGEST_WORD + "ing") == "s" * LONGEST_WORD + "ing"
