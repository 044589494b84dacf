"""One chat request and its reply, from first byte to record.

The only mutable thing of a request in this room; it lives exactly as long as the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semcache.answer.shared import Head
from semcache.asking.calls import text_of
from semcache.core import Completion, Draft, Hit, Outcome, RequestRecord, Usage
from semcache.cost.symptoms import repetition
from semcache.cost_rules import Trimming
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete, UsageMode, Wanted
from semcache.dialects.ollama.loading import loaded
from semcache.dialects.table import BY_NAME
from semcache.dialects.unsaid import NothingAsked
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.journey import Asked, Forwarded, Served, Trace
from semcache.proxy.admission import refuse_encoding
from semcache.proxy.body import read_body
from semcache.proxy.directives import directives_of
from semcache.proxy.disconnect import until_disconnect
from semcache.proxy.errors import error_reply, identified, request_ids, words_of
from semcache.proxy.gathering import gathered
from semcache.proxy.guess import avoided, guessed
from semcache.proxy.headers import Pair, is_event_stream, key_in, read_request_headers, reply_headers
from semcache.proxy.passthrough import checked_path
from semcache.proxy.recent import read_request
from semcache.proxy.replay import name_of
from semcache.proxy.status import Told, forward_headers, hit_headers, money_headers, told
from semcache.proxy.types import Receive, Scope, Send
from semcache.proxy.wording import Wording, stream_in, whole_in, wording_of
from semcache.revising.replies import drafted

if TYPE_CHECKING:
    from semcache.answer.flight import Ticket
    from semcache.proxy.chat import ChatEndpoint

_UNBUFFERED = (b"x-accel-buffering", b"no")
_JSON = (b"content-type", b"application/json")
_CLIENT_CLOSED = 499
_LOOKED_AT = 4096
"""Characters of an answer: a loop runs until something stops it, and looking takes time that others wait."""


class Exchange:
    """Reads, answers, writes and sums up one request.

    Args:
        end: the endpoint it belongs to.
        dialect: what the client speaks.
        scope, receive, send: the ASGI connection.
    """

    def __init__(
        self, end: ChatEndpoint, dialect: Dialect, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.request_id = end.new_request_id()
        self._end = end
        self._dialect = dialect
        self._scope = scope
        self._receive = receive
        self._send = identified(send, dialect)
        self._started = end.clock.monotonic()
        self._overhead = 0.0
        self._status = 0
        self._wording: Wording | None = None
        """How a stream that has begun reaches the client."""
        self._loads = False
        self._events = 0
        self._bytes = 0
        self._asked: Asked | None = None
        self._trace: Trace | None = None
        self._error: SemcacheError | None = None

    async def run(self) -> None:
        """Read the request, have it answered, write the answer.

        Raises:
            SemcacheError: to be told to the client.
            ClientGone: nobody is there to be told.
        """
        asked = self._asked = await self._read()
        try:
            answer = await self._end.pipeline.answer(asked)
        except NothingAsked:
            await self._loaded(asked)
            return
        self._trace = answer.trace
        self._overhead = self._end.clock.monotonic() - self._started
        if isinstance(answer, Served):
            saved = avoided(answer.entry, asked.request)
            head = hit_headers(answer.entry, answer.trace, self._end.clock.now(), self.request_id, saved)
            head += self._money(0, saved)
            await self._replay(answer.entry.completion, name_of(answer.entry), head)
            return
        try:
            async with until_disconnect(self._receive):
                await self._relay(answer, asked)
        finally:
            answer.trace.spent = answer.ticket.spent
            await answer.ticket.aclose()
            self._handed_over(answer)

    async def _loaded(self, asked: Asked) -> None:
        """Tell an Ollama client that its model is there."""
        self._loads = True
        body = loaded(asked.request.path, asked.request.native or {}, self._end.clock.now())
        kind = self._dialect.stream_type if asked.request.stream else _JSON[1]
        head = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
        await self._whole(200, [*head, *request_ids(self.request_id, self._dialect)], body)

    def _handed_over(self, answer: Forwarded) -> None:
        """Whoever made a shared call and left before its end leaves the bill to one who stays."""
        trace, ticket = answer.trace, answer.ticket
        if ticket.pays == trace.collapsed:
            trace.spent = ticket.used if trace.collapsed else Usage(0, 0)
            trace.collapsed = False

    async def _read(self) -> Asked:
        dialect, path = self._dialect, checked_path(self._scope)
        query: bytes = self._scope.get("query_string", b"")
        headers = read_request_headers(self._scope["headers"], key_in(query, dialect))
        caller = self._end.admission.caller(self._scope, headers)
        refuse_encoding(headers)
        body = await read_body(
            self._receive, headers.content_length, self._end.body_limit, self._end.body_deadline
        )
        parsed = self._end.recent.get(path, query, body) or read_request(dialect, body, path, query)
        directives = directives_of(headers.ours, parsed.cache_object)
        if not directives.no_store:
            self._end.recent.put(path, query, body, parsed)
        return Asked(
            request=parsed.request,
            caller=caller,
            directives=directives,
            headers=headers.forward,
            answer_changing=headers.answer_changing,
            upstream=headers.upstream,
            raw_body=None if parsed.whole else body,
            request_id=self.request_id,
            dialect=dialect,
        )

    # -- writing ------------------------------------------------------------------------

    async def _replay(self, completion: Completion, name: str, head: list[Pair]) -> None:
        """Write a stored (or another caller's) whole answer in the wire mode that was asked for."""
        if self._asked is None or self._trace is None:
            raise SemcacheError
        request, policy = self._asked.request, self._trace.policy
        usage: UsageMode = "zero" if policy.usage_on_hit == "zero" and self._trace.served else "original"
        wanted = Wanted(request.stream, request.include_usage and request.stream, usage)
        body = self._end.replay.render(self._dialect, completion, name, wanted)
        if request.stream:
            await self._whole(200, [(b"content-type", self._dialect.stream_type), _UNBUFFERED, *head], body)
        else:
            await self._whole(200, [_JSON, (b"content-length", b"%d" % len(body)), *head], body)

    async def _relay(self, answer: Forwarded, asked: Asked) -> None:
        """Write what the upstream says, as it comes."""
        ticket, trace = answer.ticket, answer.trace
        head = await ticket.head()
        trace.collapsed = not ticket.leader
        trace.draft = trace.draft or drafted(head.headers)
        trace.answered_by(head.headers)
        streams = self._streams(head, trace)
        if not ticket.leader and head.status < 300 and streams != asked.request.stream:
            await self._relay_other_mode(answer, asked)
        elif streams:
            await self._relay_stream(answer, asked, head)
        else:
            await self._relay_whole(ticket, asked, trace, head)

    def _streams(self, head: Head, trace: Trace) -> bool:
        if is_event_stream(head.headers):
            return head.status < 400 or not self._is_translated(trace)
        # Other protocols have media types of their own for streams.
        native = trace.spoken == self._dialect.name and head.status < 300
        return native and head.content_type.encode() == self._dialect.stream_type.partition(b";")[0]

    async def _relay_other_mode(self, answer: Forwarded, asked: Asked) -> None:
        """A follower that asked for the other wire mode waits for the whole answer; one cut short is for its own mode alone."""
        ticket, trace = answer.ticket, answer.trace
        whole = await ticket.completion()
        if whole == Incomplete("cut"):
            # It failed for all; were everybody to try again, a crowd would.
            raise UpstreamError("The shared upstream call gave no whole answer.", code="upstream_incomplete")
        if isinstance(whole, Incomplete) or not self._dialect.can_replay(whole, stream=asked.request.stream):
            ticket.change("stream" if asked.request.stream else "whole")
            await self._relay(answer, asked)
            return
        trace.completion = whole
        head = forward_headers(trace, 200, self.request_id, named=False)
        await self._replay(whole, "", head)

    async def _relay_whole(self, ticket: Ticket, asked: Asked, trace: Trace, head: Head) -> None:
        """Gather a JSON reply (of whatever status), then write it with its length."""
        body = await gathered(ticket.chunks())
        self._bytes = len(body)
        passed, ours = self._heads(trace, head)
        length = True
        if self._is_translated(trace) and asked.request.stream and head.status < 300:
            # The upstream does not stream; its client must not be left waiting for events.
            body = stream_in(self._dialect, body, self._end.new_completion_id(), int(self._end.clock.now()))
            passed, length = _of_kind(passed, self._dialect.stream_type), False
        elif self._is_translated(trace):
            body = whole_in(self._dialect, head.status, body)
        if ticket.pays:
            ours += self._money(self._price(ticket.used), None)
        sized = [(b"content-length", b"%d" % len(body))] if length else [_UNBUFFERED]
        await self._whole(head.status, [*passed, *sized, *ours], body)

    async def _relay_stream(self, answer: Forwarded, asked: Asked, head: Head) -> None:
        """Pass events on as they come; the usage event only to those who asked for it."""
        passed, ours = self._heads(answer.trace, head)
        strip = not asked.request.include_usage and (answer.usage_asked or not answer.ticket.leader)
        wording = self._wording = wording_of(
            self._dialect,
            self._end.new_completion_id(),
            int(self._end.clock.now()),
            translated=self._is_translated(answer.trace),
            strip=strip and answer.trace.spoken == CHAT.name,
        )
        self._status = head.status
        await self._send(
            {
                "type": "http.response.start",
                "status": head.status,
                "headers": [*passed, _UNBUFFERED, *ours],
            }
        )
        counted = BY_NAME[answer.trace.spoken]
        async for chunk in answer.ticket.chunks():
            self._events += counted.count_events(chunk)
            body = wording.feed(chunk)
            if body:
                await self._send({"type": "http.response.body", "body": body, "more_body": True})
        await self._send({"type": "http.response.body", "body": wording.finish(), "more_body": False})

    def _heads(self, trace: Trace, head: Head) -> tuple[list[Pair], list[Pair]]:
        """Give the upstream's headers that reach the client, and ours."""
        passed = reply_headers(head.headers, counted=False)
        if self._is_translated(trace):
            kind = self._dialect.stream_type if self._streams(head, trace) else _JSON[1]
            passed = _of_kind(passed, kind)
        named = any(name == b"x-request-id" for name, _ in passed)
        return passed, forward_headers(trace, head.status, self.request_id, named=named)

    def _is_translated(self, trace: Trace) -> bool:
        return trace.spoken != self._dialect.name

    async def _whole(self, status: int, head: list[Pair], body: bytes) -> None:
        self._status = status
        await self._send({"type": "http.response.start", "status": status, "headers": head})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _money(self, cost: int | None, saved: Usage | None) -> list[Pair]:
        """Say what the answer cost and saved, in micro-USD, as far as prices are known."""
        return money_headers(cost, self._price(saved))

    def _price(self, usage: Usage | None) -> int | None:
        trace = self._trace
        if usage is None or trace is None:
            return None
        return self._end.price(trace.model, usage, trace.backend)

    # -- ending -------------------------------------------------------------------------

    def left(self) -> None:
        """Note that the client hung up."""
        self._status = self._status or _CLIENT_CLOSED

    async def fail(self, error: SemcacheError) -> None:
        """Tell the client of an error: as a reply, or as the last event of a stream that has begun."""
        self._error = error.with_traceback(None)  # whose frames hold this
        if self._wording is not None:
            body = self._wording.broken(words_of(error))
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
        elif not self._status:
            status, head, body = error_reply(error, self.request_id, self._dialect)
            await self._whole(status, head, body)

    def _was_answered(self) -> bool:
        """True when a model worked for this request: it answered, or may have until the client left."""
        failed = isinstance(self._error, RequestError) or (self._error is not None and self._wording is None)
        return self._status in (200, _CLIENT_CLOSED) and not failed

    def _is_retry(self, asked: Asked, trace: Trace) -> bool:
        """True when the same caller had the very same answered by a model, or failed, moments ago."""
        if trace.served or trace.collapsed or not trace.key:
            return False
        who = f"{trace.key}\x00{asked.caller.key_name}\x00{asked.directives.user or asked.request.end_user}"
        return self._end.retries.seen(trace.policy.tenant, who, self._started, self._end.clock.monotonic())

    def record(self) -> RequestRecord:
        """Give the one fact this request leaves behind."""
        clock, asked, trace = self._end.clock, self._asked, self._trace
        what = told(trace) if trace is not None else Told(Outcome.ERROR, "refused")
        if self._error is not None:
            what = Told(Outcome.ERROR, self._error.code or self._error.type)
        elif self._status == _CLIENT_CLOSED:
            what = Told(Outcome.ERROR, "client-gone")
        elif self._loads:
            what = Told(Outcome.BYPASS, "load")
        now, duration = clock.now(), clock.monotonic() - self._started
        if trace is None or asked is None:
            return RequestRecord(
                request_id=self.request_id,
                at=now,
                tenant=asked.caller.tenant if asked else "",
                domain="",
                route=self._dialect.route,
                model=asked.request.model if asked else "",
                stream=False,
                outcome=what.outcome,
                reason=what.reason,
                status=self._status,
                duration=duration,
                overhead=0.0,
                key_name=asked.caller.key_name if asked else "",
                labels=asked.labels if asked else (),
            )
        decision = trace.decision
        entry = decision.entry if isinstance(decision, Hit | Draft) else None
        usage = trace.completion.usage if trace.completion else trace.spent
        guess = usage is None and not trace.served and not trace.collapsed and self._was_answered()
        if guess:
            usage = guessed(
                asked.request,
                events=self._events,
                body=self._bytes,
                seconds=duration,
                said=text_of(trace.completion) if trace.completion else "",
            )
        shadow = isinstance(decision, Hit) and not trace.served
        return RequestRecord(
            request_id=self.request_id,
            at=now,
            tenant=trace.policy.tenant,
            domain=trace.policy.domain,
            route=self._dialect.route,
            model=trace.model,
            stream=asked.request.stream,
            outcome=what.outcome,
            reason=what.reason,
            status=self._status,
            duration=duration,
            overhead=self._overhead,
            similarity=getattr(decision, "similarity", None),
            score=getattr(decision, "score", None),
            entry_id=entry.id if entry else "",
            vetoes=getattr(decision, "vetoes", ()) or getattr(decision, "reasons", ()),
            stored=trace.stored,
            collapsed=trace.collapsed,
            shadow=("exact" if decision.exact else "semantic")
            if shadow and isinstance(decision, Hit)
            else "",
            usage=None if trace.collapsed else usage,
            saved=avoided(entry, asked.request)
            if entry and trace.served
            else usage
            if trace.collapsed
            else None,
            waited=(entry.seconds or None) if entry and trace.served else None,
            faults=tuple(trace.faults),
            key_name=asked.caller.key_name,
            labels=asked.labels,
            draft=trace.draft,
            retry=self._is_retry(asked, trace),
            repetition=_repetition(trace),
            backend=trace.backend,
            is_local=trace.is_local,
            estimated=guess,
            embedded=trace.embedded,
            hold=trace.hold,
            trimmed=_left_away(trace),
        )


def _of_kind(head: list[Pair], kind: bytes) -> list[Pair]:
    """Give the same headers with another content type."""
    return [(b"content-type", kind), *(pair for pair in head if pair[0] != b"content-type")]


def _left_away(trace: Trace) -> int:
    """Tokens that trimming the history saved."""
    trimmed = trace.trimmed
    return trimmed.tokens if trimmed is not None and trimmed.way in (Trimming.WINDOW, Trimming.SUMMARY) else 0


def _repetition(trace: Trace) -> float | None:
    """How much a model's answer repeats itself towards its end; None for what is no new answer."""
    if trace.completion is None or trace.served or trace.collapsed:
        return None
    return round(repetition(text_of(trace.completion)[-_LOOKED_AT:]), 3)
