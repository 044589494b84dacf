"""The queue and what was found, as rows. Pure: core values in, values for the templates out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from semcache.core import Entry
from semcache.review.answers import may_edit, text_of
from semcache.review.views import QueueRow, QueueView
from semcache.review.web.entry_view import Badge, badge_of, reasons_of
from semcache.review.web.frame import Ui
from semcache.review.web.marks import plain
from semcache.review_rules import WHOLE

_HEAD = 240
REASONS = (
    "complaint",
    "audit",
    "gate",
    "near-threshold",
    "near-score",
    "volatile",
    "personal",
    "other-user",
    "draft",
    "sample",
)
"""Why somebody should look, gravest first: the filter's choices."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the queue.

    `share` is the length of its bar of 100; `asked` names the question that asks most for a look, `fits` the same
    while it is not barred: an approval says that the answer fits that one too.
    """

    id: str
    href: str
    peek: str
    question: str
    answer: str
    domain: str
    reasons: tuple[Badge, ...]
    weight: str
    share: float
    met: str
    last: float
    etag: str
    asked: str
    fits: str
    may_edit: bool


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One line of what was found."""

    id: str
    href: str
    question: str
    answer: str
    domain: str
    model: str
    status: Badge
    created: float


def queue_rows(found: QueueView, ui: Ui) -> list[Row]:
    """Lay out a page of the queue."""
    heaviest = max((row.waiting.weight for row in found.rows), default=1.0) or 1.0
    return [_row(row, heaviest, ui) for row in found.rows]


def _row(row: QueueRow, heaviest: float, ui: Ui) -> Row:
    waits, question = row.waiting, row.question
    href = ui.at("entries", waits.entry)
    asked = question.asked if question is not None and question.asked != WHOLE else ""
    ranked = sorted(waits.reasons.items(), key=lambda pair: (_rank(pair[0]), pair[0]))
    return Row(
        id=waits.entry,
        href=href,
        peek=f"{href}/peek",
        question=_head(row.entry.prompt) or waits.entry,
        answer=_head(row.answer or ""),
        domain=waits.domain,
        reasons=reasons_of(ranked, ui),
        weight=ui.t.number(waits.weight, 2 if waits.weight < 10 else 0),
        share=round(100 * waits.weight / heaviest, 1),
        met=ui.t.number(waits.sightings),
        last=waits.last_at,
        etag=row.etag,
        asked=asked,
        fits="" if asked in row.entry.barred else asked,
        may_edit=may_edit(row.entry.completion),
    )


def found_rows(found: Iterable[Entry], ui: Ui) -> list[FoundRow]:
    """Lay out what was found."""
    return [
        FoundRow(
            id=entry.id,
            href=ui.at("entries", entry.id),
            question=_head(entry.prompt) or entry.id,
            answer=_head(text_of(entry.completion) or ""),
            domain=entry.domain,
            model=plain(entry.model),
            status=badge_of(entry.status, ui),
            created=entry.created_at,
        )
        for entry in found
    ]


def _head(text: str) -> str:
    """Give the beginning of a text on one line; a lone blank where there is nothing to click on."""
    line = plain(text[:_HEAD].strip())
    return f"{line} …" if len(text) > _HEAD else line


def _rank(word: str) -> Any:
    return REASONS.index(word) if word in REASONS else len(REASONS)
