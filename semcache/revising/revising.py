"""A request near a stored answer: the answer becomes a draft, or the plain call is made.

    may it be drafted from? -> does the domain's band allow it? -> is it worth it?
        lossless, prediction: the request itself with the stored text as its predicted answer, streamed as any
        revise: a model says what is to be changed, it is changed here, and checked
    whatever fails, or is late: the plain call, and that is the request's answer

Everything happens inside the call that a flight makes, so that sharing, storing and streaming are those of any
miss, and a draft's fault costs a request no more than the time of its deadline. Knows no HTTP and no cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from semcache.core import Completion, Draft, DraftRecord, Usage
from semcache.decide.revision.stance import unmendable
from semcache.decide.revision.worth import Prices, Saved
from semcache.dialects.chat.wire import CHAT
from semcache.journey import Backend, Keep, Step
from semcache.ports import Clock, UpstreamReply, Verifier
from semcache.review_rules import DraftWay
from semcache.revising.accounts import (
    difference,
    plain_usage,
    prediction_tokens,
    seconds_saved,
    with_usage,
)
from semcache.revising.band import Bands
from semcache.revising.memory import Refusals
from semcache.revising.predicting import open_plain, open_predicted, refuses_predictions
from semcache.revising.replies import Marked, Written
from semcache.revising.reviser import Reviser, reviser_of
from semcache.revising.revision import Revised, Revisions, Unrevised, task_of
from semcache.revising.revision import RevisingLimits as RevisingLimits  # noqa: PLC0414  handed on
from semcache.revising.source import text_of
from semcache.revising.stakes import Stakes, stakes_of
from semcache.revising.told import Told
from semcache.revising.ways import Declined, is_engine, way_of
from semcache.revising.worth import Price, original_tokens, prices_of
from semcache.revising.writing import revised, written


class Revising:
    """One worker's drafts.

    Args:
        backends: upstreams by name, of which a policy may name one as reviser.
        bands: what drafts came to so far.
        price: of tokens.
        verifier: asked about a revised answer as about a stored one; None: nothing is revised.
        clock: time.
        new_id: gives fresh ids of answers.
        new_word: gives fresh random words.
        told: hears of every draft.
        limits: bounds of a revision.
    """

    def __init__(
        self,
        backends: Mapping[str, Backend],
        bands: Bands,
        price: Price,
        *,
        verifier: Verifier | None,
        clock: Clock,
        new_id: Callable[[], str],
        new_word: Callable[[], str],
        told: Told,
        limits: RevisingLimits,
    ) -> None:
        self._backends = backends
        self._bands = bands
        self._price = price
        self._clock = clock
        self._new_id = new_id
        self._told = told
        self._refusals = Refusals()
        self._new_word = new_word
        self._revisions = Revisions(verifier, self._refusals, clock, limits)

    def opening(self, step: Step, draft: Draft) -> Callable[[], Awaitable[UpstreamReply]]:
        """Give what makes the call for a request: from the draft if that may be and pays, else plainly.

        It raises what the plain call raises; `step.trace.draft` then says what became of the draft.
        """

        async def opened() -> UpstreamReply:
            return await self._open(step, draft)

        return opened

    def keeping(self, step: Step, draft: Draft, keep: Keep) -> Keep:
        """Give what does with a whole answer what `keep` does, once the draft's record is complete."""
        begun = self._clock.monotonic()

        async def kept(completion: Completion) -> bool:
            record = step.trace.draft
            if record is not None and step.trace.is_drafted:
                if record.way == DraftWay.REVISE:
                    used = Usage(record.input, record.output) if record.input else None
                    completion = with_usage(completion, used)
                else:
                    await self._complete(step, draft, record, completion, begun)
            return await keep(completion)

        return kept

    async def _open(self, step: Step, draft: Draft) -> UpstreamReply:
        text = text_of(draft.entry.completion, step.policy.drafts.max_bytes)
        way = way_of(step, draft, refused=refuses_predictions(step, self._refusals, self._clock))
        if isinstance(way, Declined):
            return await self._plainly(step, draft, step.policy.drafts.way, way.reason)
        if text is None:
            return await self._plainly(step, draft, way, "unusable")
        policy = step.policy
        if not await self._bands.is_open(policy.tenant, policy.domain, policy.drafts, way):
            return await self._plainly(step, draft, way, "closed")
        if way is DraftWay.REVISE:
            if not await self._bands.may_revise(policy):
                return await self._plainly(step, draft, way, "wrong")
            return await self._revised(step, draft, text)
        return await self._predicted(step, draft, text, way)

    async def _plainly(self, step: Step, draft: Draft, way: DraftWay, reason: str) -> UpstreamReply:
        """Make the plain call, and write down why there was no draft."""
        self._end(step, DraftRecord(way.value, f"declined-{reason}", draft.entry.id))
        return await open_plain(step)

    # -- revised ------------------------------------------------------------------------

    async def _revised(self, step: Step, draft: Draft, text: str) -> UpstreamReply:
        reviser = reviser_of(step, self._backends)
        if reviser is None:
            return await self._plainly(step, draft, DraftWay.REVISE, "no-reviser")
        asked = step.asked.request.prompt or ""
        why = unmendable(asked, draft.entry.prompt, step.policy.gate)
        if why is not None:
            return await self._plainly(step, draft, DraftWay.REVISE, why)
        stakes = await self._stakes(step, draft, text, reviser)
        record = DraftRecord(
            DraftWay.REVISE.value,
            "declined-not-worth",
            draft.entry.id,
            expected=stakes.worth.draft,
            plain=stakes.worth.plain,
            original=stakes.original,
            model=reviser.model,
            backend=reviser.name,
        )
        if not stakes.worth.worth:
            self._end(step, record)
            return await open_plain(step)
        begun = self._clock.monotonic()
        task = task_of(step, draft, text, reviser, self._new_word(), stakes.original)
        found = await self._revisions.revise(step, draft, text, task)
        taken = self._clock.monotonic() - begun
        gain = stakes.gain(found)
        if found.used is not None:
            record = replace(record, input=found.used.prompt_tokens, output=found.used.completion_tokens)
        record = replace(record, saved=gain.money)
        if isinstance(found, Unrevised):
            # It came on top of the plain call.
            self._end(step, replace(record, result=f"failed-{found.reason}", seconds=-taken), gain.weight)
            return await open_plain(step)
        record = replace(record, result=found.result, seconds=seconds_saved(draft.entry, taken))
        self._end(step, record, gain.weight)
        return self._written(step, draft, found, record)

    async def _stakes(self, step: Step, draft: Draft, text: str, reviser: Reviser) -> Stakes:
        """Say what a revision and the plain call will about take, in money where both have a price."""
        request, policy = step.asked.request, step.policy
        own = await self._prices(step.backend, request.model)
        theirs = own if (reviser.is_own and reviser.model == request.model) else None
        if theirs is None:
            theirs = await self._prices(reviser.backend, reviser.model)
        known = self._bands.standing(policy.tenant, policy.domain, policy.drafts).get(DraftWay.REVISE)
        tried = known is not None and known.tried >= policy.drafts.min_trials
        return stakes_of(
            draft, text, request, (own, theirs), known.failed_share if tried and known is not None else None
        )

    def _written(self, step: Step, draft: Draft, found: Revised, record: DraftRecord) -> Written:
        request = step.asked.request
        answer = revised(draft.entry.completion, found.text, found.used)
        # As the upstream would: the proxy takes the count out for clients that did not ask.
        with_count = request.include_usage or step.backend.stream_usage
        dialect = CHAT if request.native is None else step.asked.dialect
        parts = written(
            answer, dialect, self._new_id(), self._clock.now(), stream=request.stream, with_usage=with_count
        )
        kind = dialect.stream_type if request.stream else b"application/json"
        return Written(parts, record, kind)

    # -- as a prediction ----------------------------------------------------------------

    async def _predicted(self, step: Step, draft: Draft, text: str, way: DraftWay) -> UpstreamReply:
        record = DraftRecord(
            way.value,
            "verified" if way is DraftWay.LOSSLESS else "predicted",
            draft.entry.id,
            original=original_tokens(draft, text),
        )
        reply, taken = await open_predicted(step, text, self._refusals, self._clock)
        if not taken:
            self._end(step, replace(record, result="failed-refused"))
            return reply
        if reply.status != 200:
            # The backend's trouble, and the client's to hear of; nothing was drafted.
            return reply
        step.trace.draft = record
        return Marked(reply, record)

    async def _complete(
        self, step: Step, draft: Draft, record: DraftRecord, completion: Completion, begun: float
    ) -> None:
        """Write down what a predicted answer used."""
        accepted, rejected = prediction_tokens(completion.body)
        record = replace(
            record,
            accepted=accepted,
            rejected=rejected,
            seconds=seconds_saved(draft.entry, self._clock.monotonic() - begun),
        )
        used = completion.usage
        if used is not None:
            record = replace(record, input=used.prompt_tokens, output=used.completion_tokens)
            if not is_engine(step.backend):
                model = step.asked.request.model
                spent = await self._priced(model, used)
                plain = await self._priced(model, plain_usage(used, rejected))
                record = replace(record, saved=difference(plain, spent))
        self._end(step, record)

    # -- ending -------------------------------------------------------------------------

    def _end(self, step: Step, record: DraftRecord, weight: int = 0) -> None:
        """Write down what became of a draft; `weight` is the weighted tokens that it saved (`decide.revision.worth`)."""
        step.trace.draft = record
        policy = step.policy
        self._told.drafted(policy.tenant, policy.domain, record)
        if not record.result.startswith("declined"):
            failed = record.result.startswith("failed") or record.rejected > record.accepted
            gain = Saved(record.saved, weight)
            self._bands.add(policy.tenant, policy.domain, DraftWay(record.way), failed=failed, gain=gain)

    async def _prices(self, backend: Backend, model: str) -> Prices | None:
        """Give a model's prices, looked up in a thread: the first look loads a large table. The engine has none."""
        return None if is_engine(backend) else await asyncio.to_thread(prices_of, self._price, model)

    async def _priced(self, model: str, usage: Usage | None) -> int | None:
        """Look a price up in a thread: the first look loads a large table."""
        return await asyncio.to_thread(self._price, model, usage)
