"""What becomes of a whole answer: stored if the policy wants it, entry first, vector second.

The last part of a request's story (`pipeline`), told apart since it happens beside the reply and after it. Faults are
noted in the trace; nothing here can fail a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from semcache.asking.likeness import Similar
from semcache.confirming import Confirming, Nobody, Told
from semcache.core import Completion, Embedding, Entry, EntryId, Epochs, Hit, Namespace, Review, Scope, Usage
from semcache.crowding import Crowd, Underway
from semcache.decide import admission
from semcache.decide.answer_tiers import may_store_answer
from semcache.decide.private_data import PIECE, Value, pieces, shared_texts, texts_of, values
from semcache.dialects.closing import WEB_SEARCH, searches_web
from semcache.errors import EncoderError, StoreError, VectorIndexError
from semcache.journey import Keep, Step
from semcache.meeting import meet, places
from semcache.policy.classifiers import Classifiers
from semcache.ports import Clock, Encoder, EntryStore, VectorIndex
from semcache.store.keys import digest
from semcache.tokens import tokens_of

_LATER = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a text whose encoder was busy or still loading is embedded again."""


def note(step: Step) -> Keep:
    """Keep a whole answer for the record only."""

    async def keep(completion: Completion) -> bool:
        step.trace.completion = completion
        return False

    return keep


def _unpriced(_: str, __: Usage | None) -> int | None:
    """Know no price."""
    return None


