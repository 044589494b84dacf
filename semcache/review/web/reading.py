"""The pages that show something and change nothing: queue, entry, search, policies, numbers, log."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from semcache.core import CachePolicy, EntryId
from semcache.decide.risk.standing import Standing
from semcache.errors import StoreError
from semcache.review.views import Filter
from semcache.review.web.entry_view import entry_page
from semcache.review.web.frame import sealed
from semcache.review.web.live_view import Live, LiveView, live_view, log_rows, policy_rows
from semcache.review.web.plots import plot
from semcache.review.web.queue_view import REASONS, found_rows, queue_rows
from semcache.review.web.visit import Visit, number_in
from semcache.review.whatif import what_if
from semcache.review_rules import ReviewStatus

_PAGE = 50
_LOG = 50
_COUNTED = 200
_DAY = 86_400.0
_WEEK = 7 * _DAY


def entry_id(visit: Visit) -> EntryId:
    """Give the entry that an address names."""
    return EntryId(visit.request.path_params["id"])


async def queue(visit: Visit) -> Response:
    """Show what waits; its rows alone where the page asks for them again."""
    asked = visit.query
    domain, reason, cursor = asked.get("domain", ""), asked.get("reason", ""), asked.get("cursor", "")
    found = await visit.service.queue(visit.who, visit.tenant, cursor, _PAGE, domain=domain, reason=reason)
    rows = queue_rows(found, visit.ui)
    seen = hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if visit.is_partial and asked.get("seen") == seen:
        return sealed(Response(status_code=204))
    kept = {"domain": domain, "reason": reason}
    policies = visit.service.policies(visit.who, visit.tenant)
    names = sorted({policy.domain for policy in policies} | {row.domain for row in rows} | ({domain} - {""}))
    return visit.page(
        "queue_rows.html" if visit.is_partial else "queue.html",
        rows=rows,
        seen=seen,
        poll=_with(visit.ui.here_url, {**kept, "cursor": cursor}),
        domain=domain,
        reason=reason,
        domains=names,
        words=REASONS,
        newest=_with(visit.ui.here_url, kept) if cursor else "",
        older=_with(visit.ui.here_url, {**kept, "cursor": found.cursor}) if found.cursor else "",
    )


async def entry(visit: Visit) -> Response:
    """Show an entry with everything known of it."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit), visit.query.get("asked", ""))
    return visit.page("entry.html", view=entry_page(view, visit.ui))


async def peek(visit: Visit) -> Response:
    """Show an entry beside the queue."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit))
    return visit.page("peek.html", view=entry_page(view, visit.ui, is_whole=False))


async def answer(visit: Visit) -> Response:
    """Give an answer as plain text, however long."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit))
    body = (view.answer or "").encode("utf-8", "replace")
    return sealed(Response(body, media_type="text/plain; charset=utf-8"))


async def search(visit: Visit) -> Response:
    """Look for entries."""
    asked = visit.query
    status = asked.get("status", "")
    fields = {name: asked.get(name, "").strip() for name in ("q", "domain", "model", "tag")}
    wanted = Filter(
        text=fields["q"], tag=fields["tag"], model=fields["model"], domain=fields["domain"], status=status
    )
    searched = bool(asked)
    rows, older = [], ""
    if searched:
        found = await visit.service.find(visit.who, visit.tenant, wanted, asked.get("cursor", ""), _PAGE)
        rows = found_rows(found.entries, visit.ui)
        more = {**fields, "status": status, "cursor": found.cursor}
        older = _with(visit.ui.here_url, more) if found.cursor else ""
    return visit.page(
        "search.html",
        asked={**fields, "status": status},
        searched=searched,
        rows=rows,
        older=older,
        statuses=[item.value for item in ReviewStatus],
    )


