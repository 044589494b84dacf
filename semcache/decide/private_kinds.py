"""What in an answer names one person, or opens one person's door: one table of kinds. Pure.

Each kind has a form, a check where the form alone says too little, and what of that form is everybody's: role addresses, free
hotlines, the numbers of documentation and films. A value found is given in one spelling, so that the same one in another place is
known again. Every pattern is linear. Knows nothing of answers and requests (see `private_data`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.identifiers import Sign, is_card, is_identity
from semcache.decide.private_numbers import is_french, is_german, is_italian, is_spanish
from semcache.decide.wordlist import split

_ROLES = frozenset(
    split(
        "support info help helpdesk contact sales service services hello office admin administrator mail email team press media noreply reply "
        "donotreply no billing feedback privacy security careers jobs hr legal webmaster postmaster abuse enquiries inquiries enquiry inquiry marketing "
        "orders order returns customer customers customerservice customercare care reception bookings booking reservations kundenservice "
        "kontakt kefu desk shop store news newsletter events membership members donations donate volunteer library registrar admissions "
        "git example test user username name your you yourname youremail me someone somebody john jane johndoe janedoe foo bar alice bob recipient "
        "sender first firstname last lastname doe public general central main hotline request requests accounts payments invoice dpo gdpr"
    )
)
_EXAMPLE_HOSTS = frozenset(
    split(
        "example.com example.org example.net example.edu test.com domain.com company.com mail.com email.com acme.com"
    )
)
_EXAMPLE_ENDS = (
    ".example",
    ".test",
    ".invalid",
    ".localhost",
    ".example.com",
    ".example.org",
    ".example.net",
)
_PUBLIC_ENDS = (".gov", ".org", ".edu", ".int", ".mil", ".gov.uk", ".gov.cn", ".org.uk")
_FREE = ("800", "808", "822", "833", "844", "855", "866", "877", "888", "900", "400", "300", "345", "116")
_FILMED = (
    "7700900",
    "2079460",
    "1632960",
    "1134960",
    "1144960",
    "1154960",
    "1164960",
    "1174960",
    "1184960",
    "1214960",
    "1314960",
)
"""Beginnings of numbers that the British regulator keeps for plays, after the country code."""
_SHOWN = frozenset(
    split(
        "4242424242424242 4111111111111111 4012888888881881 4000056655665556 5555555555554444 5105105105105100 2223003122003222 "
        "378282246310005 371449635398431 6011111111111117 6011000990139424 30569309025904 38520000023237 3530111333300000 1234567812345670 "
        "GB29NWBK60161331926819 GB82WEST12345698765432 GB33BUKB20201555555555 DE89370400440532013000 FR1420041010050500013M02606 "
        "ES9121000418450200051332 NL91ABNA0417164300 CH9300762011623852957 IT60X0542811101000000123456 BE68539007547034 "
        "123456789 078051120 987654321 111111111 1234567890 12345678 219099999 11010519491231002X 110101199003074514 12345678Z RSSMRA80A01H501U 13800138000"
    )
)
_PLACEHOLDERS = re.compile(
    r"(?i)example|your|xxx|\*\*\*|changeme|change_me|placeholder|dummy|sample|redacted|insert|replace|process\.env|os\.environ|getenv|secrets?\.|\$\{|<|\{\{|\.\.\.|^p[a@]ssw[o0]rd\d*$|^test|:passw[o0]rd@|:pass@|:secret@|^secret|hunter2|s3cr3t"
    r"|123456|abcdef"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind.

    Attributes:
        sign: the word for it.
        what: it is, for the docs.
        public: what of this form is everybody's, for the docs.
        values: gives each value in a folded text, in one spelling; what is everybody's left out.
        marks: one of these characters stands in every such text, so that most texts need not be searched; "": none does.
    """

    sign: Sign
    what: str
    public: str
    values: Callable[[str], Iterator[str]]
    marks: str


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Han characters stand beside numbers without a blank, and are no part of them.
    return re.compile(pattern, re.ASCII)


