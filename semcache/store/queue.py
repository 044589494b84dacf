"""The review queue on Redis: what waits for a human, what was asked of it, and what judges said.

    {<tenant>}:rq           entry -> weight: those that wait
    {<tenant>}:rt           entry -> when it was last seen (server's milliseconds): those that anything is kept of
    {<tenant>}:rw:<entry>   domain, sightings, last time, reasons of its stay in the queue
    {<tenant>}:ra:<entry>   digest of a question -> its counts and text (`store.queue_lua`)
    {<tenant>}:ro:<entry>   opinions of judging models, what they weigh, and how they were counted
    {<tenant>}:rg           agreement of judges with humans
    {<tenant>}:rd:<domain>  decisions, newest first
    {<tenant>}:rp:<number>  the queue as it stood when somebody began to page through it; `rn` numbers them

The texts of questions are prompts: they stand in `ra` only, and go with their entry (`forget`, `sweep`). Nothing is
counted for an entry that the store does not hold, so what is under way when it is erased brings nothing back.

What an opinion weighs: the risk that its own question brought is multiplied by twice the probability that
the answer is wrong, 2 (1 - fit) with the mean fit of the models asked, so that one in two changes nothing and a
certain fault counts double; but never by less than a quarter, since a judge that errs must not hide
what it errs about, and its agreement with humans cannot be measured on answers that no human sees. Other
questions of the entry keep their risk: a judge that saw one of forty has said nothing of the rest.

Paging keeps the order of the moment it began, for some minutes: weights change with every hit, and an order that
moves would show some twice and others never. Weights shown are those of now; who has left is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semcache.core import EntryId, TenantId
from semcache.review_port import Agreement, Decided, Opinion, Question, QueuePage, Sighting, Waiting
from semcache.store import queue_record as record
from semcache.store.cluster import ClusterLink, open_link
from semcache.store.evidence_record import label_of
from semcache.store.keys import Keys, digest
from semcache.store.link import Argument, Link, LinkRules
from semcache.store.queue_lua import QueueScripts
from semcache.store.queue_record import Cursor
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, is_yes, pairs, some_bytes

DAY = 86_400
LEAST_FACTOR = 0.25
_BATCH = 50
"""Of sightings, for one script: it holds up the server for about a millisecond."""
_IDS = 200
_LOOKED_AT = 250
_MOST_LIMIT = 200
_MOST_JUDGES = 1024
_MOST_LABELS = 2000


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How much is kept of a tenant.

    Attributes:
        most: entries that wait; the lightest go.
        known: entries that questions are kept of; those not seen for longest go.
        questions: of an entry, the newest.
        bytes: of an entry's questions.
        opinions: about an entry, the newest.
        decisions: of a domain, the newest.
        life: seconds after its last sighting that an entry's keys fade.
    """

    most: int = 10_000
    known: int = 20_000
    questions: int = 50
    bytes: int = 32 << 10
    opinions: int = 100
    decisions: int = 5000
    life: float = 90.0 * DAY


