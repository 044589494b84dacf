"""What is somebody's own business, in questions and answers, and what is everybody's."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.identifiers import Sign, is_card, is_iban, is_identity
from semcache.decide.personal import LONGEST, is_personal, signs_of_answer, signs_of_question

ASKED = [
    ("My name is Anna Schmidt, can I return the shoes?", "name"),
    ("my name is José and I need a refund", "name"),
    ("My first name: Li, how do I change it?", "name"),
    ("My wife Maria lost her card, what now?", "name"),
    ("My manager, Dr. Okafor, has to sign this. Where?", "name"),
    ("My son is called Tim. Which school?", "name"),
    ("My daughter's name is Ella, is she insured?", "name"),
    ("Hi, I'm Brian, I forgot my password", "name"),
    ("Hello there! This is Priya Natarajan from Leeds, where is my parcel?", "name"),
    ("This is Tom speaking, please call back", "name"),
    ("Please cancel the contract.\nKind regards,\nAnna Schmidt", "name"),
    ("我叫王伟，怎么退货？", "name"),
    ("我叫小明今年8岁", "name"),
    ("我的女儿叫李娜，能参保吗", "name"),
    ("姓名：陈晓东，请帮我查一下", "name"),
    ("我姓欧，不对，我姓赵。", "name"),
    ("Send it to anna.schmidt@gmail.com please", "mail"),
    ("邮箱wangwei88@163.com，收不到验证码", "mail"),
    ("我的邮箱是 wangwei88@163.com，收不到验证码", "mail"),
    ("Call me at (415) 867-4321 about the loan", "phone"),
    ("reach me under +49 151 2345 6789", "phone"),
    ("my mobile number is 07700 900 123 4", "phone"),
    ("我的手机号是13912345678，为什么登录不了", "phone"),
    ("联系139-1234-5678可以吗", "phone"),
    ("Why was my card 4539 1488 0343 6467 declined?", "card"),
    ("My card ending in 4821 does not work", "card"),
    ("我尾号为6688的卡被锁了", "card"),
    ("Is DE75512108001245126199 a valid account of mine?", "account"),
    ("transfer from account number 88223344 failed", "account"),
    ("我的银行卡号是6222021234567890，收不到钱", "account"),
    ("我的卡4539148803436467刷不了", "card"),
    ("insurance number QQ 12 34 56 C is mine", "id"),
    ("my SSN 219-09-9999 was leaked", "id"),
    ("My passport number is C01X00T47, is it expired?", "id"),
    ("我的身份证号是11010519900307888X吗", "id"),
    ("车牌号京A88F21可以进五环吗", "id"),
    ("Where is my order 4471182?", "record"),
    ("status of order number AB-20991", "record"),
    ("my medical policy number is HX99812", "record"),
    ("订单号 202405138812 什么时候发货", "record"),
    ("I live at 12 Baker Street, which council is that?", "place"),
    ("My shipping address is Elm Road 7, Boston", "place"),
    ("我住在朝阳区建国路88号，多少钱打车", "place"),
    ("my gmail password is hunter22, is it safe?", "secret"),
    ("我的支付密码是abc12345，安全吗", "secret"),
]

TOLD = [
    ("Dear Mr. Smith,\n\nyour contract ends in May.", "greeting"),
    ("Hi Anna! Your refund is on its way.", "greeting"),
    ("**Hello María José,** of course.", "greeting"),
    ("Welcome back, Olumide! How can I help?", "greeting"),
    ("尊敬的王先生，您好！", "greeting"),
    ("李女士您好，已经为您办理。", "greeting"),
    ("亲爱的小明，生日快乐", "greeting"),
    ("Your current balance is $1,204.50.", "told"),
    ("Good news: your appointment has been moved to Tuesday, 4 June.", "told"),
    ("Your order was shipped on 3 May and arrives soon.", "told"),
    ("您的账户余额为3200元。", "told"),
    ("您的预约已改到6月4日", "told"),
    ("The invoice went to m.keller@web.de.", "mail"),
    ("Your phone number is 415 867 4321, right?", "phone"),
    ("Your booking number is QX7719K.", "record"),
    ("The card ending in 4821 was charged.", "card"),
]

FOR_ALL = [
    "How do I cancel my order?",
    "Where is my parcel?",
    "What is my balance?",
    "my card was declined, why?",
    "my name is spelled wrong on the ticket",
    "My name is not on the list",
    "Who was Marie Curie?",
    "Hi Claude, what is the capital of Peru?",
    "Hey Siri, set a timer",
    "Hi, I'm German, do I need a visa?",
    "Hello, I am Indian and want to study in Canada",
    "Hi, I'm Vegetarian, what can I eat?",
    "My wife is Japanese, can she work here?",
    "My doctor Monday morning or Tuesday?",
    "How do I reach support@acme.com?",
    "Use john.doe@example.com as the address",
    "Is 1-800-273-8255 free of charge?",
    "call (888) 555-0123 now",
    "What does error 4539148803436467000111 mean",
    "compute 4539148803436467 * 2",
    "use the test card 4242 4242 4242 4242",
    "What is 123-45-6789 a symbol of?",
    "The IBAN GB29 NWBK 6016 1331 9268 19 is an example",
    "What did executive order no. 13769 say?",
    "In my order 2023 I paid more",
    "what is the company policy 2024 on travel",
    "3.14159265358979 is pi",
    "My passport is 9 years old",
    "What is the tax for 100000 dollars in 2024",
    "My password is incorrect, what now?",
    "my address is wrong on the bill",
    "I live on a farm, can I keep pigs?",
    "Write a python script that greets Anna",
    "我叫了外卖还没到",
    "我叫什么名字好",
    "我朋友叫我去打球",
    "我是白领，怎么减肥",
    "我的密码是错的怎么办",
    "怎么修改我的手机号",
    "身份证号有几位",
    "我住在北京，天气怎么样",
    "订单什么时候发货",
    "拨打400-810-1234或13800138000",
]

ANSWERS_FOR_ALL = [
    "Dear Customer,\nplease restart the router.",
    "Hi there! Sure.",
    "Hello World! is the first program.",
    "Dear Hiring Manager,\nI am writing to apply.",
    "Dear [Name],\nthank you for your interest.",
    "Hello! I am Claude, an assistant.",
    "My name is Claude and I help you.",
    "Yes, Paris. It is the capital.",
    "Thank you for asking! The Louvre is in Paris.",
    "Call the hotel at (212) 736-5000 or +33 1 42 68 53 00.",
    "If your balance is $50, you pay a fee.",
    "When your order has been shipped on a Friday, wait 3 days.",
    "Your refund takes 5 to 7 days.",
    "Your salary should be paid by the 30th.",
    "Write to support@acme.com or privacy@acme.com.",
    "尊敬的用户，您好！请重启。",
    "各位同学您好",
    "您的订单会在3天内发货",
    "如果您的余额为100元，则无法购买",
    "安全你好",
    "您的余额可以在首页查看",
]


@pytest.mark.parametrize(("text", "sign"), ASKED)
def test_questions_of_one_person(text: str, sign: str) -> None:
    assert Sign(sign) in signs_of_question(text)


@pytest.mark.parametrize(("text", "sign"), TOLD)
def test_answers_for_one_person(text: str, sign: str) -> None:
    assert Sign(sign) in signs_of_answer(text)


@pytest.mark.parametrize("text", FOR_ALL)
def test_questions_of_everybody(text: str) -> None:
    assert signs_of_question(text) == frozenset()


@pytest.mark.parametrize("text", ANSWERS_FOR_ALL)
def test_answers_for_everybody(text: str) -> None:
    assert signs_of_answer(text) == frozenset()


def test_one_of_both_is_enough() -> None:
    assert is_personal("How much do I have?", "Your balance is $12.")
    assert is_personal("My name is Anna. How late is it?", "Ten past nine.")
    assert not is_personal("How late is it?", "Ten past nine.")


def test_check_digits() -> None:
    assert is_card("4539148803436467")
    assert not is_card("4539148803436468")
    assert not is_card("4444444444444448")
    assert not is_card("9539148803436467")


def luhn(body: str) -> str:
    """Give the number with its check digit."""
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(body))]
    return body + str(-sum(value - 9 if value > 9 else value for value in doubled) % 10)


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ("453914880343", True),
        ("453914880343646", True),
        ("453914880343646712", True),
        ("37828224631000", True),
        ("3056930902590", True),
        ("3852000002323", True),
        ("353011133330000", True),
        ("555512345678901", True),
        ("222300312200322", True),
        ("220013883948573", True),
        ("601111111111111", True),
        ("621094123456789012", True),
        ("676770123456789", True),
        ("4114756123987", False),  # as long as a clock's nanoseconds
        ("5014756123987", False),
        ("41147561239871", False),
        ("511475612398", False),
        ("170000000000000", False),
        ("6114756123987", False),
    ],
)
def test_cards_have_the_lengths_of_their_schemes(body: str, is_one: bool) -> None:
    assert is_card(luhn(body)) is is_one
    assert is_iban("DE75512108001245126199")
    assert not is_iban("DE75512108001245126198")
    assert not is_iban("DE75")
    assert is_identity("11010519491231002X")
    assert not is_identity("110105194912310021")
    assert not is_identity("1101")


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    for signs in (signs_of_question(text), signs_of_answer(text)):
        assert all(isinstance(sign, Sign) for sign in signs)


@pytest.mark.parametrize(
    "piece",
    ["1", "1 ", "4539 1488 ", "a.", "a@", "a@b.", "my ", "my wife ", "your balance ", "+1 ", "(212) ", "我的", "我住在", "order ", "DE75 ", "Dear Anna ", "your order has been ", "*", "1-", "x"],
)  # fmt: skip
def test_no_text_is_slow(piece: str) -> None:
    text = (piece * LONGEST)[: LONGEST * 2]
    began = time.process_time()
    signs_of_question(text)
    signs_of_answer(text)
    assert time.process_time() - began < 0.5
