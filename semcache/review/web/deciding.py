"""The forms that decide, and what happens where somebody else decided first.

A verdict is sent with the state of the entry that its page showed; the page that answers a late one shows both
states, who came first, and keeps what was written.
"""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from semcache.core import Entry
from semcache.errors import RequestError
from semcache.review.answers import text_of
from semcache.review.looking import etag_of
from semcache.review.problems import ConflictError, NotThereError, TooLargeError, UnfitError
from semcache.review.verdicts import (
    Approve,
    Bar,
    Edit,
    Narrow,
    Publish,
    Purge,
    Raise,
    Reject,
    Reopen,
    Unbar,
    Verdict,
)
from semcache.review.views import EntryView
from semcache.review.web.diff import diff
from semcache.review.web.entry_view import SHOWN, EntryPage, entry_page
from semcache.review.web.frame import elsewhere
from semcache.review.web.marks import plain, shown, visible
from semcache.review.web.reading import entry_id
from semcache.review.web.visit import Visit, number_in

_MOST_EDIT = 1 << 20
_STAY = frozenset(("bar", "unbar", "raise", "narrow", "widen", "reopen"))
"""Verdicts after which there may be more to decide about the same entry."""
_SURE = frozenset(("publish", "purge"))
"""What cannot be taken back is asked for twice."""


async def edit(visit: Visit) -> Response:
    """Show the form for another answer."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit))
    return _edit_page(visit, view, view.answer or "")


async def preview(visit: Visit) -> Response:
    """Show what an edit would change: the change alone where the page asks, else the form again."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit))
    text = visit.form.get("answer", "")
    if visit.is_partial:
        return visit.page("preview.html", difference=_difference(view, text))
    page = replace(entry_page(view, visit.ui, is_whole=False), etag=visit.form.get("etag", ""))
    return _edit_form(visit, view, page, text)


async def verdict(visit: Visit) -> Response:
    """Take a decision, and go on."""
    form = visit.form
    word = form.get("verdict", "")
    entry = entry_id(visit)
    if word == "dismiss":
        await visit.service.dismiss(visit.who, visit.tenant, [entry])
    else:
        try:
            await visit.service.settle(
                visit.who,
                visit.tenant,
                entry,
                form.get("etag", ""),
                _verdict(visit, word),
                form.get("note", ""),
            )
        except ConflictError as error:
            return await _conflict(visit, error.present)
        except NotThereError:
            return await _conflict(visit, None)
        except (TooLargeError, UnfitError) as error:
            if word == "edit":
                return await _refused(visit, error)
            raise
    visit.session.say(f"done.{word}", "" if word == "purge" else entry)
    if word in _STAY and form.get("back") != "queue":
        return elsewhere(visit.ui.at("entries", entry))
    return elsewhere(visit.ui.home)


def _verdict(visit: Visit, word: str) -> Verdict:
    form = visit.form
    asked = form.get("asked", "")
    if word in _SURE and form.get(f"sure-{word}") != "yes":
        raise UnfitError("not-sure", visit.ui.t("error.sure"), "sure")
    match word:
        case "approve":
            return Approve(asked=form.get("fits", ""))
        case "until":
            days = number_in(form, "days", 0.01, 3650) or 30.0
            return Approve(visit.ui.t.now + days * 86_400, form.get("fits", ""))
        case "edit":
            return Edit(form.get("answer", ""))
        case "raise":
            return Raise(number_in(form, "least", 0.0, 1.0))
        case "bar":
            return Bar(asked)
        case "unbar":
            return Unbar(asked)
    plain_ones: dict[str, Verdict] = {
        "reject": Reject(),
        "reopen": Reopen(),
        "narrow": Narrow(),
        "widen": Narrow(on=False),
        "publish": Publish(),
        "purge": Purge(),
    }
    known = plain_ones.get(word)
    if known is None:
        raise UnfitError("bad-verdict", "There is no such verdict.", "verdict")
    return known


def _edit_page(visit: Visit, view: EntryView, text: str, problem: str = "", status: int = 200) -> Response:
    page = entry_page(view, visit.ui, is_whole=False)
    return _edit_form(visit, view, page, text, problem, status)


def _edit_form(
    visit: Visit, view: EntryView, page: EntryPage, text: str, problem: str = "", status: int = 200
) -> Response:
    most = view.policy.max_entry_bytes if view.policy is not None else _MOST_EDIT
    return visit.page(
        "edit.html",
        status,
        view=page,
        text=text,
        note=visit.form.get("note", ""),
        problem=problem,
        most=most,
        difference=_difference(view, text),
    )


def _difference(view: EntryView, text: str) -> object:
    now = view.answer or ""
    return () if text == now else shown(diff(now, text))


async def _refused(visit: Visit, error: RequestError) -> Response:
    """Show the form again with what was written, and why that cannot be."""
    view = await visit.service.view(visit.who, visit.tenant, entry_id(visit))
    text = visit.form.get("answer", "")
    problem = str(error)
    if isinstance(error, TooLargeError):
        most = view.policy.max_entry_bytes if view.policy is not None else _MOST_EDIT
        size = visit.ui.t.size(len(text.encode("utf-8", "replace")))
        problem = visit.ui.t("edit.too_large", size=size, most=visit.ui.t.size(most))
    page = replace(entry_page(view, visit.ui, is_whole=False), etag=visit.form.get("etag", ""))
    return _edit_form(visit, view, page, text, problem, error.status)


async def _conflict(visit: Visit, present: Entry | None) -> Response:
    """Tell what happened meanwhile, kindly; 412 where the entry changed, 404 where there is none for this reviewer."""
    name, service = entry_id(visit), visit.service
    lines = await service.looking.lines_about(visit.tenant, name)
    if present is None and not lines:
        raise NotThereError
    view = await service.view(visit.who, visit.tenant, name) if present is not None else None
    versions = (
        view.versions if view is not None else await service.shelf.verdicts.versions(visit.tenant, name)
    )
    before = next((item for item in versions if _is_seen(item, visit.form.get("etag", ""))), None)
    last = lines[0].act if lines else None
    word = visit.form.get("verdict", "")
    then = text_of(before.completion) or "" if before is not None else ""
    now = view.answer or "" if view is not None else ""
    pieces = diff(then[:SHOWN], now[:SHOWN])
    return visit.page(
        "conflict.html",
        412,
        view=entry_page(view, visit.ui, is_whole=False) if view is not None else None,
        href=visit.ui.at("entries", name),
        who=plain(last.who) if last is not None else "",
        what=last.what if last is not None else "",
        at=last.at if last is not None else 0.0,
        their_note=plain(last.note) if last is not None else "",
        before=_state(before, then) if before is not None else None,
        now=_state(view.entry, now) if view is not None else None,
        difference=shown(pieces) if before is not None and view is not None and then != now else (),
        is_same=before is not None and view is not None and then == now,
        text=visit.form.get("answer", "") if word == "edit" else None,
        note=visit.form.get("note", ""),
    )


def _is_seen(version: Entry, etag: str) -> bool:
    """Tell whether an earlier version is the one that a form was about; what it was barred from is kept nowhere."""
    seen = etag.strip('"').split(".")
    mine = etag_of(version).strip('"').split(".")
    return seen[:2] == mine[:2]


def _state(entry: Entry, text: str) -> dict[str, object]:
    return {"number": entry.version, "text": visible(text[:SHOWN])}
