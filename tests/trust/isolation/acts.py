"""What reviewers, operators and callers do to stored answers while others ask: each act is told to the book before and after.

Acts go to the store as the commands and the admin API send them; complaints go to a replica over HTTP.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import aiohttp

from semcache.archive.erasing import Eraser, Site
from semcache.core import Entry, EntryId, TenantId
from semcache.embed.fingerprint import subject_digest
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.process import SystemClock
from semcache.review.problems import ReviewError
from semcache.review.verdicts import (
    Approve,
    Bar,
    Edit,
    Narrow,
    Purge,
    Reject,
    Said,
    Unbar,
    Verdict,
    change_of,
    word_of,
)
from semcache.review_rules import WHOLE
from semcache.store.erasure import ErasureShelf
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.trust.isolation.fleet import Replica
from tests.trust.isolation.model import HITS, Book, Made, Reply, Withdrawal, is_matched
from tests.trust.isolation.wire import text_of
from tests.trust.isolation.world import MODELS, TAGS, TENANTS, USERS, ExactSeat, exact_of

_RECENT = 200
Place = tuple[ExactSeat, str]
"""What is equal to the letter, and in which dialect."""
ACTS: dict[str, int] = {
    "complain": 10,
    "delete": 12,
    "tag": 3,
    "namespace": 3,
    "model": 1,
    "tenant": 1,
    "erase": 1,
    "reject": 8,
    "purge": 5,
    "edit": 8,
    "approve": 8,
    "narrow": 4,
    "widen": 4,
    "bar": 4,
    "unbar": 4,
}
"""What is done how often, against each other."""


@dataclass
class Acts:
    """Does one act at a time to something that was served a moment ago."""

    book: Book
    url: str
    data: Path
    """Where the journal of erasures stands."""
    clock: Callable[[], float] = time.monotonic
    recent: list[Reply] = field(default_factory=list)
    marked: dict[Hashable, list[Withdrawal]] = field(default_factory=dict)
    """Exact seats that are barred or narrowed now."""
    _edits: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        rules = StoreRules(link=LinkRules(deadline=5.0))
        self._store = RedisStore(self.url, SystemClock(), rules)
        self._verdicts = RedisVerdicts(self.url, SystemClock(), rules, VerdictRules())
        self._shelf = ErasureShelf(self.url, SystemClock(), rules, subject_digest)
        self._eraser = Eraser(Site(self.data, self.url, False), self._shelf, self._verdicts, SystemClock())
        self.data.mkdir(parents=True, exist_ok=True)

    async def aclose(self) -> None:
        await self._store.aclose()
        await self._verdicts.aclose()
        await self._shelf.aclose()

    def seen(self, reply: Reply) -> None:
        """Remember a hit, for acts to come."""
        if reply.outcome in HITS and reply.stamp in self.book.made:
            self.recent.append(reply)
            del self.recent[:-_RECENT]

    async def act(
        self, kind: str, by: Random, replicas: list[Replica], session: aiohttp.ClientSession
    ) -> str:
        """Do one thing; gives what came of it in a word."""
        try:
            match kind:
                case "tenant" | "model" | "tag":
                    return await self._invalidate(kind, by)
                case "erase":
                    return await self._erase(by.choice(TENANTS).name, by.choice(USERS[1:]))
                case "complain":
                    return await self._complain(by, replicas, session)
                case _ if not self.recent:
                    return "nothing"
                case "delete":
                    return await self._delete(by.choice(self.recent))
                case "namespace":
                    return await self._namespace(by.choice(self.recent))
                case _:
                    return await self._judge(kind, by.choice(self.recent))
        except StoreError:
            return "unknown"

    def _begin(self, kind: str, *places: Hashable, **more: bool) -> Withdrawal:
        return self.book.begin(Withdrawal(kind, self.clock(), **more), *places)

    async def _invalidate(self, kind: str, by: Random) -> str:
        tenant = by.choice(TENANTS).name
        name = {"tag": by.choice(TAGS), "model": by.choice(MODELS), "tenant": ""}[kind]
        place = (tenant, f"{kind}:{name}" if name else "")
        one = self._begin(f"invalidated by {kind}", place)
        await self._store.delete(Selector(TenantId(tenant), **({kind: name} if name else {})))
        one.acked = self.clock()
        return "done"

    async def _erase(self, tenant: str, user: str) -> str:
        one = self._begin("erased", (tenant, f"subject:{user}"))
        await self._eraser.erase(TenantId(tenant), user, "tests")
        one.acked = self.clock()
        return "done"

    async def _namespace(self, reply: Reply) -> str:
        made = self.book.made[reply.stamp]
        exact = self._exact(made)
        entry = await self._shown(reply)
        if entry is None or exact is None or made.ask.topic or made.ask.tools:
            return "nothing"
        one = self._begin(
            "invalidated by namespace",
            (exact[0].seat, made.ask.dialect, is_matched(made.ask, self.book.rules_of(made)[0])),
        )
        await self._store.delete(Selector(entry.tenant, namespace=entry.namespace))
        one.acked = self.clock()
        return "done"

    async def _delete(self, reply: Reply) -> str:
        made = self.book.made[reply.stamp]
        exact = self._exact(made)
        if exact is None:
            return "nothing"
        entry = await self._shown(reply)
        if entry is None or self.book.stamp_of.get(reply.entry) != reply.stamp:
            return "nothing"
        one = self._begin("deleted", reply.stamp, exact)
        if await self._store.delete(Selector(entry.tenant, ids=(entry.id,))):
            one.acked = self.clock()
            return f"done with {reply.stamp} of {reply.entry}"
        one.void = True
        return "nothing"

    async def _judge(self, kind: str, reply: Reply) -> str:
        made = self.book.made[reply.stamp]
        exact, entry = self._exact(made), await self._shown(reply)
        if exact is None or entry is None:
            return "nothing"
        verdict, begun = self._verdict(kind, entry, made, exact)
        try:
            change = change_of(entry, verdict, Said("tests", time.time()), None)
        except ReviewError:
            return self._undone(begun)
        line = await self._verdicts.apply(entry, change.entry, change.act, change.bar, change.unbar)
        if line is None:
            return self._undone(begun)
        if begun is not None:
            begun.acked = self.clock()
        return f"done {word_of(verdict)} {reply.stamp} of {entry.id}, begun with {sorted(entry.barred)}"

    def _verdict(
        self, kind: str, entry: Entry, made: Made, exact: Place
    ) -> tuple[Verdict, Withdrawal | None]:
        match kind:
            case "reject":
                one = self._begin("rejected", made.stamp, exact)
                self.marked.setdefault((exact[0], "reject"), []).append(one)
                return Reject(), one
            case "purge":
                return Purge(), self._begin("purged", made.stamp, exact)
            case "edit":
                self._vouch(exact)
                stamp = f"e{made.ask.number}.{next(self._edits)}"
                self.book.edited(stamp, made.stamp)
                return Edit(text_of(stamp)), self._begin("edited", made.stamp)
            case "approve":
                self._vouch(exact)
                return Approve(), None
            case "narrow":
                return Narrow(), self._marking("narrowed", exact, "narrow", author_only=True)
            case "bar":
                return Bar(WHOLE), self._marking("barred", exact, "bar")
            case "widen":
                self._lift(exact, "narrow")
                return Narrow(on=False), None
            case _:
                self._lift(exact, "bar")
                return Unbar(WHOLE), None

    def _marking(self, kind: str, exact: Place, mark: str, **more: bool) -> Withdrawal:
        """Begin what holds for answers to come, until it is lifted."""
        one = self._begin(kind, exact, to_come=True, stored_only=True, **more)
        self.marked.setdefault((exact[0], mark), []).append(one)
        return one

    def _vouch(self, exact: Place) -> None:
        """Who vouches for an answer has looked at the complaints about it, and takes a rejection back."""
        self._lift(exact, "bar")
        self._lift(exact, "reject")

    def _lift(self, exact: Place, kind: str) -> None:
        """Take marks back, in whatever dialect they were set: two of them may say the very same."""
        for one in self.marked.pop((exact[0], kind), ()):
            one.lifted = self.clock()

    def _undone(self, begun: Withdrawal | None) -> str:
        if begun is not None:
            begun.void = True
        return "nothing"

    async def _shown(self, reply: Reply) -> Entry | None:
        """Give the entry of a hit, if it is still the answer that was served."""
        exact = self._exact(self.book.made[reply.stamp])
        if exact is None:
            return None
        entry = await self._store.show(TenantId(exact[0].seat.tenant), EntryId(reply.entry))
        return entry if entry is not None and f"<{reply.stamp}>".encode() in entry.completion.body else None

    def _exact(self, made: Made) -> Place | None:
        """Give the place of all answers to the very same; None where nobody can tell it."""
        rules = self.book.rules_of(made)
        exact = exact_of(made.ask, rules[0]) if len(rules) == 1 else None
        return None if exact is None else (exact, made.ask.dialect)

    async def _complain(self, by: Random, replicas: list[Replica], session: aiohttp.ClientSession) -> str:
        mine = [one for one in self.recent if any(one.replica == other.name for other in replicas)]
        if not mine:
            return "nothing"
        reply = by.choice(mine)
        made = self.book.made[reply.stamp]
        exact = self._exact(made)
        if exact is None:
            return "nothing"
        replica = next(one for one in replicas if one.name == reply.replica)
        question = "" if reply.outcome == "exact" else reply.ask.text
        one = self._marking("complained", exact, question or "bar")
        one.question, one.at = question, replica.name
        try:
            async with session.post(
                f"{replica.proxy.url}/semcache/feedback",
                json={"request": reply.request_id, "verdict": "wrong"},
                headers={"authorization": f"Bearer {reply.ask.key}"},
            ) as answer:
                told = await answer.json()
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return "unknown"
        if answer.status == 200 and told["barred"]:
            one.acked = self.clock()
            return f"done with {reply.stamp} of {reply.entry} at {reply.replica}"
        if answer.status != 503:
            one.void = True
        return str(told.get("reason") or answer.status)
