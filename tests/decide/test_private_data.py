"""What of an answer is one person's, kind by kind: found, and not found where it is everybody's; wherever in an answer it stands."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.decide.identifiers import Sign, is_iban
from semcache.decide.private_data import PIECE, pieces, shared_texts, texts_of, values
from semcache.decide.private_kinds import KINDS
from semcache.decide.private_numbers import is_french, is_german, is_italian, is_spanish
from tests.decide.build import request

_JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiI0ODE1MTYyMyJ9" + ".k5Rq0fJt8uVwYz1aKcQeZgHiJkLmNoPq"
_BEGIN = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo"

PRIVATE: list[tuple[str, str]] = [
    ("mail", "Please write to anna.schmidt@gmail.com about it."),
    ("mail", "邮箱是wangwei88@163.com。"),
    ("mail", "mailto:j.okafor%40proton.me"),
    ("mail", "jürgen@müller-bau.de"),
    ("mail", "a\u200bnna.schmidt@gmail.com"),
    ("mail", "anna&#64;posteo.de"),
    ("phone", "You can reach her at (415) 867-4321."),
    ("phone", "Ruf an: +49 151 2345 6789"),
    ("phone", "0049 30 2345 6789 ist die Nummer"),
    ("phone", "Mobil: 0151 23456789"),
    ("phone", "Il habite au 06 12 34 98 76."),
    ("phone", "his number, 07911 123 456, is on file"),
    ("phone", "手机号13912345678"),
    ("phone", "座机：010-87654321"),
    ("phone", "Phone: 4158674321"),
    ("phone", '{"phone": "4158674321"}'),
    ("card", "The card 4539 1488 0343 6467 was charged."),
    ("card", "卡号4539148803436467"),
    ("account", "Pay to DE75 5121 0800 1245 1261 99 today."),
    ("account", "Account number: 88223344"),
    ("account", "银行卡号：6222 0212 3456 7890"),
    ("id", "Her SSN is 219-09-8765."),
    ("id", "身份证号11010519900307803X"),
    ("id", "NI number AB 12 34 56 C"),
    ("id", "NIR 1 84 12 76 451 089 46"),
    ("id", "DNI 45678901G"),
    ("id", "Codice fiscale BNCMRA75C41F205O"),
    ("id", "Steuer-ID: 86095742719"),
    ("id", "passport number: C01X00T47"),
    ("secret", "key: sk-proj-" + "a8Fk29dLq0Zx7Vb3Nm5Rt1Ws"),
    ("secret", "AKIA" + "QX7ZB2M4N6P8R0TV"),
    ("secret", "ghp_" + "a8Fk29dLq0Zx7Vb3Nm5Rt1WsYu6Io4Pe2Qa9"),
    ("secret", _JWT),
    ("secret", _BEGIN),
    ("secret", "Your password is kT9!rw2Zp"),
    ("secret", "密码是Kt9rw2Zp"),
    ("secret", "postgres://app:v3ryLong9@db.internal/x"),
    ("secret", "Authorization: Bearer 9f8e7d6c5b4a39281706f5e4d3c2"),
    ("device", "Your IP address is 84.23.11.9."),
    ("device", "您的IP地址是84.23.11.9"),
]
PUBLIC: list[str] = [
    "",
    "Write to support@acme-shop.com, press-office@bbc.co.uk or kundenservice@firma.de.",
    "E-mail niddk@info.niddk.nih.gov for a leaflet.",
    "Use name@example.com or you@yourdomain.example.",
    "git clone git@github.com:org/repo.git",
    "Call 1-800-273-8255 or 0800 1111.",
    "Call +44 800 1111 or 400-820-8820.",
    "In films the number is (212) 555-0199, or 07700 900123.",
    "Test with 4242 4242 4242 4242.",
    "The IBAN of the example is GB82 WEST 1234 5698 7654 32.",
    "An SSN looks like 123-45-6789, an NI number like QQ123456C.",
    "Between 1990-2024 it rose by 12,345,678 to 1.234.567.890.",
    "ISBN 978-3-16-148410-0, version 10.0.19045, port 8080, 2024-05-13 10:22:31",
    "3.14159265358979323846 and 4539148803436468",
    "export API_KEY=your-api-key-here; password=<password>",
    "Set password: changeme123, token = ${TOKEN}, key AKIAIOSFODNN7EXAMPLE",
    "The password must have 8 characters. Your password is case-sensitive.",
    "http://user:password@example.com",
    "8.8.8.8 is a resolver, 192.168.1.1 your router. Your IP address is 192.168.1.7.",
    "MAC 00:1B:44:11:3A:B7 is a form of address.",
    "身份证号一共18位。密码是区分大小写的。",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "2+2=4 and 1 000 000 000 000 000 is a quadrillion",
    "@mention someone, a@b, x @ y",
]


def signs(text: str) -> set[str]:
    return {sign.value for piece in pieces([text]) for sign, _ in values(piece)}


@pytest.mark.parametrize(("sign", "text"), PRIVATE)
def test_what_is_one_persons_is_found(sign: str, text: str) -> None:
    assert sign in signs(text)


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_everybodys_is_not(text: str) -> None:
    assert signs(text) == set()


def test_every_kind_has_a_row_in_both_tables() -> None:
    assert {sign for sign, _ in PRIVATE} == {kind.sign.value for kind in KINDS}


def test_check_digits_of_states() -> None:
    assert is_french("184127645108946")
    assert not is_french("184127645108947")
    assert is_spanish("45678901G")
    assert is_spanish("X1234567L")
    assert not is_spanish("45678901A")
    assert is_italian("RSSMRA80A01H501U")
    assert not is_italian("RSSMRA80A01H501V")
    assert is_german("86095742719")
    assert not is_german("86095742718")


def answer(message: dict[str, Any], **more: Any) -> Completion:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}
    return Completion(json.dumps(body).encode(), None)


def of(completion: Completion) -> set[str]:
    return {sign.value for piece in pieces(texts_of(completion)) for sign, _ in values(piece)}


_MAIL = "anna.schmidt@gmail.com"
WHERE: list[Completion] = [
    answer({"content": f"Write to {_MAIL}"}),
    answer({"content": [{"type": "text", "text": _MAIL}]}),
    answer({"content": None, "reasoning_content": f"she is {_MAIL}"}),
    answer({"content": None, "tool_calls": [{"id": "c", "function": {"name": "send", "arguments": f'{{"to": "{_MAIL}"}}'}}]}),
    answer({"content": None, "tool_calls": [{"function": {"name": "send", "arguments": '{"to": "anna.schmidt\\u0040gmail.com"}'}}]}),
    answer({"content": None, "refusal": _MAIL}),
    Completion(json.dumps({"choices": [{"message": {"content": "x"}}, {"message": {"content": _MAIL}}]}).encode(), None),
    Completion(b"{}", None, native=json.dumps({"output": [{"content": [{"text": _MAIL}]}]}).encode()),
    Completion(
        b"{}",
        None,
        chunks=json.dumps(
            [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in ("anna.schm", "idt@gm", "ail.com")]
        ).encode(),
    ),
    Completion(f"no JSON: {_MAIL}".encode(), None),
    answer({"content": "x" * (PIECE - 5) + f" {_MAIL}"}),
]  # fmt: skip


@pytest.mark.parametrize("completion", WHERE)
def test_it_is_found_wherever_it_stands(completion: Completion) -> None:
    assert "mail" in of(completion)


def test_names_of_things_and_signatures_say_nothing() -> None:
    told = answer(
        {"content": "Yes."}, id="chatcmpl-4539148803436467", usage={"prompt_tokens": 4539148803436467}
    )
    assert of(told) == set()


def test_what_the_request_holds_for_everybody_is_known() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "call +49 151 2345 6789"}}]
    asked = request(system=f"Bookings go to {_MAIL}.", body={"tools": tools})
    known = {value for piece in pieces(shared_texts(asked)) for value in values(piece)}
    assert known == {(Sign.MAIL, _MAIL), (Sign.PHONE, "4915123456789")}


@settings(max_examples=100)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert all(isinstance(sign, Sign) and value for sign, value in values(text))


@pytest.mark.parametrize(
    "piece",
    ["1", "1 ", "4539 1488 ", "a.", "a@", "a@b.", "+1 ", "(212) ", "0", "0151 ", "AB12", "A", "DE75 ", "eyJa", "password is ", "key=", "x://a:", "-", "your ip address is 1.", "sk-", "卡号", "1-"],
)  # fmt: skip
def test_no_piece_is_slow(piece: str) -> None:
    text = (piece * PIECE)[:PIECE]
    began = time.process_time()
    values(text)
    assert time.process_time() - began < 0.25


@given(st.from_regex(r"\A[A-Z]{2}[0-9]{2}[A-Z0-9]{11,28}\Z"), st.text("ABC123", max_size=6))
def test_an_account_is_found_with_capitals_behind_it(account: str, behind: str) -> None:
    text = account + behind
    longest = max((size for size in range(15, 35) if is_iban(text[:size])), default=0)
    found = {value for sign, value in values(text) if sign is Sign.ACCOUNT}
    assert found == ({text[:longest]} if longest and len(text) <= 34 else set())


@given(st.text("0123456789", min_size=11, max_size=26))
def test_an_account_with_right_check_digits_is_one(rest: str) -> None:
    moved = int(rest + "131400")
    account = f"DE{98 - moved % 97:02d}{rest}"
    assert (Sign.ACCOUNT, account) in values(f"Pay to {account}, please")
