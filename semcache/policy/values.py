"""Reads the small notations of policy files: durations ("24h"), sizes ("512KiB"), digests ("sha256:...").

Knows nothing of files, models or defaults; each reader takes what YAML gave and returns a
plain value, or raises `ValueError` with words that say what is allowed.
"""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import BeforeValidator, Field

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZE = re.compile(r"([0-9]{1,9}) ?(B|KiB|MiB|GiB)")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

MAX_DURATION = 366 * 86_400
"""Seconds; nothing an upstream said a year ago should still be served."""


def parse_duration(value: object) -> float:
    """Read a duration as seconds: a number, or digits with s, m, h, d or w ("90s", "24h", "7d").

    Raises:
        ValueError: not a duration, or not more than zero and at most 366 days.
    """
    if isinstance(value, str) and (found := _DURATION.fullmatch(value.strip())):
        seconds = float(found[1]) * _SECONDS[found[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value) if abs(value) <= MAX_DURATION else math.inf
    else:
        raise ValueError('should be seconds or a duration such as "90s", "15m", "24h", "7d"')
    if not 0 < seconds <= MAX_DURATION:
        raise ValueError("should be more than 0 and at most 366 days")
    return seconds


def parse_size(value: object) -> int:
    """Read a size as bytes: a whole number, or digits with B, KiB, MiB or GiB.

    Raises:
        ValueError: not a size, or zero or less.
    """
    if isinstance(value, str) and (found := _SIZE.fullmatch(value.strip())):
        size = int(found[1]) * _BYTES[found[2]]
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise ValueError('should be bytes or a size such as "512KiB", "64MiB", "2GiB"')
    if size < 1:
        raise ValueError("should be more than 0")
    return size


Duration = Annotated[float, BeforeValidator(parse_duration)]
Size = Annotated[int, BeforeValidator(parse_size)]
Flag = Annotated[bool, Field(strict=True)]
Threshold = Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)]
"""Similarity on the reference scale; 0 and 1 are legal values and never mean "absent"."""
RawCosine = Annotated[float, Field(strict=True, ge=-1.0, le=1.0, allow_inf_nan=False)]
"""A cosine on one encoder's own scale."""


def as_list(value: object) -> object:
    """Let one string stand for a list of one."""
    return [value] if isinstance(value, str) else value


def as_effect(value: object) -> object:
    """Let true stand for veto and false for off."""
    return value if not isinstance(value, bool) else ("veto" if value else "off")


def hex_digest(value: str, words: str) -> str:
    """Read a digest as its 64 lower-case hex digits; `words` say what it is the digest of.

    Raises:
        ValueError: not `sha256:` and 64 hex digits.
    """
    digest = value.removeprefix("sha256:").lower()
    if not value.startswith("sha256:") or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f'should be "sha256:" and 64 hex digits {words}')
    return digest
