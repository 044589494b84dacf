"""`POST /semcache/feedback`: a caller says whether an answer that it got from the cache was right.

Counts only for hits that were really served to callers of the same tenant (and, where the caller's own key
was passed through, of the same key), once a caller and request. `wrong` also keeps the answer from this
question before the reply goes out, and puts it before a reviewer (`proxy.complaints`); `right` changes nothing of
that. Knows no policy: what a complaint weighs is decided where evidence is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response

from semcache.core import Caller, EntryId
from semcache.decide.risk.grid import bucket_of
from semcache.errors import RequestError, StoreError
from semcache.evidence_port import AuditBudget, EvidenceStore, Finding, Label, ServedHit, ServedHits, Source
from semcache.ports import Change, Clock
from semcache.proxy.admission import Admission, refuse_encoding
from semcache.proxy.body import ClientGone, parse_object, read_body
from semcache.proxy.complaints import Barred, Complaints
from semcache.proxy.described import FeedbackGiven, FeedbackTaken, json_body, refusals
from semcache.proxy.headers import read_request_headers
from semcache.review_port import ReviewQueue, Verdicts

PATH = "/semcache/feedback"
_FIELDS = frozenset(("entry", "request", "verdict", "note"))
_VERDICTS: Mapping[str, Finding] = {"right": Finding.RIGHT, "wrong": Finding.WRONG}
_LONGEST_BODY = 8 << 10
_LONGEST_NAME = 128
_LONGEST_NOTE = 200
_PATIENCE = 10.0
_CLIENT_CLOSED = 499


def unheard(_: Change) -> None:
    """Hold nothing that a complaint could change."""


@dataclass(frozen=True, slots=True)
class FeedbackRules:
    """How much a caller may say: `most` verdicts within `window` seconds; `bars` pairs it may bar a day."""

    most: int = 60
    window: float = 60.0
    bars: int = 50


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a caller said. Exactly one of `entry` and `request` is not empty."""

    entry: str
    request: str
    finding: Finding
    note: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """Turns verdicts of callers into labels.

    Args:
        evidence: where labels go.
        hits: what was served.
        budget: counts how often a caller speaks.
        clock: time of labels.
        flush: writes down what this worker has served a moment ago.
        labelled: hears of each label (source, verdict).
        verdicts, queue: what complaints go to beside; None: they are only counted.
        rules: bounds.
        heard: hears of what a complaint has changed, as if the change stream told it.
    """

    evidence: EvidenceStore
    hits: ServedHits
    budget: AuditBudget
    clock: Clock
    flush: Callable[[], Awaitable[None]]
    labelled: Callable[[str, str], None]
    verdicts: Verdicts | None = None
    queue: ReviewQueue | None = None
    rules: FeedbackRules = FeedbackRules()
    heard: Callable[[Change], None] = unheard

    async def take(self, caller: Caller, verdict: Verdict) -> dict[str, Any]:
        """Count a verdict; gives what the caller is told.

        Raises:
            RequestError: 404, no such hit of this caller's; 429, too much was said; 503, the
                store cannot be reached: what was not done is done when it is said again.
        """
        try:
            return await self._take(caller, verdict)
        except StoreError as error:
            message = "Feedback cannot be taken at the moment."
            raise RequestError(
                message,
                status=503,
                type="server_error",
                code="evidence_unavailable",
                headers=(("retry-after", "5"),),
            ) from error

    async def _take(self, caller: Caller, verdict: Verdict) -> dict[str, Any]:
        who = caller.principal or caller.key_name
        if not await self.budget.allows(caller.tenant, f"feedback:{who}", self.rules.most, self.rules.window):
            raise RequestError(
                "Too much feedback at once.",
                status=429,
                type="rate_limit_error",
                code="rate_limit_exceeded",
                headers=(("retry-after", str(int(self.rules.window))),),
            )
        hit = await self._hit(caller, verdict)
        if hit is None:
            await self.flush()
            hit = await self._hit(caller, verdict)
        if hit is None:
            # One text, whether it never was, is another's, or has been forgotten.
            param = "entry" if verdict.entry else "request"
            message = (
                "No answer from the cache is known by this name; feedback is taken for some days after it."
            )
            raise RequestError(message, status=404, code="unknown_hit", param=param)
        complaints = self._complaints() if verdict.finding is Finding.WRONG else None
        barred = await complaints.bar(caller, who, hit) if complaints is not None else Barred(False)
        counted = await self.evidence.add(self._label(caller, who, hit, verdict))
        if counted:
            self.labelled(Source.FEEDBACK, verdict.finding)
            if complaints is not None and not barred.sighted:
                await complaints.sight(caller, hit)
        told = {
            "object": "semcache.feedback",
            "counted": counted,
            "verdict": verdict.finding,
            "entry": hit.entry,
            "request": hit.request,
            "barred": barred.done,
        }
        return told | ({"reason": barred.reason} if barred.reason else {})

    def _complaints(self) -> Complaints | None:
        if self.verdicts is None or self.queue is None:
            return None
        return Complaints(
            self.verdicts, self.queue, self.hits, self.budget, self.clock, self.rules.bars, self.heard
        )

    async def _hit(self, caller: Caller, verdict: Verdict) -> ServedHit | None:
        if verdict.entry:
            return await self.hits.by_entry(caller.tenant, EntryId(verdict.entry), caller.principal)
        hit = await self.hits.by_request(caller.tenant, verdict.request)
        return hit if hit is not None and hit.principal == caller.principal else None

    def _label(self, caller: Caller, who: str, hit: ServedHit, verdict: Verdict) -> Label:
        now = self.clock.now()
        return Label(
            id=f"feedback:{who}:{hit.request}",
            tenant=caller.tenant,
            domain=hit.domain,
            source=Source.FEEDBACK,
            finding=verdict.finding,
            bin=hit.bin,
            bucket=bucket_of(now),
            at=now,
            entry=hit.entry,
            request=hit.request,
            score=hit.score,
            similarity=hit.similarity,
            note=verdict.note,
            subject=hit.subject if verdict.note else "",
        )


