"""Numbers and addresses that name one person, account or case: mail, phone, card, account, identity. Pure.

Found by form and check digits, not by words about them where the form alone is enough; where it is not (any
long number might be anything), the word for it must stand beside. Addresses and numbers that are everybody's
(`support@`, hotlines, the card numbers of documentation) name nobody. Knows nothing of who says them (see `personal`).
Expects folded text (`decide.text.fold`); linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from semcache.decide.wordlist import split


class Sign(StrEnum):
    """What makes a text personal."""

    MAIL = "mail"
    PHONE = "phone"
    CARD = "card"
    ACCOUNT = "account"
    ID = "id"
    RECORD = "record"
    """The number of an order, a booking, a case."""
    NAME = "name"
    """Somebody says who they or theirs are."""
    PLACE = "place"
    """Somebody says where they live."""
    SECRET = "secret"  # noqa: S105  a word, no password
    DEVICE = "device"
    """An address on a network that is somebody's."""
    GREETING = "greeting"
    """An answer calls its reader by name."""
    TOLD = "told"
    """An answer tells its reader something of their own: a balance, an appointment."""


_EVERYBODYS = frozenset(
    split(
        "support info help helpdesk contact sales service services hello office admin administrator mail email team press media "
        "noreply no-reply donotreply billing feedback privacy security careers jobs hr legal webmaster postmaster abuse enquiries "
        "inquiries marketing orders returns customerservice customer-service customercare customer.service care reception bookings "
        "reservations kundenservice kefu service-desk example test user username name your you yourname your.name your-name your_name "
        "youremail your.email your-email your_email me someone somebody john.doe jane.doe johndoe janedoe foo bar alice bob recipient sender"
    )
)
_EXAMPLES = frozenset(
    split(
        "example.com example.org example.net example.edu test.com domain.com company.com mail.com email.com"
    )
)
_SHOWN_CARDS = frozenset(
    split(
        "4242424242424242 4111111111111111 4012888888881881 4000056655665556 5555555555554444 5105105105105100 2223003122003222 "
        "378282246310005 371449635398431 6011111111111117 6011000990139424 30569309025904 38520000023237 3530111333300000 1234567812345670"
    )
)
_SHOWN_ACCOUNTS = frozenset(
    split(
        "GB29NWBK60161331926819 GB82WEST12345698765432 DE89370400440532013000 FR1420041010050500013M02606 "
        "ES9121000418450200051332 NL91ABNA0417164300 CH9300762011623852957 IT60X0542811101000000123456 BE68539007547034"
    )
)
_SHOWN_IDS = frozenset(
    split("123-45-6789 078-05-1120 987-65-4321 111-11-1111 11010519491231002X 110101199003074514")
)
_HAN_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_TOLL_FREE = ("400", "800", "822", "833", "844", "855", "866", "877", "888", "900")


@lru_cache(maxsize=1)
def _mail() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_.+-])([A-Za-z0-9][A-Za-z0-9_.+-]{0,63})@((?:[A-Za-z0-9-]{1,40}\.){1,4}[A-Za-z]{2,12})(?![A-Za-z0-9_@])"
    )


@lru_cache(maxsize=1)
def _phones() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_.,+-])(?:"
        r"(?P<intl>\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4})"
        r"|(?:1[ .-])?(?:\((?P<area>[2-9]\d\d)\) ?|(?P<code>[2-9]\d\d)[.-])[2-9]\d\d[ .-]\d{4}"
        r"|(?P<han>1[3-9]\d(?:[ -]?\d{4}){2})"
        r")(?![A-Za-z0-9_-]|[.,]\d)"
    )


@lru_cache(maxsize=1)
def _said_phone() -> re.Pattern[str]:
    return re.compile(
        r"(?i:\b(?:my|your) (?:(?:cell|mobile|home|work|office|new|old|own) ?){0,2}(?:phone|cell|mobile|number|phone number|telephone)(?: number)?"
        r"(?: is|'s|:|,) ?)[+(]?\d[\d ().-]{5,18}\d"
        r"|(?:我的?|本人的?|[您你]的)(?:手机号?码?|电话号?码?|联系方式|联系电话)(?:是|为|:|,)? {0,2}[+(]?\d[\d ()-]{5,18}\d"
    )


