"""What every Verifier must do: run on the fake and on the shipped one."""

from __future__ import annotations

import statistics
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.decide.verify.verifier import open_verifier
from semcache.errors import EncoderError
from semcache.ports import Verifier
from tests.fakes.verifier import FakeVerifier

QUESTIONS = [
    "How do I reset my password?",
    "How can I change the address that my parcels are sent to?",
    "What is the maximum daily dose of paracetamol for an adult?",
    "Which documents do I need to register a car in Bavaria?",
    "Why is my internet connection slower in the evening than in the morning?",
    "怎么修改收货地址？",
    "对乙酰氨基酚成人一天最多吃多少？",
    "请问 Python 里 list 怎么排序？",
]


@pytest.fixture(scope="module", params=["fake", "shipped"])
def verifier(request: pytest.FixtureRequest) -> Verifier:
    if request.param == "fake":
        return FakeVerifier()
    try:
        return open_verifier()
    except EncoderError as error:
        pytest.skip(f"no weights: {error}")


def test_the_score_is_a_probability(verifier: Verifier) -> None:
    for asked in QUESTIONS:
        for stored in QUESTIONS:
            score = verifier.score(asked, stored, 0.9)
            assert score is not None
            assert 0.0 <= score <= 1.0


def test_which_is_asked_and_which_is_stored_does_not_matter(verifier: Verifier) -> None:
    for asked in QUESTIONS:
        for stored in QUESTIONS:
            assert verifier.score(asked, stored, 0.9) == verifier.score(stored, asked, 0.9)


def test_the_same_question_always_gets_the_same_score(verifier: Verifier) -> None:
    assert verifier.score(*QUESTIONS[:2], 0.8) == verifier.score(*QUESTIONS[:2], 0.8)


@pytest.mark.parametrize("question", [*QUESTIONS[:5], QUESTIONS[7]])
def test_letter_case_costs_nothing(verifier: Verifier, question: str) -> None:
    score = verifier.score(question, question.lower(), 1.0)
    assert score is not None
    assert score > 0.9


def test_other_questions_score_lower_than_the_same_one(verifier: Verifier) -> None:
    same = verifier.score(QUESTIONS[0], QUESTIONS[0].lower(), 0.95)
    other = verifier.score(QUESTIONS[0], QUESTIONS[4], 0.95)
    assert same is not None
    assert other is not None
    assert other < same


@pytest.mark.parametrize(
    "text", ["word " * 400, "请把这段话翻译成英文" * 60, "a b. " * 20_000, "x1 " * 100_000]
)
def test_it_cannot_tell_about_texts_that_it_does_not_read_whole(verifier: Verifier, text: str) -> None:
    if isinstance(verifier, FakeVerifier) and " " not in text:
        pytest.skip("the fake counts blanks")
    assert verifier.score(text, QUESTIONS[0], 0.99) is None
    assert verifier.score(QUESTIONS[0], text, 0.99) is None
    assert verifier.score(text, text, 1.0) is None


@pytest.mark.parametrize("nothing", ["", " \n\t", "\u3000"])
def test_it_cannot_tell_about_nothing(verifier: Verifier, nothing: str) -> None:
    assert verifier.score(nothing, QUESTIONS[0], 0.99) is None
    assert verifier.score(nothing, nothing, 1.0) is None


@pytest.mark.parametrize("similarity", [float("nan"), float("inf"), float("-inf")])
def test_it_cannot_tell_from_a_similarity_that_is_no_number(verifier: Verifier, similarity: float) -> None:
    assert verifier.score(*QUESTIONS[:2], similarity) is None


any_text = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=()), max_size=60),
    st.text(alphabet="ab 1.不了吗怎么'’-İßﬁ①½$%°\u0301\u200d\ud800\n", max_size=40),
    st.sampled_from(QUESTIONS),
)


@given(asked=any_text, stored=any_text, similarity=st.floats(-1, 1))
@settings(max_examples=300, deadline=None)
def test_any_two_texts_have_a_score_or_none_and_it_is_symmetric(
    verifier: Verifier, asked: str, stored: str, similarity: float
) -> None:
    score = verifier.score(asked, stored, similarity)
    assert score is None or 0.0 <= score <= 1.0
    assert score == verifier.score(stored, asked, similarity)


def test_ordinary_questions_take_less_than_three_milliseconds(verifier: Verifier) -> None:
    """CPU time of pairs never seen before; words may be known, as they are in service."""
    verifier.score(*QUESTIONS[:2], 0.9)
    taken = []
    for number in range(5):
        for asked in QUESTIONS:
            for stored in QUESTIONS:
                began = time.process_time()
                verifier.score(f"{asked} {number}", f"{stored} {number}", 0.9)
                taken.append(time.process_time() - began)
    assert statistics.median(taken) < 0.003
