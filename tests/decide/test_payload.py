"""One instruction for two texts is two questions; one text under two wordings of an instruction is one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import GateRules
from semcache.decide.gate import vetoes
from semcache.decide.payload import find
from semcache.decide.text import read

ALL = GateRules()

REFUSED = [
    ("Translate to French: good morning", "Translate to French: good evening"),
    ("Translate 'cat' into German", "Translate 'dog' into German"),
    ("Summarize this text:\nCats sleep a lot.", "Summarize this text:\nDogs bark a lot."),
    ("Classify the sentiment: I love it", "Classify the sentiment: I bought it"),
    ("Fix the grammar: \"He go to school\"", "Fix the grammar: \"She have a dog\""),
    ("Extract all names from <doc>Ann met Bob.</doc>", "Extract all names from <doc>Tom met Eve.</doc>"),
    ("Explain this code:\n```python\nprint(sum(range(3)))\n```", "Explain this code:\n```python\nprint(max(range(3)))\n```"),
    ("What does it do?\n```\nx = f(y)\n```", "What does it do?\n```\nx = g(y)\n```"),
    ("The shop sold tea and was closed by its owner last year.\nRewrite this in plain English", "The team won tea and was cheered by its owner last year.\nRewrite this in plain English"),
    ("Answer from this text: the river Elm is long and flows north to the sea.\nWhere does it flow?", "Answer from this text: the river Oak is long and flows south to the sea.\nWhere does it flow?"),
    ("把下面的句子翻译成英文：我喜欢苹果", "把下面的句子翻译成英文：我喜欢音乐"),
    ("总结下面的内容：今天公司开会讨论了预算", "总结下面的内容：昨天学校放假通知家长"),
    ("润色这句话：“他走的很快”", "润色这句话：“她唱的很好”"),
    ("判断情感：这家店不错", "判断情感：这家店一般"),
    ("请改写：\n春天来了，花开了。", "请改写：\n冬天来了，雪下了。"),
    ('Proofread """We was late.""" please', 'Proofread """They is early.""" please'),
]  # fmt: skip

PASSED = [
    ("Translate to French: good morning", "Please translate into French: Good morning!"),
    ("Translate 'cat' into German", 'translate "cat" into German'),
    ("Summarize this text:\nCats sleep a lot.", "Please summarise this text:\n\n  cats  sleep a lot"),
    ("Explain this code:\n```\nprint(1)\n```", "Explain this code: ```\nprint(1)\n```"),
    ("Quick question: how do I reset my password?", "How do I reset my password?"),
    ("Hi there:\nhow do I reset my password?", "how do I reset my password?"),
    ("把下面的句子翻译成英文：我喜欢苹果", "请把下面的句子翻译成英文： 我喜欢苹果。"),
    ("What's the fee? I need it today:)", "What is the fee?"),
]

HEAD = (
    "You will get a contract. Say which clauses are unusual, in plain words and in the order in which they stand. "
    * 3
)


@pytest.mark.parametrize(("one", "other"), REFUSED)
def test_another_text_to_work_on_is_refused(one: str, other: str) -> None:
    assert "payload" in vetoes(one, other, ALL)
    assert "payload" in vetoes(other, one, ALL)


@pytest.mark.parametrize(("one", "other"), PASSED)
def test_the_same_text_passes(one: str, other: str) -> None:
    assert vetoes(one, other, ALL) == ()
    assert vetoes(other, one, ALL) == ()


@pytest.mark.parametrize("size", [60, 200, 900, 1400])
def test_long_prompts_with_one_head_never_meet(size: int) -> None:
    """Two prompts of 8,000 characters, alike up to one word in the middle or at the end."""
    words = ["clause", "tenant", "rent", "roof", "garden", "notice", "month", "repair"] * size
    words = words[:size]
    for place in (0, size // 2, size - 1):
        changed = [*words[:place], "ladder", *words[place + 1 :]]
        one, other = HEAD + " ".join(words), HEAD + " ".join(changed)
        assert {"long", "unread"} & set(vetoes(one, other, ALL))
        assert {"long", "unread"} & set(vetoes(" ".join(words) + HEAD, " ".join(changed) + HEAD, ALL))


def test_long_chinese_prompts_with_one_head_never_meet() -> None:
    head = "请阅读下面的合同并指出其中不常见的条款，按照原文顺序说明理由。" * 6
    for size in (80, 500, 2000):
        one, other = head + "租客按月付款" * size + "甲方负责", head + "租客按月付款" * size + "乙方负责"
        assert vetoes(one, other, ALL)


def test_fillers_and_spelling_do_not_part_long_texts() -> None:
    text = (
        "The roof of the garden house leaks and the landlord refuses every repair although notice went out "
        * 5
    )
    assert vetoes(text, "Hello, please: " + text.upper() + " thanks", ALL) == ()


@given(
    st.sampled_from(["Translate: ", "Summarize this: ", "翻译：", "Rewrite:\n", "Explain:\n```\n"]),
    st.text(min_size=1, max_size=60),
    st.text(min_size=1, max_size=60),
)
@settings(max_examples=200, deadline=None)
def test_different_letters_never_share_an_instruction(head: str, one: str, other: str) -> None:
    left, right = find(read(head + one)), find(read(head + other))
    if left is not None and right is not None and left.letters != right.letters:
        assert vetoes(head + one, head + other, ALL)
    assert vetoes(head + one, head + one, ALL) == ()


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_a_payload_lies_within_the_text(text: str) -> None:
    seen = read(text)
    found = find(seen)
    assert found is None or (0 <= found.start < found.end <= len(seen.head) and found.letters)


@pytest.mark.parametrize(
    "text",
    ["and in Canada?", "what about the second one?", "yes please", "那儿童呢", "Is it safe?", "why?", "tell me more", "in French",
     "另外一个呢", "它安全吗", "shorter please", "or the other one", "继续"],
)  # fmt: skip
def test_what_needs_the_words_before_it_matches_nothing(text: str) -> None:
    for other in ("How do I move to Canada?", text + " now"):
        assert "fragment" in vetoes(text, other, ALL)
        assert "fragment" in vetoes(other, text, ALL)
    assert vetoes(text, text, ALL) == ()


@pytest.mark.parametrize(
    "text",
    ["weather Paris", "And how do I reset my password?", "best pizza in London", "What time is it?", "怎么退款", "Is water wet?",
     "他汀类药物有什么副作用", "so what is inflation", "iPhone 15 price", "学校放假吗", "to be or not to be meaning"],
)  # fmt: skip
def test_short_questions_of_their_own_match(text: str) -> None:
    assert "fragment" not in vetoes(text, text + " please tell", ALL)