def read_verdict(body: bytes) -> Verdict:
    """Read the body of a request.

    Raises:
        RequestError: 400 with `param`.
    """
    value, _ = parse_object(body)
    unknown = sorted(value.keys() - _FIELDS)
    if unknown:
        message = f"Unknown field; feedback takes: {', '.join(sorted(_FIELDS))}."
        raise RequestError(message, param=unknown[0][:_LONGEST_NAME])
    entry, request = (_text(value, name, _LONGEST_NAME) for name in ("entry", "request"))
    if bool(entry) == bool(request):
        message = "Name the answer by exactly one of 'entry' (Semcache-Entry) and 'request' (X-Request-Id)."
        raise RequestError(message, param="request")
    finding = _VERDICTS.get(_text(value, "verdict", _LONGEST_NAME))
    if finding is None:
        raise RequestError("'verdict' must be right or wrong.", param="verdict")
    return Verdict(entry, request, finding, _text(value, "note", _LONGEST_NOTE))


def _text(value: Mapping[str, Any], name: str, longest: int) -> str:
    text = value.get(name, "")
    if text is None:
        return ""
    if not isinstance(text, str) or len(text) > longest or not text.isprintable():
        raise RequestError(f"'{name}' must be a text of at most {longest} printable characters.", param=name)
    return text


def take_feedback(app: FastAPI, admission: Admission, feedback: Feedback) -> None:
    """Add the route. Authentication comes before the body is read."""

    @app.post(
        PATH,
        openapi_extra=json_body(FeedbackGiven.model_json_schema()),
        responses={200: {"model": FeedbackTaken}, **refusals(400, 401, 404, 408, 413, 415, 429, 503)},
        response_model=None,
    )
    async def give(request: Request) -> Response:
        headers = read_request_headers(request.scope["headers"])
        caller = admission.caller(request.scope, headers)
        refuse_encoding(headers)
        try:
            body = await read_body(request.receive, headers.content_length, _LONGEST_BODY, _PATIENCE)
        except ClientGone:
            return Response(status_code=_CLIENT_CLOSED)
        told = await feedback.take(caller, read_verdict(body))
        head = {"content-type": "application/json", "cache-control": "private, no-store"}
        return Response(orjson.dumps(told), headers=head)
