"""Who is logged in: sessions in memory.

A session's id is known to the browser alone; here stands its digest. Every form carries a token that is worked out
from what the browser's cookie says, so that no other page can send it. All is forgotten when the process ends.
Knows no HTTP.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Who = TypeVar("Who")
Now = Callable[[], float]
"""Seconds on a clock that never goes back."""

IDLE = 30 * 60.0
"""Seconds without a request after which a session ends."""
ABSOLUTE = 12 * 3600.0
"""Seconds after which it ends anyway."""
_MOST = 1000
_MOST_NOTICES = 5


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to say once, on the next page: a word of the texts, and what it is about."""

    key: str
    entry: str = ""


@dataclass(slots=True)
class Session(Generic[Who]):
    """One browser that showed a token; `id` goes into its cookie, `csrf` into its forms."""

    id: str
    csrf: str
    who: Who
    began: float
    seen: float
    notices: list[Notice] = field(default_factory=list)

    def say(self, key: str, entry: str = "") -> None:
        """Have something said on the next page."""
        self.notices.append(Notice(key, entry))
        del self.notices[:-_MOST_NOTICES]

    def told(self) -> list[Notice]:
        """Give what is to be said, once."""
        said, self.notices = self.notices, []
        return said


class Sessions(Generic[Who]):
    """All sessions of this process.

    Args:
        now: the clock.
        idle: seconds without a request after which a session ends.
        absolute: seconds after which it ends anyway.
    """

    def __init__(self, now: Now, *, idle: float = IDLE, absolute: float = ABSOLUTE) -> None:
        self._now = now
        self._idle = idle
        self._absolute = absolute
        self._held: OrderedDict[bytes, Session[Who]] = OrderedDict()
        self._secret = secrets.token_bytes(32)

    def begin(self, who: Who) -> Session[Who]:
        """Begin a session; where there are too many, the one unused for longest ends."""
        named, now = secrets.token_urlsafe(32), self._now()
        session = Session(named, self.csrf_of(named), who, now, now)
        self._held[_digest(named)] = session
        while len(self._held) > _MOST:
            self._held.popitem(last=False)
        return session

    def find(self, id: str, *, is_used: bool = True) -> Session[Who] | None:
        """Give a living session, and note that it was used, if a human did."""
        key, now = _digest(id), self._now()
        session = self._held.get(key)
        if session is None:
            return None
        if now - session.seen > self._idle or now - session.began > self._absolute:
            del self._held[key]
            return None
        if is_used:
            session.seen = now
            self._held.move_to_end(key)
        return session

    def end(self, id: str) -> None:
        """End a session. Idempotent."""
        self._held.pop(_digest(id), None)

    def csrf_of(self, cookie: str) -> str:
        """Give the token that forms sent together with this cookie must carry."""
        return hmac.new(self._secret, cookie.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def is_ours(self, cookie: str, token: str) -> bool:
        """Tell whether a form's token belongs to the cookie it came with."""
        return bool(cookie) and hmac.compare_digest(
            self.csrf_of(cookie).encode(), token.encode("utf-8", "surrogatepass")
        )


def _digest(id: str) -> bytes:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()