@lru_cache(maxsize=1)
def _digits() -> re.Pattern[str]:
    """Runs of 13 to 19 digits, whole or in groups as cards are printed."""
    return re.compile(r"(?<![A-Za-z0-9_.,+*/^=-])\d(?:[ -]?\d){12,18}(?![A-Za-z0-9_]| ?[+*/^=×÷]|[.,-]\d)")


@lru_cache(maxsize=1)
def _masked() -> re.Pattern[str]:
    return re.compile(
        r"(?i:\b(?:card|account|visa|mastercard|amex|iban)\b[^.\n]{0,24}\bend(?:ing|s)\b (?:in|with|on|by)? ?)\d{3,4}\b"
        r"|(?:[*x•·]{4}[ -]?){1,4}\d{4}\b|(?:尾号|末四位)(?:为|是|:)? ?\d{3,4}"
    )


@lru_cache(maxsize=1)
def _iban() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_])([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?![A-Za-z0-9_])"
    )


@lru_cache(maxsize=1)
def _said_account() -> re.Pattern[str]:
    return re.compile(
        r"(?i:\b(?:account|acct|routing|iban|sort code|card)(?: number| no\.?| #|#)(?: is| was|:|,)? ?)(?=[A-Z]{0,4}[ -]?\d)[A-Z0-9-]{6,24}\b"
        r"|(?:账号|账户|卡号|银行卡号?|支付宝账?号?|微信号|qq号?|QQ号?)(?:是|为|:|,)? ?(?=[A-Za-z_-]{0,10}\d)[A-Za-z0-9_-]{5,24}"
    )


@lru_cache(maxsize=1)
def _ids() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_-])(?P<ssn>(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?![A-Za-z0-9_-])"
        r"|(?<![A-Za-z0-9_])(?P<han>[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx])(?![A-Za-z0-9_])"
        r"|(?i:\b(?:passport|licen[cs]e|social security|ssn|national insurance|tax|national id|identity card|nhs|medicare|insurance)"
        r"(?: (?:id|card|number|no\.?)){0,2}(?: is| was|:|,|#)? ?#?)(?P<said>(?!(?:19|20)\d\d\b)(?:(?=[A-Z]{0,3}\d)[A-Z0-9-]{6,16}|[A-Z]{0,2} ?\d{2,4}(?: \d{2,4}){2,4}(?: [A-Z])?))\b"
        r"|(?:身份证号?码?|护照号?码?|社保号|医保号|驾驶证号|港澳通行证号?|车牌号?)(?:是|为|:|,)? ?(?P<word>[\u4e00-\u9fff]?(?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{5,18})"
    )


_OPEN_CASES = "order|booking|reservation|ticket|claim|membership|member|employee|student|customer|patient|tracking|confirmation|invoice"
_CASES = f"{_OPEN_CASES}|case|policy|reference|staff|client|application|transaction|shipment|package|parcel|contract|prescription"


@lru_cache(maxsize=1)
def _records() -> re.Pattern[str]:
    number = r"(?=[A-Z]{0,4}-?\d)(?!(?:19|20)\d\d\b)[A-Z]{0,4}-?\d[A-Z0-9-]{3,20}\b"
    return re.compile(
        rf"(?i:\b(?:my|our|your) (?:\w{{1,12}} )?(?:{_CASES})(?: (?:number|no\.?|id|code))?(?: is| was|:|,)? ?#?){number}"
        rf"|(?<![Ee]xecutive )(?i:\b(?:{_OPEN_CASES}) (?:(?:number|no\.?|id|code)(?: is| was|:|,)? ?#?|#)){number}"
        r"|(?:订单号?|快递单号?|运单号?|学号|工号|病历号|会员号|保单号|工单号?|预约号|流水号)(?:是|为|:|,)? ?(?=[A-Za-z]{0,4}-?\d)[A-Za-z0-9-]{4,24}"
    )


