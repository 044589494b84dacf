"""An entry as its page shows it: questions compared, why it was served, the answer as text, its history.

Pure: core values in, values for the templates out. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import orjson

from semcache.core import CachePolicy, Entry
from semcache.cost.prices import micro_usd
from semcache.decide.confirming import counted, is_asked_for
from semcache.decide.spans import Objection
from semcache.evidence_port import Finding, Label
from semcache.review.answers import calls_of, is_vectors, text_of, thought_of
from semcache.review.views import EntryView, Why
from semcache.review.web.diff import Kind, diff
from semcache.review.web.frame import Ui
from semcache.review.web.marks import Mark, Segment, plain, shown, visible
from semcache.review.web.meters import Meter, meter
from semcache.review_port import Opinion, Question
from semcache.review_rules import WHOLE, ReviewStatus

SHOWN = 20_000
"""Characters of an answer that its page shows; the rest is a link away."""
_RAW = 50_000
_LINE = 300
_CALL = 2000
_TONES = {
    ReviewStatus.UNREVIEWED: "",
    ReviewStatus.APPROVED: "good",
    ReviewStatus.EDITED: "good",
    ReviewStatus.REJECTED: "bad",
}
_GRAVE = frozenset(("complaint", "audit", "gate"))


@dataclass(frozen=True, slots=True)
class Badge:
    """A small word with a tone (`good`, `bad`, `warn`, `info` or "")."""

    name: str
    tone: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Cut:
    """How much of a text is shown."""

    shown: int
    all: int


@dataclass(frozen=True, slots=True)
class Found:
    """An objection of the gate, with the words that it is about."""

    rule: str
    raises: bool
    asked: str
    stored: str


@dataclass(frozen=True, slots=True)
class Met:
    """A question that the entry met."""

    href: str
    text: str
    outcome: str
    times: int
    last: float
    similarity: float | None
    reasons: tuple[Badge, ...]
    is_barred: bool
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version; `difference` leads from it to the one in force."""

    number: int
    status: Badge
    by: str
    at: float
    is_same: bool
    difference: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the table of facts: a text, a moment, or a link."""

    key: str
    text: str = ""
    at: float | None = None
    href: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class EntryPage:
    """What the templates show of an entry. Texts come as segments: they are shown, never interpreted.

    `asked` names the question that is compared, `fits` the same while it is not barred.
    """

    id: str
    href: str
    etag: str
    title: str
    status: Badge
    is_verified: bool
    domain: str
    tags: tuple[str, ...]
    stored: tuple[Segment, ...]
    asked: str
    asked_segments: tuple[Segment, ...]
    fits: str
    is_same: bool
    is_barred: bool
    is_closed: bool
    meters: tuple[Meter, ...]
    objections: tuple[Found, ...]
    reasons: tuple[Badge, ...]
    outcome: str
    answer: tuple[Segment, ...]
    cut: Cut | None
    calls: tuple[tuple[Segment, ...], ...]
    thought: tuple[Segment, ...]
    is_vectors: bool
    may_edit: bool
    may_narrow: bool
    may_widen: bool
    may_reopen: bool
    may_publish: bool
    days: str
    least: str
    met: tuple[Met, ...] = ()
    versions: tuple[Earlier, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    raw: tuple[Segment, ...] = ()
    is_stream: bool = False
    facts: tuple[Fact, ...] = ()
    labels: tuple[Badge, ...] = ()


def badge_of(status: ReviewStatus, ui: Ui) -> Badge:
    """Give the word for what was decided."""
    return Badge(ui.t(f"status.{status.value}"), _TONES[status])


def reasons_of(words: Sequence[tuple[str, int]], ui: Ui) -> tuple[Badge, ...]:
    """Give the words for why somebody should look."""
    return tuple(
        Badge(ui.t.word("reason", word), "bad" if word in _GRAVE else "", times) for word, times in words
    )


def entry_page(view: EntryView, ui: Ui, *, is_whole: bool = True) -> EntryPage:
    """Lay out an entry; without its history and its raw form when it is only looked at in passing."""
    entry, why = view.entry, view.why
    other = why if why is not None and why.asked != WHOLE else None
    text = view.answer or ""
    pieces = diff(entry.prompt, other.text) if other is not None else ()
    page = EntryPage(
        id=entry.id,
        href=ui.at("entries", entry.id),
        etag=view.etag,
        title=plain(entry.prompt[:60]),
        status=badge_of(entry.status, ui),
        is_verified=view.is_vouched,
        domain=entry.domain,
        tags=tuple(plain(tag) for tag in entry.tags),
        stored=shown(pieces, Kind.GONE, _marks(other, "stored")) if pieces else visible(entry.prompt),
        asked=other.asked if other is not None else "",
        asked_segments=shown(pieces, Kind.NEW, _marks(other, "asked")),
        fits=other.asked if other is not None and not other.is_barred else "",
        is_same=other is not None and other.text == entry.prompt,
        is_barred=why is not None and why.is_barred,
        is_closed=WHOLE in entry.barred,
        meters=tuple(_meters(why, view)) if why is not None else (),
        objections=tuple(_found(item, other.text, entry.prompt) for item in other.objections)
        if other
        else (),
        reasons=reasons_of([(word, 1) for word in why.reasons], ui) if why is not None else (),
        outcome=why.outcome if why is not None else "",
        answer=visible(text[:SHOWN]),
        cut=Cut(SHOWN, len(text)) if len(text) > SHOWN else None,
        calls=tuple(visible(f"{name}  {told}"[:_CALL]) for name, told in calls_of(entry.completion)),
        thought=visible(thought_of(entry.completion)[:SHOWN]),
        is_vectors=is_vectors(entry.completion),
        may_edit=view.may_edit,
        may_narrow=bool(entry.author) and not entry.review.only,
        may_widen=bool(entry.review.only),
        may_reopen=entry.status is not ReviewStatus.UNREVIEWED,
        may_publish=bool(entry.commons),
        days=_days(view.policy),
        least="" if entry.review.least is None else f"{entry.review.least:g}",
    )
    return replace(page, **_history(view, ui)) if is_whole else page


def _history(view: EntryView, ui: Ui) -> dict[str, Any]:
    entry = view.entry
    return {
        "met": tuple(_met(item, view, ui) for item in view.questions),
        "versions": tuple(_earlier(view, ui)),
        "opinions": view.opinions,
        "raw": _raw(entry),
        "is_stream": entry.completion.chunks is not None,
        "facts": tuple(_facts(view, ui)),
        "labels": tuple(_label(item, ui) for item in view.labels),
    }


def _marks(why: Why | None, side: str) -> list[Mark]:
    objections = why.objections if why is not None else ()
    spans = ((item.asked if side == "asked" else item.stored, item.word) for item in objections)
    return [Mark(span[0], span[1], word) for span, word in spans if span is not None]


def _found(item: Objection, asked: str, stored: str) -> Found:
    return Found(item.word, item.raises, _words(asked, item.asked), _words(stored, item.stored))


def _words(text: str, span: tuple[int, int] | None) -> str:
    return plain(text[span[0] : min(span[1], span[0] + 80)]) if span is not None else ""


def _meters(why: Why, view: EntryView) -> Iterator[Meter]:
    policy, least = view.policy, view.entry.review.least
    if why.similarity is not None:
        bars: list[tuple[str, float]] = []
        if policy is not None and view.is_vouched:
            bars.append(("entry.threshold.verified", policy.verified_threshold))
        elif policy is not None:
            bars.append(("entry.threshold", policy.threshold))
        if least is not None:
            bars.append(("entry.least", least))
        yield meter("entry.similarity", why.similarity, bars, 0.5)
    score = why.score if why.score is not None else why.score_now
    if score is not None:
        yield meter(
            "entry.score", score, [("entry.threshold", policy.min_score)] if policy is not None else (), 0.0
        )


def _met(item: Question, view: EntryView, ui: Ui) -> Met:
    own = item.asked == WHOLE
    return Met(
        href=f"{ui.at('entries', view.entry.id)}?asked={quote(item.asked)}",
        text=plain(view.entry.prompt[:_LINE] if own else item.text[:_LINE]) or "–",
        outcome=item.outcome,
        times=item.times,
        last=item.last_at,
        similarity=item.similarity,
        reasons=reasons_of([(word, 1) for word in item.reasons], ui),
        is_barred=item.asked in view.entry.barred,
        is_shown=view.why is not None and item.asked == view.why.asked,
    )


def _earlier(view: EntryView, ui: Ui) -> Iterator[Earlier]:
    now = view.answer or ""
    for version in view.versions:
        then = text_of(version.completion) or ""
        same = then == now
        yield Earlier(
            version.version,
            badge_of(version.status, ui),
            plain(version.review.by),
            version.review.at,
            same,
            () if same else shown(diff(then[:SHOWN], now[:SHOWN])),
        )


def _label(label: Label, ui: Ui) -> Badge:
    tones = {Finding.RIGHT: "good", Finding.WRONG: "bad", Finding.UNDECIDED: ""}
    named = f"{ui.t.word('source', label.source.value)}: {ui.t.word('finding', label.finding.value)}"
    return Badge(named, tones[label.finding])


def _raw(entry: Entry) -> tuple[Segment, ...]:
    # As the client's own protocol has it, where chat's words do not say all.
    body = entry.completion.chunks or entry.completion.native or entry.completion.body
    try:
        text = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        text = body.decode("utf-8", "replace")
    return visible(text if len(text) <= _RAW else f"{text[:_RAW]} …")


def _days(policy: CachePolicy | None) -> str:
    return f"{max(1.0, policy.review.verified_ttl / 86_400):.0f}" if policy is not None else "30"


def _facts(view: EntryView, ui: Ui) -> Iterator[Fact]:
    entry, t = view.entry, ui.t
    yield Fact("entry.model", plain(entry.model))
    yield Fact("entry.age", t.span(entry.age(t.now)))
    if entry.is_fresh(t.now):
        yield Fact("entry.expires", at=entry.expires_at)
    else:
        yield Fact("entry.expires", t("entry.expired"))
    if entry.completion.usage is not None:
        usage = entry.completion.usage
        numbers = {"input": t.number(usage.prompt_tokens), "output": t.number(usage.completion_tokens)}
        yield Fact("entry.usage", t("entry.usage.value", **numbers))
        price = micro_usd(entry.model, entry.completion.usage)
        if price is not None:
            yield Fact("entry.cost", t.money(price))
    if entry.seconds > 0:
        yield Fact("entry.seconds", t.span(entry.seconds))
    yield Fact("entry.size", t.size(entry.completion.size))
    if view.flags:
        yield Fact("entry.flags", t.number(view.flags))
    if view.policy is not None and is_asked_for(view.policy):
        yield Fact("entry.confirmed", t.number(counted(entry)))
        yield Fact("entry.shared", t("entry.yes" if view.is_shared else "entry.no"))
    yield from _decided(entry, ui)
    yield Fact("entry.id", entry.id, look="mono")


def _decided(entry: Entry, ui: Ui) -> Iterator[Fact]:
    review = entry.review
    if review.by:
        yield Fact("entry.by", f"{plain(review.by)}, {ui.t.ago(review.at)}")
    if review.until is not None and entry.status.is_verified:
        yield Fact("entry.until", at=review.until)
    if review.least is not None:
        yield Fact("entry.least", ui.t.number(review.least, 3))
    if review.only:
        yield Fact("entry.only", ui.t("entry.yes"))
    made, _, source = entry.origin.partition(":")
    if made and source:
        yield Fact("entry.origin", plain(entry.origin), href=ui.at("entries", source), look="mono")
