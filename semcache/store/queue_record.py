"""How sightings, questions, opinions and decisions stand in Redis, and reading them back (pure).

What comes back may be damaged: then it is a `StoreError` of kind `corrupt`, never a wrong number. Names and texts
are cut to a bound on the way in, and made Unicode, which JSON demands.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from semcache.core import EntryId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.review_port import Agreement, Decided, Opinion, Question, Sighting, Waiting
from semcache.store.evidence_record import a_float, corrupt, json_of, number_or_none, text_of
from semcache.store.link import Argument
from semcache.store.server import named, raw
from semcache.store.shapes import a_list, a_number, pairs, some_bytes
from semcache.store.subjects import marked, unmarked

LONGEST_QUESTION = 1000
"""Characters of a question's text that are kept."""
_LONGEST_NAME = 256
_LONGEST_ASKED = 64
_LONGEST_WORD = 32
_MOST_REASONS = 8
MOST_RISK = 1000.0
_HEAD = 8


class Cursor(NamedTuple):
    """Where a listing stands: which still picture of the queue, and behind whom."""

    still: str
    weight: str
    id: bytes


def row_of(sighting: Sighting) -> list[Argument]:
    """Write a sighting as the arguments of the script.

    Raises:
        StoreError: `invalid`: a risk or time that is none, or no entry.
    """
    if not (0 <= sighting.risk < math.inf and math.isfinite(sighting.at)):
        raise invalid()
    record = [
        _cut(sighting.outcome, _LONGEST_WORD),
        words_of(sighting.reasons),
        sighting.similarity,
        sighting.score,
    ]
    return [
        name_of(sighting.entry),
        asked_of(sighting.asked),
        raw(sighting.domain[:_LONGEST_NAME]),
        repr(float(min(sighting.risk, MOST_RISK))),
        repr(float(sighting.at)),
        ",".join(words_of(sighting.reasons)),
        orjson.dumps(record),
        marked(sighting.subject, _cut(sighting.question, LONGEST_QUESTION)),
    ]


def question_of(asked: bytes, value: bytes) -> Question:
    """Read a question.

    Raises:
        StoreError: `corrupt`.
    """
    head = value.split(b" ", _HEAD - 1)
    if len(head) != _HEAD:
        raise corrupt()
    size = a_number(head[6])
    match json_of(head[-1][:size]):
        case [str(outcome), list() as reasons, similarity, score]:
            pass
        case _:
            raise corrupt()
    try:
        return Question(
            asked=text_of(asked),
            text=unmarked(head[-1][size:].decode("utf-8", "replace"))[1],
            times=int(head[0]),
            first_at=a_float(head[4]),
            last_at=a_float(head[5]),
            outcome=outcome,
            reasons=tuple(map(str, reasons)),
            similarity=number_or_none(similarity, float),
            score=number_or_none(score, float),
        )
    except (TypeError, ValueError):
        raise corrupt() from None


def waiting_of(row: Any) -> Waiting:
    """Read an entry's place: id, weight, and the flat hash about it.

    Raises:
        StoreError: `error`, `corrupt`.
    """
    id_, weight, place = a_list(row, 3, 3)
    fields = dict(pairs(a_list(place)))
    reasons = {text_of(name[2:]): a_number(value) for name, value in fields.items() if name.startswith(b"r:")}
    return Waiting(
        entry=named(some_bytes(id_)),
        weight=a_float(some_bytes(weight)),
        domain=text_of(fields.get(b"d", b"")),
        reasons=reasons,
        sightings=a_number(fields.get(b"n")),
        last_at=a_float(fields.get(b"t", b"0")),
    )


def opinion_of(entry: EntryId, name: bytes, value: bytes) -> Opinion | None:
    """Read a field of an entry's opinions; None for one that is none.

    Raises:
        StoreError: `corrupt`.
    """
    if not name.startswith(b"o:"):
        return None
    asked, _, model = name[2:].partition(b"\x1f")
    fit, _, at = value.partition(b" ")
    return Opinion(entry, text_of(asked), text_of(model), a_float(fit), a_float(at))