def found(text: str, *, listed: bool = False) -> Iterator[Sign]:
    """Yield what of this kind a folded text holds.

    Args:
        text: folded.
        listed: telephone numbers in it may be those of anybody in the book: they count beside words only.
    """
    if any(_is_someones(*match.groups()) for match in _mail().finditer(text)):
        yield Sign.MAIL
    alone = not listed and any(_is_private(match) for match in _phones().finditer(text))
    if alone or _said_phone().search(text):
        yield Sign.PHONE
    numbers = [re.sub(r"\D", "", match.group()) for match in _digits().finditer(text)]
    if any(is_card(number) and number not in _SHOWN_CARDS for number in numbers) or _masked().search(text):
        yield Sign.CARD
    ibans = [match.group(1).replace(" ", "") for match in _iban().finditer(text)]
    if any(is_iban(iban) and iban not in _SHOWN_ACCOUNTS for iban in ibans) or _said_account().search(text):
        yield Sign.ACCOUNT
    if any(_is_identity(match) for match in _ids().finditer(text)):
        yield Sign.ID
    if _records().search(text):
        yield Sign.RECORD


@lru_cache(maxsize=1)
def _schemes() -> re.Pattern[str]:
    """Beginnings and lengths that card schemes give out. One number of ten has the check digit by chance: lengths keep others apart."""
    visa, amex, diners, jcb = (
        r"4\d{12}(?:\d{3}){0,2}",
        r"3[47]\d{13}",
        r"3(?:0[0-5]|09|[689]\d)\d{11,16}",
        r"35\d{14,17}",
    )
    mastercard, maestro, others = (
        r"(?:5[1-5]\d\d|2[2-7]\d\d)\d{12}",
        r"(?:5[0678])\d{14,17}",
        r"(?:6|220[0-4])\d{12,18}",
    )
    return re.compile(
        "|".join((visa, amex, diners, jcb, mastercard, maestro, f"(?=\\d{{16,19}}$)(?:{others})"))
    )


def is_card(digits: str) -> bool:
    """True for a number with the check digit (ISO/IEC 7812, Luhn) and the beginning and length of a payment card."""
    if not _schemes().fullmatch(digits) or len(set(digits)) < 3:
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def is_iban(text: str) -> bool:
    """True for an account number with right check digits (ISO 13616: modulo 97)."""
    if not 15 <= len(text) <= 34 or not text.isascii() or not text.isalnum():
        return False
    moved = (text[4:] + text[:4]).upper()
    return int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def is_identity(number: str) -> bool:
    """True for an 18-digit identity number with the right last sign (GB 11643-1999)."""
    if len(number) != 18 or not number[:17].isdecimal() or not number.isascii():
        return False
    total = sum(int(digit) * weight for digit, weight in zip(number, _HAN_WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def _is_someones(local: str, domain: str) -> bool:
    return local.lower() not in _EVERYBODYS and domain.lower() not in _EXAMPLES


def _is_private(match: re.Match[str]) -> bool:
    """Not a hotline, and not one of the numbers that films use."""
    written = match.group()
    digits = re.sub(r"\D", "", written)
    if match["intl"] is not None:
        return 8 <= len(digits) <= 15 and not digits[1:].startswith(_TOLL_FREE)
    if match["han"] is not None:
        return len(set(digits)) > 2 and digits != "13800138000"
    area = match["area"] or match["code"] or ""
    return area not in _TOLL_FREE and "555" not in (area, digits[-7:-4])


def _is_identity(match: re.Match[str]) -> bool:
    if match["han"] is not None:
        return is_identity(match["han"]) and match["han"].upper() not in _SHOWN_IDS
    return match["ssn"] is None or match["ssn"] not in _SHOWN_IDS
