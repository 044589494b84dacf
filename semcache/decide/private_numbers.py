"""Check digits of the numbers that states give to people: what has the form and not the digits is some other number. Pure."""

from __future__ import annotations

_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_NIE = {"X": "0", "Y": "1", "Z": "2"}
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
"""What the letters A to Z (and the digits 0 to 9 as A to J) count at odd places of an Italian tax number."""


def is_french(digits: str) -> bool:
    """True for a French social security number of 15 signs with its key (97 less the rest by 97)."""
    number = (
        digits.upper().replace("2A", "19").replace("2B", "18") if "A" in digits or "B" in digits else digits
    )
    if len(number) != 15 or not number.isdecimal() or not number.isascii():
        return False
    return 97 - int(number[:13]) % 97 == int(number[13:])


def is_spanish(text: str) -> bool:
    """True for a Spanish identity number (8 digits, or X, Y, Z and 7) with its letter."""
    body, letter = text[:-1].upper(), text[-1:].upper()
    digits = _NIE.get(body[:1], body[:1]) + body[1:]
    return len(digits) == 8 and digits.isdecimal() and digits.isascii() and _DNI[int(digits) % 23] == letter


def is_italian(text: str) -> bool:
    """True for an Italian tax number of 16 signs with its check letter."""
    signs = text.upper()
    if len(signs) != 16 or not signs.isalnum() or not signs.isascii():
        return False
    values = [int(sign) if sign.isdecimal() else ord(sign) - 65 for sign in signs[:15]]
    total = sum(_ODD[value] if place % 2 == 0 else value for place, value in enumerate(values))
    return chr(65 + total % 26) == signs[15]


def is_german(digits: str) -> bool:
    """True for a German tax number of 11 digits with its check digit (ISO 7064, modulo 11, 10)."""
    if len(digits) != 11 or not digits.isdecimal() or not digits.isascii() or digits[0] == "0":
        return False
    product = 10
    for digit in digits[:10]:
        rest = (int(digit) + product) % 10 or 10
        product = rest * 2 % 11
    return (11 - product) % 10 == int(digits[10])