class RedisReviewQueue:
    """A `ReviewQueue` on one server or a cluster.

    Args:
        link: to the server; whoever made it closes it.
        keys: names of keys, those of the entry store.
        rules: how much is kept.
    """

    def __init__(self, link: Link | ClusterLink, keys: Keys, rules: QueueRules) -> None:
        self._link = link
        self._keys = keys
        self._rules = rules
        self._life = int(rules.life * 1000)
        self._scripts = QueueScripts()

    async def sight(self, tenant: TenantId, sightings: Sequence[Sighting]) -> None:
        """Count sightings, in one round trip for each 50; those of entries that are gone are left out.

        Raises:
            StoreError: unreachable, late, read-only or full; `invalid`: a risk or time that is none.
        """
        rules = self._rules
        rows = [record.row_of(sighting) for sighting in sightings]
        head: list[Argument] = [self._keys.base(tenant), self._life, rules.most, rules.known]
        # A little room above what is shown, so that not every new question makes all of them be looked at.
        head += [rules.questions, rules.questions * 5 // 4, rules.bytes]
        for start in range(0, len(rows), _BATCH):
            flat = [word for row in rows[start : start + _BATCH] for word in row]
            reply = await self._link.run(self._scripts.sight, self._both(tenant), (*head, *flat))
            is_yes(reply, b"ok", ())

    async def waiting(
        self, tenant: TenantId, cursor: str = "", limit: int = 50, *, domain: str = "", reason: str = ""
    ) -> QueuePage:
        """Give a page of the queue; at most 200 entries.

        Raises:
            StoreError: unreachable, late or read-only; `invalid`: a cursor that is none; `corrupt`.
        """
        limit = max(1, min(limit, _MOST_LIMIT))
        place = record.read_cursor(cursor) if cursor else Cursor("", "", b"")
        found: list[Waiting] = []
        while True:
            arguments = (
                self._keys.base(tenant), *place, limit - len(found), _LOOKED_AT, raw(domain), raw(reason),
            )  # fmt: skip
            reply = await self._link.run(self._scripts.page, self._both(tenant), arguments)
            still, weight, last, more, rows = a_list(reply, 5, 5)
            found += map(record.waiting_of, a_list(rows))
            place = Cursor(some_bytes(still).decode(), some_bytes(weight).decode(), some_bytes(last))
            if not a_number(more):
                return QueuePage(tuple(found), "")
            if len(found) >= limit:
                return QueuePage(tuple(found), record.cursor_text(place))

    async def dismiss(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        """Take entries out of the queue; what is known of them stays.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        if ids:
            await self._link.call("ZREM", self._of(tenant, "rq"), *map(record.name_of, ids))

    async def waits(self, tenant: TenantId, id: EntryId) -> Waiting | None:
        """Give an entry's place in the queue.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        arguments = (self._keys.base(tenant), record.name_of(id))
        reply = a_list(await self._link.run(self._scripts.waits, (self._of(tenant, "rq"),), arguments))
        return record.waiting_of(reply) if reply else None

    async def size(self, tenant: TenantId) -> int:
        """Count those that wait; some of them may be gone.

        Raises:
            StoreError: unreachable or late.
        """
        return a_number(await self._link.call("ZCARD", self._of(tenant, "rq")))

    async def questions(self, tenant: TenantId, id: EntryId) -> list[Question]:
        """Give the questions that met an entry, the newest first.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        rows = await self._all(self._of(tenant, "ra", id))
        found = [record.question_of(name, value) for name, value in rows]
        found.sort(key=lambda question: (-question.last_at, question.asked))
        return found[: self._rules.questions]

    async def opine(self, tenant: TenantId, opinion: Opinion) -> None:
        """Keep what a judge said; the same again, or an older one of the same judge and question, changes nothing.

        Raises:
            StoreError: unreachable, late, read-only or full; `invalid`: a fit or time that is none.
        """
        if not (0 <= opinion.fit <= 1 and math.isfinite(opinion.at)):
            raise record.invalid()
        arguments = (
            self._keys.base(tenant),
            self._life,
            self._rules.opinions,
            record.name_of(opinion.entry),
            record.asked_of(opinion.asked),
            record.model_of(opinion.model),
            repr(float(opinion.fit)),
            repr(float(opinion.at)),
            LEAST_FACTOR,
        )
        reply = await self._link.run(self._scripts.opine, self._both(tenant), arguments)
        is_yes(reply, b"ok", (b"gone", b"older"))

    async def opinions(self, tenant: TenantId, id: EntryId) -> list[Opinion]:
        """Give what judges said about an entry, newest first; for a day after it is gone, too.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        rows = await self._all(self._of(tenant, "ro", id))
        found = [record.opinion_of(id, name, value) for name, value in rows]
        return sorted((o for o in found if o is not None), key=lambda o: (-o.at, o.asked, o.model))

    async def settled(self, tenant: TenantId, id: EntryId, right: bool) -> None:
        """Hear that a human decided about an entry; a later word about it takes the earlier one's place.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        keys = (self._of(tenant, "rg"), self._of(tenant, "ro", id))
        arguments = ("1" if right else "0", 2 * self._life, _MOST_JUDGES)
        is_yes(await self._link.run(self._scripts.settle, keys, arguments), b"ok", ())

    async def agreement(self, tenant: TenantId) -> Mapping[str, Agreement]:
        """Give how each judging model has compared with humans.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        return record.agreements_of(await self._all(self._of(tenant, "rg")))

    async def keep(self, tenant: TenantId, domain: str, decisions: Sequence[Decided]) -> None:
        """Keep decisions, in one round trip.

        Raises:
            StoreError: unreachable, late, read-only or full; `invalid`: a number that is none.
        """
        if decisions:
            rows = [record.decided_record(decided) for decided in decisions[-self._rules.decisions :]]
            arguments: list[Argument] = [self._rules.decisions, self._life, *rows]
            keys = (self._decisions(tenant, domain),)
            is_yes(await self._link.run(self._scripts.keep, keys, arguments), b"ok", ())

    async def decisions(self, tenant: TenantId, domain: str) -> list[Decided]:
        """Give the decisions kept, newest first, each with what the tenant's newest labels say of its request.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        # Labels are the evidence's (`store.evidence`), of the same tenant and so in the same slot.
        labels = a_list(await self._link.call("LRANGE", self._of(tenant, "ql"), 0, _MOST_LABELS - 1))
        said = record.wrong_by_request(label_of(tenant, row) for row in labels)
        rows = a_list(await self._link.call("LRANGE", self._decisions(tenant, domain), 0, -1))
        return [record.decided_of(row, said) for row in rows]

    async def forget(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        """Forget places, questions and their texts of these entries; opinions fade within a day.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        names = [record.name_of(entry) for entry in ids]
        for start in range(0, len(names), _IDS):
            arguments = (self._keys.base(tenant), *names[start : start + _IDS])
            is_yes(await self._link.run(self._scripts.forget, self._both(tenant), arguments), b"ok", ())

    async def sweep(self, tenant: TenantId) -> int:
        """Forget all entries that the store does not hold any more; gives how many.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        first, forgotten = 0, 0
        while True:
            arguments = (self._keys.base(tenant), first, _LOOKED_AT)
            reply = await self._link.run(self._scripts.sweep, self._both(tenant), arguments)
            seen, gone = map(a_number, a_list(reply, 2, 2))
            first += seen - gone
            forgotten += gone
            if seen < _LOOKED_AT:
                return forgotten

    def _both(self, tenant: TenantId) -> tuple[bytes, bytes]:
        return self._of(tenant, "rq"), self._of(tenant, "rt")

    def _decisions(self, tenant: TenantId, domain: str) -> bytes:
        return self._of(tenant, "rd") + b":" + digest(domain).hex().encode()

    def _of(self, tenant: TenantId, name: str, id: EntryId | None = None) -> bytes:
        key = self._keys.base(tenant) + name.encode()
        return key if id is None else key + b":" + record.name_of(id)

    async def _all(self, key: bytes) -> list[tuple[bytes, bytes]]:
        return pairs(a_list(await self._link.call("HGETALL", key)))


class ReviewShelves:
    """The review queue on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: as the entry store's: it asks which entries are there.
        kept: how much is kept.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(
        self, url: str, rules: LinkRules, prefix: str = "sc", kept: QueueRules | None = None
    ) -> None:
        self._link = open_link(url, rules)
        self.queue = RedisReviewQueue(self._link, Keys(prefix), kept or QueueRules())

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()
