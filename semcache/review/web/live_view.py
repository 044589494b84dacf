"""Numbers and the audit log, as their pages show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from semcache.core import CachePolicy, JsonObject
from semcache.decide.risk.standing import Standing, State
from semcache.review.views import DomainNumbers, JudgeView, Numbers
from semcache.review.web.entry_view import Badge
from semcache.review.web.frame import Ui
from semcache.review.web.marks import plain
from semcache.review_port import Line

_OUTCOMES = ("exact", "semantic", "draft", "miss", "bypass", "error")
_PAID = ("prediction", "revise")
"""Ways of drafts that have a bill."""
_HITS = frozenset(("exact", "semantic"))
_GOOD = frozenset(("approve", "edit", "promote", "unbar", "widen"))
_BAD = frozenset(("reject", "bar", "invalidate", "purge"))
_LONGEST = 120
_STANDINGS = {State.OPEN: "good", State.CLOSED: "bad", State.ALARMED: "bad", State.THIN: "warn"}


@dataclass(frozen=True, slots=True)
class Counted:
    """Something that was counted, and its share of all of its kind."""

    word: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Live:
    """What the page of numbers is made from."""

    queue: int
    has_more: bool
    verdicts: int
    numbers: Numbers
    judges: Sequence[JudgeView]


@dataclass(frozen=True, slots=True)
class Figure:
    """A word and its number as text."""

    word: str
    text: str


@dataclass(frozen=True, slots=True)
class DomainRow:
    """What a domain served, and what was found out about it."""

    domain: str
    hits: int
    wrong: str
    interval: str
    standing: Badge | None


@dataclass(frozen=True, slots=True)
class LiveView:
    """What the numbers page shows."""

    queue: str
    verdicts: str
    entries: str
    bytes: str
    requests: tuple[Counted, ...]
    hit_share: float | None
    drafts: tuple[Figure, ...]
    domains: tuple[DomainRow, ...]
    judges: Sequence[JudgeView]


@dataclass(frozen=True, slots=True)
class Changed:
    """A value before and after an act."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class LogRow:
    """A line of the log."""

    number: int
    at: float
    who: str
    what: str
    tone: str
    entry: str
    href: str
    note: str
    changes: tuple[Changed, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A domain's policy in one line."""

    href: str
    domain: str
    mode: str
    threshold: float
    verified: float
    draft: float | None
    score: float
    ttl: float
    scope: str
    standing: Badge | None
    more: str


def live_view(live: Live, ui: Ui) -> LiveView:
    """Lay out what was counted."""
    words = {word: _sum(live.numbers, word) for word in _OUTCOMES}
    total = sum(words.values())
    ordered = sorted((word for word in words if words[word]), key=lambda word: (_rank(word), word))
    requests = tuple(Counted(word, words[word], words[word] / total) for word in ordered)
    hits = sum(item.share for item in requests if item.word in _HITS)
    return LiveView(
        queue=ui.t.number(live.queue) + ("+" if live.has_more else ""),
        verdicts=ui.t.number(live.verdicts),
        entries=ui.t.number(live.numbers.entries),
        bytes=ui.t.size(live.numbers.bytes),
        requests=requests,
        hit_share=hits if total else None,
        drafts=tuple(_drafts(live, ui)),
        domains=tuple(_domain(item, ui) for item in live.numbers.domains),
        judges=live.judges,
    )


def _sum(numbers: Numbers, word: str) -> int:
    return sum(item.tallies.get(word, 0) for item in numbers.domains)


def _rank(word: str) -> int:
    return _OUTCOMES.index(word) if word in _OUTCOMES else len(_OUTCOMES)


def _drafts(live: Live, ui: Ui) -> Iterator[Figure]:
    told = _told_drafts(live.numbers)
    tried = {word: count for word, count in told.items() if not word.startswith("declined")}
    failed = sum(count for word, count in tried.items() if word.startswith("failed"))
    total = sum(tried.values())
    if total:
        yield Figure("tried", ui.t.number(total))
        yield Figure("kept", ui.t.number(total - failed))
        yield Figure("failed", ui.t.number(failed))
    saved = [
        _sum(live.numbers, f"draft-{way}-saved") - _sum(live.numbers, f"draft-{way}-lost") for way in _PAID
    ]
    if any(saved):
        yield Figure("saved", ui.t.money(sum(saved)))


def _told_drafts(numbers: Numbers) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in numbers.domains:
        for word, count in item.tallies.items():
            kind, _, result = word.partition("-")
            if kind == "drafted" and result:
                found[result] = found.get(result, 0) + count
    return found


def _domain(item: DomainNumbers, ui: Ui) -> DomainRow:
    known = item.wrong is not None
    low, high = item.interval
    return DomainRow(
        domain=item.domain,
        hits=item.hits,
        wrong=ui.t.share(item.wrong),
        interval=f"{ui.t.share(low)} – {ui.t.share(high)}" if known else "",
        standing=_standing(item.standing, ui) if item.standing is not None else None,
    )


def log_rows(lines: Iterable[Line], ui: Ui) -> list[LogRow]:
    """Lay out lines of the log."""
    return [
        LogRow(
            number=line.number,
            at=line.act.at,
            who=plain(line.act.who),
            what=line.act.what,
            tone="good" if line.act.what in _GOOD else "bad" if line.act.what in _BAD else "",
            entry=(line.act.entry or "")[:10],
            href=ui.at("entries", line.act.entry) if line.act.entry else "",
            note=plain(line.act.note),
            changes=tuple(_changes(line.act.before, line.act.after)),
            digest=line.digest[:16],
        )
        for line in lines
    ]


def _changes(before: JsonObject, after: JsonObject) -> Iterator[Changed]:
    for name in sorted({*before, *after}):
        yield Changed(plain(name), _value(before, name), _value(after, name))


def _value(values: Mapping[str, object], name: str) -> str:
    text = plain(str(values[name])) if name in values else "–"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def policy_rows(
    policies: Sequence[CachePolicy], standings: Mapping[str, Standing], ui: Ui
) -> list[PolicyRow]:
    """Lay out the policy of each domain, and what its evidence allows where that is known."""
    return [_policy(policy, standings.get(policy.domain), ui) for policy in policies]


def _policy(policy: CachePolicy, standing: Standing | None, ui: Ui) -> PolicyRow:
    return PolicyRow(
        href=f"{ui.here_url}?domain={quote(policy.domain)}#whatif",
        domain=policy.domain,
        mode=policy.mode.value,
        threshold=policy.threshold,
        verified=policy.verified_threshold,
        draft=policy.draft_threshold if policy.draft_threshold < policy.threshold else None,
        score=policy.min_score,
        ttl=policy.ttl,
        scope=policy.scope.value,
        standing=_standing(standing, ui) if standing is not None else None,
        more=_more(standing, ui) if standing is not None else "",
    )


def _standing(standing: Standing, ui: Ui) -> Badge:
    return Badge(ui.t.word("standing", standing.state.value), _STANDINGS[standing.state])


def _more(standing: Standing, ui: Ui) -> str:
    return ui.t("policies.standing.more", bound=ui.t.share(standing.bound))