@dataclass(frozen=True, slots=True)
class Memory:
    """Stores answers: the ports it needs, and randomness handed in.

    Args:
        spawn: starts a task that the lifespan owns.
        price: gives what a call cost in micro-USD; None: nobody knows.
        told: hears what became of new answers.
        similar: tells how alike two answers are; None: they are compared without.
        underway: what is being stored at this moment.
    """

    encoder: Encoder | None
    classifiers: Classifiers | None
    index: VectorIndex
    store: EntryStore
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_id: Callable[[], EntryId]
    jitter: Callable[[], float]
    price: Callable[[str, Usage | None], int | None] = _unpriced
    told: Told = field(default_factory=Nobody)
    similar: Similar | None = None
    underway: Underway = field(default_factory=Underway)

    def remember(self, step: Step) -> Keep:
        """Give what stores a whole answer to this request if the policy wants it."""

        async def keep(completion: Completion) -> bool:
            step.trace.completion = completion
            refused = may_store_answer(step.policy, step.asked.request, completion)
            if step.trace.is_foreign or refused is not None:
                return False
            if step.encoding is not None:
                step.embedding = await step.encoding
                if step.embedding is not None and self._closed_by_domain(step, step.embedding) is not None:
                    return False
            apart = await _is_private(step, completion)
            if apart and (not step.asking.is_person or await self._is_taken(step)):
                return False
            if not apart and await self._stays(step, completion):
                return False
            entry = self._entry(step, completion)
            if apart:
                entry = replace(entry, review=Review(only=entry.author))
            step.trace.stored = await self._put(step, entry)
            step.trace.stored_as = entry.id if step.trace.stored else None
            if step.trace.stored and entry.embedding is None and step.encoding is not None:
                self.spawn(self._embed_later(step, entry))
            hit = step.trace.decision
            if isinstance(hit, Hit) and hit.unconfirmed and not (apart or hit.exact or step.trace.is_revised):
                self.spawn(self._confirming.heard(step, hit, completion))
            return step.trace.stored

        return keep

    @property
    def _confirming(self) -> Confirming:
        return Confirming(self.store, self.clock, self.told, self.similar)

    async def _stays(self, step: Step, completion: Completion) -> bool:
        """True when the answer that stands under this key is confirmed by this one rather than replaced."""
        try:
            return await self._confirming.stays(step, completion)
        except StoreError as error:
            step.fault("store", error)
            return False

    async def _is_taken(self, step: Step) -> bool:
        """True when an answer stands under this key that others get: one person's own does not take its place."""
        try:
            return await self._confirming.is_shared(step)
        except StoreError as error:
            step.fault("store", error)
            return True

    async def encode(self, step: Step) -> Embedding | None:
        """Embed beside the upstream call what will be stored; a failure is noted, not raised."""
        if self.encoder is None:
            return None
        try:
            return await self._embed(step, self.encoder)
        except EncoderError as error:
            step.fault("encoder", error)
            return None

    async def _embed(self, step: Step, encoder: Encoder) -> Embedding:
        """Embed the text by which the request is found, in the place where others will look."""
        if step.meeting is None:
            request = step.asked.request
            known = step.places or places(request, step.partition, step.policy)
            step.meeting = await meet(request, known, encoder)
        step.trace.embedded = tokens_of(step.meeting.reading.text)
        return await encoder.encode(step.meeting.reading.text)

    def _closed_by_domain(self, step: Step, embedding: Embedding) -> str | None:
        """A question embedded only to be stored is classified too: its domain says whether and how long."""
        step.tighten(self.classifiers, embedding)
        return admission.may_store(step.policy, step.asked.request, step.asked.directives)

    async def _put(self, step: Step, entry: Entry) -> bool:
        with self.underway.storing(entry) as before:
            return await self._placed(step, await self._uncrowded(step, entry, before))

    async def _uncrowded(self, step: Step, entry: Entry, before: list[Embedding]) -> Entry:
        """Give the entry without its vector where its author has too many so near it."""
        if self.encoder is None:
            return entry
        try:
            full = await Crowd(self.encoder, self.index, self.store).is_full(step, entry, before)
        except StoreError as error:
            step.fault("store", error)
            return entry
        except VectorIndexError as error:
            step.fault("index", error)
            return entry
        if not full:
            return entry
        step.trace.crowded = True
        self.told.crowded(entry.tenant)
        return replace(entry, embedding=None)

    async def _placed(self, step: Step, entry: Entry) -> bool:
        try:
            if not await self.store.put(entry):
                return False
            if entry.embedding is not None:
                await self.index.add(Namespace(entry.tenant, entry.namespace), entry.id, entry.embedding)
        except StoreError as error:
            step.fault("store", error)
            return False
        except VectorIndexError as error:
            step.fault("index", error)
        return True

    async def _embed_later(self, step: Step, entry: Entry) -> None:
        """Give an entry its vector after all, when its encoder was busy or still loading."""
        for pause in _LATER:
            await asyncio.sleep(pause)
            try:
                embedding = await self._embed(step, self.encoder) if self.encoder is not None else None
            except EncoderError as error:
                if error.is_refusal:
                    return
                continue
            if embedding is not None:
                await self._put(step, replace(entry, embedding=embedding))
            return

    def _entry(self, step: Step, completion: Completion) -> Entry:
        now = self.clock.now()
        request, directives, meeting = step.asked.request, step.asked.directives, step.meeting
        asking = step.asking
        return Entry(
            id=self.new_id(),
            tenant=step.policy.tenant,
            namespace=(meeting.namespace if meeting is not None else step.namespace).digest,
            key=step.key,
            domain=step.policy.domain,
            model=request.model,
            prompt=request.prompt or "",
            completion=completion,
            created_at=now,
            expires_at=now
            + admission.lifetime(
                step.policy,
                directives,
                self.jitter(),
                request.prompt,
                searched=request.exact_only == WEB_SEARCH or searches_web(request.body),
            ),
            embedding=step.embedding,
            tags=directives.tags,
            epochs=step.epochs or Epochs(),
            context=meeting.reading.context if meeting is not None and meeting.is_bound else b"",
            origin=_origin(step),
            author=asking.who,
            confirmed=frozenset((asking.who,)) if asking.is_attested else frozenset(),
            subject=step.subject,
            seconds=round(self.clock.monotonic() - step.asked_at, 3) if step.asked_at else 0.0,
            worth=float(self.price(request.model, completion.usage) or 0),
            holder=_holder(step),
            commons=step.commons.digest if step.commons is not None else "",
        )


async def _is_private(step: Step, completion: Completion) -> bool:
    """True when users share answers, and this one holds what is one person's and was not in the request for everybody."""
    if step.policy.scope is not Scope.TENANT:
        return False
    found = await _searched(texts_of(completion))
    return bool(found) and bool(found - await _searched(shared_texts(step.asked.request)))


async def _searched(texts: Iterable[str]) -> frozenset[Value]:
    """Search texts piece by piece; a long answer lets others in between."""
    found: frozenset[Value] = frozenset()
    for piece in pieces(texts):
        found |= values(piece)
        if len(piece) >= PIECE:
            await asyncio.sleep(0)
    return found


def _holder(step: Step) -> str:
    """Name the key whose share of the tenant's room an answer takes (`core.Entry.holder`)."""
    caller = step.asked.caller
    name = caller.principal or caller.key_name
    return digest(name).hex() if name else ""


def _origin(step: Step) -> str:
    """Say what the answer was made from, where a model only revised it."""
    draft = step.trace.draft
    return f"draft:{draft.entry}" if draft is not None and step.trace.is_revised else ""
