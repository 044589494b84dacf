"""Entries and log as lines of JSON, and every other value that the API shows as JSON. Knows no HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

import orjson

from semcache.archive.exporting import Wanted, export_lines
from semcache.core import CachePolicy, Entry, TenantId
from semcache.decide.confirming import counted
from semcache.ports import Selector
from semcache.review import searching
from semcache.review.access import Reviewer, Role
from semcache.review.answers import text_of
from semcache.review.looking import etag_of
from semcache.review.problems import UnfitError
from semcache.review.service import ReviewService
from semcache.review.views import DomainNumbers, EntryView, Filter, Numbers, QueueRow, Settled, Why
from semcache.review_port import Line


async def entry_lines(
    service: ReviewService, who: Reviewer, tenant: TenantId, wanted: Filter, *, vectors: bool = False
) -> AsyncIterator[bytes]:
    """Give all entries that match, one a line, newest first; that somebody did so is written down first.

    Raises:
        ReviewError: see `service`; before the first line.
        StoreError: unreachable or late; also half-way.
    """
    service.allow(who, tenant, Role.OPERATOR)
    wanted = searching.checked(wanted)
    stated = {name: value for name, value in asdict(wanted).items() if value and name != "text"}
    await service.write_down(who, tenant, "export", {**stated, "what": "entries", "vectors": vectors}, "")
    return _entry_lines(service, tenant, wanted, vectors=vectors)


async def _entry_lines(
    service: ReviewService, tenant: TenantId, wanted: Filter, *, vectors: bool
) -> AsyncIterator[bytes]:
    async for entry in searching.every(service.shelf.entries, tenant, wanted):
        told = entry_json(entry)
        told["answer"] = orjson.Fragment(entry.completion.body)
        if entry.completion.chunks is not None:
            told["chunks"] = orjson.Fragment(entry.completion.chunks)
        if entry.completion.native is not None:
            told["native"] = orjson.Fragment(entry.completion.native)
        if vectors and entry.embedding is not None:
            told["vector"] = {"encoder": entry.embedding.encoder, "values": entry.embedding.vector.tolist()}
        yield dumped(told) + b"\n"


async def archive_lines(
    service: ReviewService, who: Reviewer, tenant: TenantId, wanted: Filter
) -> AsyncIterator[bytes]:
    """Give an export that `semcache entries import` takes; that somebody made one is written down first.

    Raises:
        ReviewError: see `service`; `bad-filter` for what an export cannot be narrowed by. Before the first line.
        StoreError: unreachable or late; also half-way.
    """
    service.allow(who, tenant, Role.OPERATOR)
    if wanted.text or wanted.domain or wanted.status or wanted.before is not None:
        raise UnfitError("bad-filter", "An archive is narrowed by tag, model and namespace only.", "filter")
    named = {"tag": wanted.tag, "model": wanted.model, "namespace": wanted.namespace}
    stated = {name: value for name, value in named.items() if value}
    await service.write_down(who, tenant, "export", {**stated, "what": "archive"}, "")
    asked = Wanted(Selector(tenant, tag=wanted.tag, namespace=wanted.namespace, model=wanted.model))
    return export_lines(service.shelf.entries, asked, service.clock.now(), (), _unheard)


def _unheard(done: int, left: int) -> None:
    del done, left


async def log_lines(service: ReviewService, who: Reviewer, tenant: TenantId) -> AsyncIterator[bytes]:
    """Give the whole audit log, one line of it a line, newest first; that somebody did so is its first one.

    Raises:
        ReviewError: see `service`; before the first line.
        StoreError: unreachable or late; also half-way.
    """
    service.allow(who, tenant, Role.OPERATOR)
    await service.write_down(who, tenant, "export", {"what": "log"}, "")
    return _log_lines(service, who, tenant)


async def _log_lines(service: ReviewService, who: Reviewer, tenant: TenantId) -> AsyncIterator[bytes]:
    cursor = ""
    while True:
        page = await service.log(who, tenant, cursor, 200)
        for line in page.lines:
            yield dumped(line_json(line)) + b"\n"
        cursor = page.cursor
        if not cursor:
            return


def dumped(value: Any) -> bytes:
    """Write JSON; text that is no Unicode shows as question marks."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(_clean(value))


