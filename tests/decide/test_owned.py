"""Whose question is it: the asker's own, or everybody's?"""

from __future__ import annotations

import time

import pytest

from semcache.decide.owned import LONGEST, asks_after_own
from semcache.decide.personal import is_told_to_one

OWN = [
    "Where is my order?",
    "hi, where's my parcel",
    "Where has my package got to?",
    "What is my current account balance?",
    "how much do i have left on my gift card",
    "When will my refund arrive?",
    "Has my order been shipped?",
    "Is my appointment on Monday?",
    "Please show me my last three transactions.",
    "Can you check the status of my application?",
    "how many vacation days do i have left",
    "what do i owe for this month",
    "我的订单到哪里了？",
    "帮我查一下我的余额",
    "我的退款什么时候到账？",
    "我还剩多少年假天",
]
EVERYBODYS = [
    "How do I cancel my order?",
    "How can I track my parcel?",
    "Can I change the address of my order?",
    "Why was my card declined?",
    "What happens to my subscription when I move abroad?",
    "How long does a refund take?",
    "Where can I see my balance?",
    "How many days do I have to return an order?",
    "How much do I pay for an extra seat?",
    "Is it safe to share my order number?",
    "What is an account balance?",
    "My order arrived broken. What are the rules for returns?",
    "怎么取消我的订单？",
    "如何查询余额？",
    "退款一般要多久？",
]


@pytest.mark.parametrize("question", OWN)
def test_questions_after_ones_own(question: str) -> None:
    assert asks_after_own(question)
    assert asks_after_own(question.upper())


@pytest.mark.parametrize("question", EVERYBODYS)
def test_questions_of_everybody(question: str) -> None:
    assert not asks_after_own(question)


@pytest.mark.parametrize(
    "piece", ["what ", "my ", "show me my a b c ", "how many my do i ", "我的", "查我的订单", "where is "]
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    text = (piece * LONGEST)[:LONGEST]
    begun = time.perf_counter()
    for _ in range(20):
        asks_after_own(text)
    assert (time.perf_counter() - begun) / 20 < 0.02
    assert not asks_after_own("Where is my order? " * LONGEST)


@pytest.mark.parametrize(
    ("asked", "answer", "told"),
    [
        ("What is it?", "Your balance is $120.50.", True),
        ("What is it?", "If your balance is $120.50, you pay no fee.", False),
        ("What is it?", "Dear Anna, it is blue.", True),
        ("Write to Anna.", "Dear Anna, it is blue.", False),
        ("What is it?", "Dear customer, it is blue.", False),
        ("这是什么？", "尊敬的王先生，您好。", True),
        ("给王先生写封信。", "尊敬的王先生，您好。", False),
        ("What is it?", "It is blue.", False),
    ],
)
def test_answers_that_speak_to_one_person(asked: str, answer: str, told: bool) -> None:
    assert is_told_to_one(asked, answer) == told