async def policies(visit: Visit) -> Response:
    """Show policies, and what other thresholds would have done."""
    known = visit.service.policies(visit.who, visit.tenant)
    standings = await _standings(visit, known)
    content = await _what_if(visit, known)
    return visit.page("policies.html", policies=policy_rows(known, standings, visit.ui), **content)


async def whatif(visit: Visit) -> Response:
    """Show what a threshold would have done, alone."""
    known = visit.service.policies(visit.who, visit.tenant)
    return visit.page("whatif.html", **await _what_if(visit, known))


async def _standings(visit: Visit, known: tuple[CachePolicy, ...]) -> dict[str, Standing]:
    ask = visit.service.looking.standing
    if ask is None:
        return {}
    found = [(policy.domain, await ask(policy)) for policy in known]
    return {domain: standing for domain, standing in found if standing is not None}


async def _what_if(visit: Visit, known: tuple[CachePolicy, ...]) -> dict[str, Any]:
    asked = visit.query
    policy = next((item for item in known if item.domain == asked.get("domain")), known[0] if known else None)
    if policy is None:
        return {"tried": None, "domain": "", "threshold": "", "score": ""}
    threshold = number_in(asked, "threshold", 0.0, 1.0)
    score = number_in(asked, "score", 0.0, 1.0)
    # Another domain has other thresholds in force: what was entered for the one before says nothing.
    if threshold is None or asked.get("before", policy.domain) != policy.domain:
        threshold, score = policy.threshold, policy.min_score
    least = policy.min_score if score is None else score
    decisions = await visit.service.decisions(visit.who, visit.tenant, policy.domain)
    tried = what_if(decisions, threshold, least)
    in_force = what_if(decisions, policy.threshold, policy.min_score)
    return {
        "domain": policy.domain,
        "threshold": f"{threshold:g}",
        "score": f"{least:g}",
        "tried": tried,
        "known": sum(1 for item in decisions if item.wrong is not None),
        "more": tried.would - in_force.would,
        "in_force": policy.threshold,
        "plot": plot(decisions, threshold, least, policy.threshold),
    }


async def log(visit: Visit) -> Response:
    """Show the audit log, and whether its chain is whole."""
    cursor = visit.query.get("cursor", "")
    page = await visit.service.log(visit.who, visit.tenant, cursor, _LOG)
    broken: int | None = None
    chain = ""
    if not cursor:  # worked out over the whole log: once, on its first page
        try:
            broken = await visit.service.broken(visit.who, visit.tenant)
            chain = "whole" if broken is None else "broken"
        except StoreError:
            chain = "unknown"
    url = visit.ui.here_url
    return visit.page(
        "log.html",
        lines=log_rows(page.lines, visit.ui),
        chain=chain,
        broken_at=broken,
        newest=url if cursor else "",
        older=_with(url, {"cursor": page.cursor}) if page.cursor else "",
    )


async def numbers(visit: Visit) -> Response:
    """Give the page of live numbers."""
    return visit.page("numbers.html", live=await _live(visit))


async def numbers_live(visit: Visit) -> Response:
    """Give the part of it that is loaded again."""
    return visit.page("numbers_live.html", live=await _live(visit))


async def _live(visit: Visit) -> LiveView:
    service, who, tenant, now = visit.service, visit.who, visit.tenant, visit.ui.t.now
    numbers = await service.numbers(who, tenant, now - _WEEK)
    waiting = await service.shelf.queue.waiting(tenant, limit=_COUNTED)
    newest = await service.log(who, tenant, limit=_COUNTED)
    today = now - now % _DAY
    live = Live(
        queue=len(waiting.waiting),
        has_more=bool(waiting.cursor),
        verdicts=sum(1 for line in newest.lines if line.act.at >= today and line.act.entry),
        numbers=numbers,
        judges=await service.judges(who, tenant),
    )
    return live_view(live, visit.ui)


def _with(address: str, fields: Mapping[str, str]) -> str:
    given = {name: value for name, value in fields.items() if value}
    return f"{address}?{urlencode(given)}" if given else address