_LETTER = "A-Za-z0-9\u00c0-\u024f"
_MAIL = rf"(?<![{_LETTER}_.+-])([{_LETTER}][{_LETTER}_.+-]{{0,63}})@((?:[{_LETTER}-]{{1,63}}\.){{1,5}}[A-Za-z]{{2,24}})(?![{_LETTER}_@])"


def _mails(text: str) -> Iterator[str]:
    for match in _compiled(_MAIL).finditer(text):
        local, host = match[1].lower(), match[2].lower()
        if not _is_everybodys(local, host):
            yield f"{local}@{host}"


def _is_everybodys(local: str, host: str) -> bool:
    if host in _EXAMPLE_HOSTS or host.endswith(_EXAMPLE_ENDS):
        return True
    parts = [part for part in re.split(r"[._+-]", local.rstrip("0123456789")) if part]
    # `niddk@info.niddk.nih.gov`: an office under its own name.
    office = host.endswith(_PUBLIC_ENDS) and local in host.split(".")
    return (
        office
        or local in _ROLES
        or (bool(parts) and (parts[0] in _ROLES or all(part in _ROLES for part in parts)))
    )


_PHONE = (
    r"(?<![\w.,+/-])(?:"
    r"(?:\+|00)[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,5}(?:[ .-]?\d{2,5}){1,4}"
    r"|(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}"
    r"|1[3-9]\d(?:[ -]?\d{4}){2}"
    r"|0[1-9](?:[ .-]\d\d){4}"
    r"|\(?0\d{2,4}\)?[ /-]\d{3,4}[ -]?\d{3,5}"
    r"|\(?0[1-9]\d{1,4}\)?[ /-]\d{5,9}"
    r")(?![\w-]|[.,]\d)"
)
_SAID_PHONE = (
    r"(?i:\b(?:phone|tel|telephone|mobile|cell|call|fax|whatsapp|telefon|handy|t[eé]l[eé]phone|t[eé]l|tel[eé]fono|m[oó]vil)(?:[ _](?:number|no\.?|nr\.?))?[\"']?"
    r"(?: (?:is|at|me|us|under|her|him|on))?[.:,=]? ?[\"']?)(\+?\(?\d[\d ().-]{5,18}\d)"
    r"|(?:电话|手机|联系方式|致电|热线|座机)(?:号码?)?(?:是|为|:|,)? ?(\+?\d[\d ()-]{5,18}\d)"
)


def _phones(text: str) -> Iterator[str]:
    written = [match.group() for match in _compiled(_PHONE).finditer(text)]
    written += [match[1] or match[2] for match in _compiled(_SAID_PHONE).finditer(text)]
    for number in written:
        digits = re.sub(r"\D", "", number)
        if 7 <= len(digits) <= 15 and not _is_hotline(number, digits):
            yield digits.removeprefix("00")


def _is_hotline(written: str, digits: str) -> bool:
    """Free numbers, and those of films and documentation."""
    bare = digits.removeprefix("00")
    national = bare.lstrip("0")
    local = (bare[2:].lstrip("0"), bare[1:], bare[3:]) if written.startswith(("+", "00")) else ()
    if any(one.startswith(_FREE) or one.startswith(_FILMED) for one in (national, *local)):
        return True
    us = digits[-10:] if len(digits) in (10, 11) else digits
    if len(set(digits)) <= 2 or digits in _SHOWN or (len(digits) == 11 and digits[1:4] in _FREE):
        return True
    return len(digits) <= 11 and "555" in (us[:3], us[3:6], us[:-4][-3:])


def _cards(text: str) -> Iterator[str]:
    for match in _compiled(r"(?<![\w.,+*/^=-])\d(?:[ -]?\d){12,18}(?!\w| ?[+*/^=×÷]|[.,-]\d)").finditer(text):
        digits = re.sub(r"\D", "", match.group())
        if is_card(digits) and digits not in _SHOWN:
            yield digits