def agreements_of(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, Agreement]:
    """Read the counters of all judges: `<judge><human><model>`, each side 1 for in favour.

    Raises:
        StoreError: `corrupt`.
    """
    cells: dict[str, dict[bytes, int]] = {}
    for name, value in fields:
        cells.setdefault(text_of(name[2:]), {})[name[:2]] = max(0, int(a_float(value)))
    found = {
        model: Agreement(of.get(b"11", 0), of.get(b"10", 0), of.get(b"01", 0), of.get(b"00", 0))
        for model, of in sorted(cells.items())
    }
    return {model: agreement for model, agreement in found.items() if agreement != Agreement()}


def decided_record(decided: Decided) -> bytes:
    """Write a decision.

    Raises:
        StoreError: `invalid`: a number that is none.
    """
    if not (math.isfinite(decided.at) and math.isfinite(decided.similarity)):
        raise invalid()
    return orjson.dumps(
        [
            decided.at,
            decided.similarity,
            decided.score,
            _cut(decided.outcome, _LONGEST_WORD),
            _cut(decided.request, _LONGEST_NAME),
            decided.wrong,
        ]
    )


def decided_of(row: Any, said: dict[str, bool]) -> Decided:
    """Read a decision; `said` tells by request what labels say of it.

    Raises:
        StoreError: `corrupt`.
    """
    match json_of(some_bytes(row)):
        case [
            (int() | float()) as at,
            (int() | float()) as similarity,
            score,
            str(outcome),
            str(request),
            wrong,
        ]:
            try:
                value = number_or_none(score, float)
            except (TypeError, ValueError):
                raise corrupt() from None
            told = said.get(request, wrong if isinstance(wrong, bool) else None)
            return Decided(float(at), float(similarity), value, outcome, request, told)
        case _:
            raise corrupt()


def wrong_by_request(labels: Iterable[Label]) -> dict[str, bool]:
    """Tell by request whether its answer was wrong, from labels newest first.

    A reviewer's word stands over all others, then a check's over a caller's; of equals the newest counts.
    """
    rank = {Source.VERDICT: 3, Source.AUDIT: 2, Source.SHADOW: 2, Source.FEEDBACK: 1, Source.SEEN: 0}
    found: dict[str, tuple[int, bool]] = {}
    for label in labels:
        if not label.request or label.finding is Finding.UNDECIDED:
            continue
        word = (rank[label.source], label.finding is Finding.WRONG)
        if label.request not in found or word[0] > found[label.request][0]:
            found[label.request] = word
    return {request: wrong for request, (_, wrong) in found.items()}


def cursor_text(cursor: Cursor) -> str:
    """Write a cursor so that it can stand in an address."""
    plain = b"\x1f".join((cursor.still.encode(), cursor.weight.encode(), cursor.id))
    return base64.urlsafe_b64encode(plain).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    """Read a cursor that a client sent.

    Raises:
        StoreError: `invalid`: it is none of ours.
    """
    if len(text) > 4 * _LONGEST_NAME:
        raise invalid()
    try:
        plain = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        still, weight, id_ = plain.split(b"\x1f", 2)
        usable = math.isfinite(float(weight)) and 0 < len(still) < 16 and still.isdigit() and id_
    except (binascii.Error, UnicodeError, ValueError):
        raise invalid() from None
    if not usable:
        raise invalid()
    return Cursor(still.decode(), repr(float(weight)), id_)


def name_of(id: EntryId) -> bytes:
    """Give an entry's id as it goes over the wire.

    Raises:
        StoreError: `invalid`: no id of an entry.
    """
    if not id or len(id) > _LONGEST_NAME or id.startswith("#"):
        raise invalid()
    return raw(id)


def asked_of(asked: str) -> bytes:
    """Give a question's digest as it goes over the wire.

    Raises:
        StoreError: `invalid`: it is none.
    """
    if not asked or len(asked) > _LONGEST_ASKED or not asked.isprintable():
        raise invalid()
    return raw(asked)


def model_of(model: str) -> bytes:
    """Give a model's name as it goes over the wire."""
    return raw(model[:_LONGEST_NAME])


def words_of(reasons: Iterable[str]) -> list[str]:
    """Bound a list of reasons; a comma is no part of a closed word."""
    words = [_cut(word, _LONGEST_WORD).replace(",", "") for word in reasons]
    return list(dict.fromkeys(word for word in words if word))[:_MOST_REASONS]


def invalid() -> StoreError:
    """Make the error for what cannot be stored or asked for."""
    return StoreError("review queue: a value is not usable", kind="invalid")


def _cut(text: str, longest: int) -> str:
    return text[:longest].encode("utf-8", "replace").decode()
