"""What a reply says about the cache: Cache-Status (RFC 9211), Age, and the `Semcache-*` headers.

No similarity score: it would be a gradient for whoever wants to collide with somebody's entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import Bypass, Draft, Entry, Hit, Miss, Outcome, Usage
from semcache.decide.reasons import Reason
from semcache.journey import Trace, Trimmed
from semcache.proxy.headers import Pair

_NAME = b"semcache"
_PRIVATE = (b"cache-control", b"private, no-store")


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome in one word, and the reason behind it."""

    outcome: Outcome
    reason: str


def told(trace: Trace) -> Told:
    """Name outcome and reason of a traced request.

    A draft that nothing came of is answered as a miss whose reason says `draft`; a hit that
    shadow mode kept back is a miss whose reason says `shadow`, one that is too new `unconfirmed`.
    """
    match trace.decision:
        case Hit(exact=exact) if trace.served:
            return Told(Outcome.EXACT if exact else Outcome.SEMANTIC, "hit")
        case Hit(unconfirmed=True):
            return Told(Outcome.MISS, Reason.UNCONFIRMED.value)
        case Hit(exact=exact):
            return Told(Outcome.MISS, "shadow-exact" if exact else "shadow-semantic")
        case Draft(reasons=reasons):
            outcome = Outcome.DRAFT if trace.is_drafted else Outcome.MISS
            return Told(outcome, _joined("draft", reasons))
        case Miss(reason=reason, vetoes=vetoes):
            return Told(Outcome.MISS, _joined(reason, vetoes))
        case Bypass(reason=reason):
            return Told(Outcome.BYPASS, reason)


def _joined(reason: str, vetoes: tuple[str, ...]) -> str:
    return f"{reason}:{','.join(vetoes)}" if vetoes else reason


def history_headers(trimmed: Trimmed) -> list[Pair]:
    """Say what became of a history whose client asked for it to be trimmed (a structured-field item)."""
    what = b"%b;dropped=%d;tokens=%d;kept=%d" % (
        trimmed.way.encode(),
        trimmed.dropped,
        trimmed.tokens,
        trimmed.kept,
    )
    return [(b"semcache-history", what)]


def money_headers(cost: int | None, saved: int | None) -> list[Pair]:
    """Say what an answer cost and what the cache saved, in micro-USD; what is not known is left away."""
    pairs = ((b"semcache-cost", cost), (b"semcache-saved", saved))
    return [(name, b"%d" % money) for name, money in pairs if money is not None]


def hit_headers(entry: Entry, trace: Trace, now: float, request_id: str, saved: Usage | None) -> list[Pair]:
    """Headers of a reply served from the cache (content type and length are the caller's).

    `saved` is what the call that was not made would have used.
    """
    what = told(trace)
    ttl = max(0, int(entry.expires_at - now))
    pairs = [
        (b"cache-status", b"%b; hit; ttl=%d; detail=%b" % (_NAME, ttl, what.outcome.encode())),
        (b"age", b"%d" % int(entry.age(now))),
        (b"semcache-outcome", what.outcome.encode()),
        (b"semcache-entry", entry.id.encode()),
        (b"semcache-domain", trace.policy.domain.encode()),
        (b"semcache-saved-tokens", b"%d" % (saved.total_tokens if saved else 0)),
        _PRIVATE,
        (b"x-request-id", request_id.encode()),
    ]
    if trace.trimmed is not None:
        pairs += history_headers(trace.trimmed)
    if trace.vouched:
        pairs.append((b"semcache-verified", b"?1"))
    return pairs


def forward_headers(trace: Trace, status: int, request_id: str, *, named: bool) -> list[Pair]:
    """Headers added to a reply that came from an upstream.

    `named` says that the upstream's own request id is passed on already.
    """
    what = told(trace)
    words = [_NAME, b"fwd=bypass" if what.outcome is Outcome.BYPASS else b"fwd=miss"]
    words.append(b"fwd-status=%d" % status)
    if trace.stored:
        words.append(b"stored")
    if trace.collapsed:
        words.append(b"collapsed")
    words.append(b"detail=" + _token(what.reason))
    pairs = [
        (b"cache-status", b"; ".join(words)),
        (b"semcache-outcome", what.outcome.encode()),
        (b"semcache-reason", what.reason.encode()),
        (b"semcache-domain", trace.policy.domain.encode()),
        (b"semcache-upstream", trace.backend.encode("latin-1", "replace")),
        _PRIVATE,
    ]
    if trace.trimmed is not None:
        pairs += history_headers(trace.trimmed)
    if not named:
        pairs.append((b"x-request-id", request_id.encode()))
    return pairs


def _token(reason: str) -> bytes:
    """A structured-field token, or a string where the reason holds more than a token may (RFC 8941 3.3.4)."""
    return f'"{reason}"'.encode() if "," in reason else reason.encode()