def _account_size(text: str) -> int:
    """Give the length of the longest account (see `is_iban`) that a text begins with, 0 for none.

    What follows an account may be written in capitals, too. Each character is looked at once.
    """
    head = int("".join(str(int(char, 36)) for char in text[:4]))
    size = rest = 0
    for at, char in enumerate(text[4:34], 5):
        value = int(char, 36)
        rest = (rest * (10 if value < 10 else 100) + value) % 97
        if at >= 15 and (rest * 1_000_000 + head) % 97 == 1:
            size = at
    return size


def _accounts(text: str) -> Iterator[str]:
    for match in _compiled(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)").finditer(text):
        found = match.group().replace(" ", "")
        size = _account_size(found)
        if size and found[:size] not in _SHOWN:
            yield found[:size]
    said = r"(?i:\b(?:account|acct|konto|sort code|routing)(?: (?:number|no\.?|nr\.?))(?: is|:|,|=)? ?)(\d[\d -]{5,18}\d)|(?:账号|卡号|银行卡号?)(?:是|为|:|,)? ?(\d[\d ]{8,22}\d)"
    for match in _compiled(said).finditer(text):
        digits = re.sub(r"\D", "", match[1] or match[2])
        if len(set(digits)) > 2 and digits not in _SHOWN:
            yield digits


def _by_form(_: str) -> bool:
    """Need no check digit: the form says enough."""
    return True


_IDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])", _by_form),
    (r"(?<!\w)[1-9]\d{16}[\dXx](?!\w)", is_identity),
    (
        r"(?<!\w)(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D](?!\w)",
        _by_form,
    ),
    (r"(?<!\w)[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-4]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d(?!\w)", is_french),
    (r"(?<!\w)(?:\d{8}|[XYZ]-?\d{7})-?[A-Z](?!\w)", is_spanish),
    (r"(?<!\w)[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z](?!\w)", is_italian),
    (
        r"(?i:(?:steuer-?(?:id|identifikationsnummer|nummer)|tax id|tin)\W{1,6})([1-9]\d ?\d{3} ?\d{3} ?\d{3})(?!\w)",
        is_german,
    ),
)
_SAID_ID = (
    r"(?i:\b(?:passport|driving licen[cs]e|driver'?s licen[cs]e|social security|ssn|national insurance|nhs|medicare|aadhaar|id card|personalausweis|dni|bsn)"
    r"(?: (?:number|no\.?|nr\.?))?(?: is|:|,|=)? ?#?)((?=[A-Z]{0,3}\d)[A-Z0-9][A-Z0-9 -]{5,16}[A-Z0-9])(?!\w)"
    r"|(?:身份证号?码?|护照号?码?|社保号|医保号|驾驶证号)(?:是|为|:|,)? ?((?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{7,18})"
)


def _identities(text: str) -> Iterator[str]:
    for pattern, is_right in _IDS:
        for match in _compiled(pattern).finditer(text):
            number = re.sub(r"[ -]", "", match[1] if match.lastindex else match.group()).upper()
            if is_right(number) and number not in _SHOWN:
                yield number
    for match in _compiled(_SAID_ID).finditer(text):
        number = re.sub(r"[ -]", "", match[1] or match[2]).upper()
        if number not in _SHOWN and sum(map(str.isdecimal, number)) >= 5 and "12345" not in number:
            yield number