def _clean(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_clean(name): _clean(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_clean(inner) for inner in value]
        case _:
            return value


def entry_json(entry: Entry) -> dict[str, Any]:
    """Give an entry: what was asked, its answer as text, and everything that was settled; never its vector."""
    review = entry.review
    return {
        "id": entry.id,
        "etag": etag_of(entry),
        "tenant": entry.tenant,
        "domain": entry.domain,
        "model": entry.model,
        "namespace": entry.namespace,
        "key": entry.key,
        "question": entry.prompt,
        "text": text_of(entry.completion),
        "status": entry.status.value,
        "version": entry.version,
        "created_at": entry.created_at,
        "expires_at": entry.expires_at,
        "tags": list(entry.tags),
        "origin": entry.origin,
        "author": entry.author,
        "seconds": entry.seconds,
        "may_be_public": bool(entry.commons),
        "has_vector": entry.embedding is not None,
        "confirmed": counted(entry),
        "usage": asdict(entry.completion.usage) if entry.completion.usage else None,
        "review": {
            "by": review.by,
            "at": review.at or None,
            "until": review.until,
            "edition": review.edition,
            "least": review.least,
            "only_author": bool(review.only),
        },
        "barred": sorted(entry.barred),
    }


def row_json(row: QueueRow) -> dict[str, Any]:
    """Give a row of the queue."""
    return {
        **_plain(row.waiting),
        "etag": row.etag,
        "status": row.entry.status.value,
        "stored_question": row.entry.prompt,
        "text": row.answer,
        "question": _plain(row.question) if row.question else None,
    }


def view_json(view: EntryView) -> dict[str, Any]:
    """Give an entry with all that is known of it."""
    return {
        "entry": entry_json(view.entry),
        "may_edit": view.may_edit,
        "verified": view.is_vouched,
        "shared": view.is_shared,
        "questions": [_plain(question) for question in view.questions],
        "versions": [entry_json(entry) for entry in view.versions],
        "opinions": [_plain(opinion) for opinion in view.opinions],
        "labels": [_plain(label) for label in view.labels],
        "log": [line_json(line) for line in view.lines],
        "waiting": _plain(view.waiting) if view.waiting else None,
        "found_wrong": view.flags,
        "why": why_json(view.why) if view.why else None,
        "thresholds": _thresholds(view.policy) if view.policy else None,
    }


def why_json(why: Why) -> dict[str, Any]:
    """Give an explanation; spans are characters [start, end) of question and stored question."""
    told: dict[str, Any] = _plain(why)
    told["objections"] = [
        {"rule": one.word, "asked": one.asked, "stored": one.stored, "raises": one.raises}
        for one in why.objections
    ]
    return told


def settled_json(settled: Settled) -> dict[str, Any]:
    """Give what a verdict made of an entry."""
    return {
        "entry": entry_json(settled.entry) if settled.entry else None,
        "line": line_json(settled.line),
        "published": settled.published,
    }


def line_json(line: Line) -> dict[str, Any]:
    """Give a line of the log."""
    act = line.act
    return {
        "number": line.number,
        "who": act.who,
        "at": act.at,
        "what": act.what,
        "entry": act.entry,
        "before": dict(act.before),
        "after": dict(act.after),
        "note": act.note,
        "previous": line.previous,
        "digest": line.digest,
    }


def numbers_json(numbers: Numbers) -> dict[str, Any]:
    """Give live numbers."""
    return {
        "tenant": numbers.tenant,
        "since": numbers.since,
        "entries": numbers.entries,
        "bytes": numbers.bytes,
        "domains": [_domain_json(domain) for domain in numbers.domains],
    }


def _domain_json(domain: DomainNumbers) -> dict[str, Any]:
    return {
        "domain": domain.domain,
        "hits": domain.hits,
        "tallies": dict(domain.tallies),
        "wrong_per_hit": domain.wrong,
        "interval": list(domain.interval),
        "standing": _plain(domain.standing) if domain.standing else None,
        "alarm": _plain(domain.alarm) if domain.alarm else None,
    }


def policy_json(policy: CachePolicy) -> dict[str, Any]:
    """Give a domain's policy, read-only."""
    told: dict[str, Any] = asdict(policy)
    told.pop("encoder_scales")
    return told


def _thresholds(policy: CachePolicy) -> dict[str, float]:
    return {
        "threshold": policy.threshold,
        "verified_threshold": policy.verified_threshold,
        "draft_threshold": policy.draft_threshold,
        "min_score": policy.min_score,
    }


def _plain(value: Any) -> dict[str, Any]:
    """Give a record as a dict; words of closed sets become text, mappings plain."""
    return {name: _json(inner) for name, inner in asdict(value).items()}


def _json(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value