_KEYS = (
    r"(?<![A-Za-z0-9])(?:A[KS]IA[0-9A-Z]{16}|sk-[A-Za-z0-9_-]{20,200}|[rs]k_live_[A-Za-z0-9]{16,200}|gh[pousr]_[A-Za-z0-9]{30,200}|github_pat_[A-Za-z0-9_]{30,200}"
    r"|glpat-[A-Za-z0-9_-]{18,100}|xox[abeprs]-[A-Za-z0-9-]{10,200}|AIza[0-9A-Za-z_-]{33,40}|ya29\.[A-Za-z0-9_-]{20,400}|hf_[A-Za-z0-9]{30,60}|npm_[A-Za-z0-9]{30,60}"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}|eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{16,1000})"
    r"|-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----\s{0,4}[A-Za-z0-9+/=\\]{16,80}"
    r"|(?i:\bbearer )(?=[A-Za-z._~+/-]{0,60}\d)[A-Za-z0-9._~+/-]{20,400}"
    r"|(?i:AccountKey=)[A-Za-z0-9+/=]{20,120}"
    r"|\b[a-z][a-z0-9+]{2,12}://[^\s/:@]{1,64}:[^\s/:@]{3,128}@[^\s/]{0,80}"
)
_SECRETS = (
    r"(?i:(?:password|passwd|passwort|mot de passe|contrase[nñ]a|passcode|pwd|pin|secret|token|api[_ -]?key|access[_ -]?key|security code|cvv|one-time code|verification code|密码|口令|验证码))"
    r"[\"'` ]{0,3}(?:is|was|[:=：]|为|是|lautet|est|es)[ \"'`]{0,3}([\x21-\x7e]{4,128})"
)


def _secrets(text: str) -> Iterator[str]:
    for match in _compiled(_KEYS).finditer(text):
        if not _PLACEHOLDERS.search(match.group()):
            yield match.group()
    for match in _compiled(_SECRETS).finditer(text):
        value = match[1].rstrip("\"'`.,;)。，")
        plain = value.isalpha() or not any(map(str.isdigit, value)) or "(" in value or "[" in value
        if len(value) >= 4 and not plain and not _PLACEHOLDERS.search(value):
            yield value


def _devices(text: str) -> Iterator[str]:
    said = (
        r"(?i:\b(?:your|my|his|her|their) (?:\w{1,12} ){0,2}(?:ip|mac)(?: address)? (?:is|was|:) ?)((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f:]{6,39})"
        r"|[您你我]的?(?:IP|ip|MAC|mac)(?:地址)?(?:是|为|:) ?((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5})"
    )
    shown = (
        "192.0.2.",
        "198.51.100.",
        "203.0.113.",
        "127.",
        "0.0.",
        "10.",
        "192.168.",
        "2001:db8",
        "00:00:5e:00:53",
        "::1",
    )
    for match in _compiled(said).finditer(text):
        value = (match[1] or match[2]).lower()
        if not value.startswith(shown):
            yield value


KINDS: tuple[Kind, ...] = (
    Kind(Sign.MAIL, "an e-mail address", "`support@` and other offices, example.com", _mails, "@"),
    Kind(
        Sign.PHONE,
        "a telephone number",
        "800 numbers and other free ones, 555-01xx and others kept for films",
        _phones,
        "0123456789",
    ),
    Kind(
        Sign.CARD,
        "a payment card (beginning, length, check digit)",
        "test cards of documentation",
        _cards,
        "0123456789",
    ),
    Kind(
        Sign.ACCOUNT,
        "a bank account (IBAN, or a number named as one)",
        "the IBANs of documentation",
        _accounts,
        "0123456789",
    ),
    Kind(
        Sign.ID,
        "a national identity, tax, insurance, passport or licence number (US, CN, GB, FR, ES, IT, DE; by check digit, or named as one)",
        "numbers of documentation",
        _identities,
        "0123456789",
    ),
    Kind(
        Sign.SECRET,
        "an API key, token, private key, password, or an address with a password in it",
        "placeholders and the keys of documentation",
        _secrets,
        "",
    ),
    Kind(
        Sign.DEVICE,
        "an IP or MAC address that is told as somebody's",
        "all that nobody is said to own; networks of documentation and of homes",
        _devices,
        "0123456789abcdefABCDEF",
    ),
)
