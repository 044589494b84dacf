r"""Everything that a tenant's part of the store holds of one end user: found, counted, removed.

    entries, their versions, questions   by `core.Entry.subject`; those of earlier releases by their author
    answers revised from theirs, copies made public of them
    questions they asked of others' entries, notes of their feedback, hits they got, confirmations
    summaries of their conversations, and all heads of prompts of the tenant (they are learned again)
    labels of costs and lint that are their name: added up under `~other`

That they were erased, and when, stays in `er`; with the counter of their subject it keeps what was under way from coming
back. Of text and name nothing stays; digests of questions that a human barred do (they hold no word, and who removes them
lets a refused answer come back). Knows nothing of files, receipts or who may ask for this.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, fields

from semcache.core import Entry, EntryId, TenantId
from semcache.errors import StoreError
from semcache.ports import Clock, Selector
from semcache.store import codec
from semcache.store.cluster import open_link
from semcache.store.erasure_labels import LabelEraser, SubjectOf
from semcache.store.erasure_lua import ErasureScripts
from semcache.store.evidence_record import json_of
from semcache.store.keys import PUBLIC_TENANT, Keys, epoch_field
from semcache.store.link import Reply
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.server import Server, raw
from semcache.store.shapes import a_list, a_number, some_bytes
from semcache.store.subjects import mark_of

ERASURE = "erasure"
"""The counter that is raised once everything is gone: whoever keeps copies (snapshots of indexes) makes them anew."""
_PAGE = 500
_BATCH = 200
_SOME = 2000


@dataclass(frozen=True, slots=True)
class Whom:
    """An end user of a tenant by digests: `subject` as in `core.Entry.subject`, `authors` as in `core.Entry.author`."""

    subject: str
    authors: frozenset[str] = frozenset()


@dataclass(slots=True)
class Traces:
    """How many of each were found (or removed)."""

    entries: int = 0
    derived: int = 0
    public: int = 0
    versions: int = 0
    questions: int = 0
    notes: int = 0
    hits: int = 0
    confirmations: int = 0
    summaries: int = 0
    heads: int = 0
    sums: int = 0
    findings: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(getattr(self, one.name) for one in fields(self))


@dataclass(slots=True)
class _Found:
    own: list[EntryId]
    derived: list[EntryId]
    confirmers: set[str]


class ErasureShelf:
    """Finds and removes what is kept of somebody.

    Args:
        url: as for `RedisStore`.
        clock: time.
        rules: bounds, with the entry store's prefix and stream length.
        subject_of: digests a name.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, clock: Clock, rules: StoreRules, subject_of: SubjectOf) -> None:
        keys = Keys(rules.prefix)
        self._store = RedisStore(url, clock, rules)
        self._link = open_link(url, rules.link)
        self._server = Server(self._link, keys, rules.stream_length)
        self._keys = keys
        self._scripts = ErasureScripts()
        self._labels = LabelEraser(self._link, keys, self._scripts, subject_of)

    async def principals(self, tenant: TenantId) -> frozenset[str]:
        """Give the digests of passed-through keys by which hits were got lately, and "" for configured keys.

        Raises:
            StoreError: unreachable or late.
        """
        found = {""}
        async for _, value in self._fields(self._of(tenant, "qs"), b"r:*"):
            match json_of(value):
                case [_, _, _, str(principal), *_]:
                    found.add(principal)
                case _:
                    pass
        return frozenset(found)

    async def erased(self, tenant: TenantId) -> dict[str, tuple[float, frozenset[str]]]:
        """Give who was erased before: by subject, when last (Unix seconds), and under which authors.

        Raises:
            StoreError: unreachable or late.
        """
        found = {}
        async for name, value in self._fields(self._of(tenant, "er"), b"*"):
            at, _, authors = value.decode("ascii", "replace").partition(" ")
            found[name.decode("ascii", "replace")] = (float(at), frozenset(filter(None, authors.split(","))))
        return found

    async def tenants(self) -> list[TenantId]:
        """Name the tenants of whom somebody was erased.

        Raises:
            StoreError: unreachable or late.
        """
        names = a_list(await self._link.call("SMEMBERS", self._keys.shared("erased")))
        return sorted(TenantId(some_bytes(name).decode("utf-8", "surrogatepass")) for name in names)

    async def count(self, tenant: TenantId, whom: Whom) -> Traces:
        """Count what there is, and change nothing.

        Raises:
            StoreError: unreachable or late.
        """
        found = await self._look(tenant, whom)
        traces = Traces(entries=len(found.own), derived=len(found.derived))
        traces.confirmations = len(found.confirmers)
        gone = frozenset((*found.own, *found.derived))
        traces.public = len(await self._copies(whom, gone))
        await self._beside(tenant, whom, traces, remove=False)
        return traces

    async def erase(self, tenant: TenantId, whom: Whom, at: float) -> Traces:
        """Remove it, for good and for every process. Idempotent: what failed half-way is done by doing it again.

        Args:
            tenant: whose end user.
            whom: they.
            at: Unix seconds of the erasure.

        Raises:
            StoreError: unreachable, late or read-only; some of it may be done.
        """
        await self._link.call("SADD", self._keys.shared("erased"), raw(tenant))
        value = f"{at!r} {','.join(sorted(whom.authors))}"
        await self._link.call("HSET", self._of(tenant, "er"), whom.subject, value)
        found = await self._look(tenant, whom)
        gone = frozenset((*found.own, *found.derived))
        copies = await self._copies(whom, gone)
        # What goes along with entries would go uncounted.
        versions = await self._versions(tenant, whom, remove=True)
        questions = await self._questions(tenant, whom, remove=True)
        # First the counter: from here on nothing that was begun before comes back.
        for owner in (tenant, PUBLIC_TENANT):
            await self._store.delete(Selector(owner, subject=whom.subject))
        await self._delete(tenant, [*found.own, *found.derived])
        await self._delete(PUBLIC_TENANT, copies)
        traces = Traces(entries=len(found.own), derived=len(found.derived), public=len(copies))
        for user in found.confirmers:
            await self._store.unconfirm(tenant, user)
        traces.confirmations = len(found.confirmers)
        await self._beside(tenant, whom, traces, remove=True)
        traces.versions += versions
        traces.questions += questions
        arguments = (epoch_field(ERASURE), raw(ERASURE))
        await self._server.write(self._server.scripts.bump, tenant, arguments, lead=1)
        await self._server.written(tenant)
        return traces

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._store.aclose()
        await self._link.aclose()

    # -- entries --------------------------------------------------------------------------

    async def _look(self, tenant: TenantId, whom: Whom) -> _Found:
        """Look through all entries of a tenant: those of somebody, those made from them, and who confirmed any."""
        found, made_from = _Found([], [], set()), dict[EntryId, list[EntryId]]()
        async for entry in self._all(tenant):
            if _is_of(entry, whom):
                found.own.append(entry.id)
            elif entry.origin.startswith("draft:"):
                made_from.setdefault(EntryId(entry.origin.removeprefix("draft:")), []).append(entry.id)
            found.confirmers |= entry.confirmed & whom.authors
        reached = list(found.own)
        while reached:
            derived = made_from.pop(reached.pop(), [])
            found.derived += derived
            reached += derived
        return found

    async def _copies(self, whom: Whom, gone: frozenset[EntryId]) -> list[EntryId]:
        """Give the answers made public that are copies of entries."""
        return [
            entry.id
            async for entry in self._all(PUBLIC_TENANT)
            if entry.subject == whom.subject or EntryId(entry.origin.removeprefix("public:")) in gone
        ]

    async def _all(self, tenant: TenantId) -> AsyncIterator[Entry]:
        cursor = ""
        while True:
            page = await self._store.list_entries(Selector(tenant), cursor, _PAGE)
            for entry in page.entries:
                yield entry
            cursor = page.cursor
            if not cursor:
                return

    async def _delete(self, tenant: TenantId, ids: list[EntryId]) -> None:
        for start in range(0, len(ids), _BATCH):
            await self._store.delete(Selector(tenant, ids=tuple(ids[start : start + _BATCH])))

    # -- what stands beside entries ---------------------------------------------------------

    async def _beside(self, tenant: TenantId, whom: Whom, traces: Traces, *, remove: bool) -> None:
        traces.versions = await self._versions(tenant, whom, remove=remove)
        traces.questions = await self._questions(tenant, whom, remove=remove)
        traces.notes = await self._notes(tenant, whom, remove=remove)
        traces.hits = await self._hits(tenant, whom, remove=remove)
        traces.summaries = await self._keys_gone(tenant, f"sum:{whom.subject}.*", remove=remove)
        traces.heads = await self._keys_gone(tenant, "warm", remove=remove)
        traces.sums = await self._labels.sums(tenant, whom.subject, remove=remove)
        traces.findings = await self._labels.findings(tenant, whom.subject, remove=remove)

    async def _versions(self, tenant: TenantId, whom: Whom, *, remove: bool) -> int:
        count = 0
        for owner in (tenant, PUBLIC_TENANT):
            async for name in self._named(owner, "v:*"):
                values = a_list(await self._link.call("LRANGE", name, 0, -1))
                if any(_is_of(entry, whom) for value in values if (entry := _decoded(value, owner))):
                    count += len(values)
                    if remove:
                        await self._link.call("UNLINK", name)
        return count

    async def _questions(self, tenant: TenantId, whom: Whom, *, remove: bool) -> int:
        count = 0
        for owner in (tenant, PUBLIC_TENANT):
            async for name in self._named(owner, "ra:*"):
                words = (raw(mark_of(whom.subject)), int(remove))
                count += a_number(await self._link.run(self._scripts.questions, (name,), words))
        return count

    async def _notes(self, tenant: TenantId, whom: Whom, *, remove: bool) -> int:
        # As the mark stands in JSON.
        words = (f"\\u001e{whom.subject}\\u001e", int(remove))
        return a_number(await self._link.run(self._scripts.notes, (self._of(tenant, "ql"),), words))

    async def _hits(self, tenant: TenantId, whom: Whom, *, remove: bool) -> int:
        hits, subject = self._of(tenant, "qs"), whom.subject.encode()
        requests = {name[2:]: b"" async for name, value in self._fields(hits, b"u:*") if value == subject}
        if not remove or not requests:
            return len(requests)
        order = self._of(tenant, "qo")
        async for name, _ in self._scanned("ZSCAN", order, b"*"):
            request = name.partition(b"\0")[0]
            if request in requests:
                requests[request] = name
        told = [word for pair in requests.items() for word in pair]
        for start in range(0, len(told), _SOME):
            await self._link.run(self._scripts.hits, (hits, order), told[start : start + _SOME])
        return len(requests)

    async def _keys_gone(self, tenant: TenantId, pattern: str, *, remove: bool) -> int:
        names = [name async for name in self._named(tenant, pattern)]
        if remove:
            for name in names:
                await self._link.call("UNLINK", name)
        return len(names)

    # -- keys -------------------------------------------------------------------------------

    async def _named(self, tenant: TenantId, pattern: str) -> AsyncIterator[bytes]:
        """Yield the tenant's keys whose names fit; some may come twice, and are not there any more then."""
        base, cursor = self._keys.base(tenant), b"0"
        while True:
            words = (_literal(base) + raw(pattern), cursor, _SOME)
            reply = a_list(await self._link.run(self._scripts.some, (base + b"ep",), words), 2, 2)
            for name in a_list(reply[1]):
                yield some_bytes(name)
            cursor = some_bytes(reply[0])
            if cursor == b"0":
                return

    def _fields(self, key: bytes, pattern: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
        return self._scanned("HSCAN", key, pattern)

    async def _scanned(self, word: str, key: bytes, pattern: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
        """Yield the pairs of a hash (`HSCAN`) or a sorted set (`ZSCAN`); some may come twice."""
        cursor: Reply = b"0"
        while True:
            reply = a_list(await self._link.call(word, key, cursor, "MATCH", pattern, "COUNT", _SOME), 2, 2)
            flat = a_list(reply[1])
            for at in range(0, len(flat) - 1, 2):
                yield some_bytes(flat[at]), some_bytes(flat[at + 1])
            cursor = some_bytes(reply[0])
            if cursor == b"0":
                return

    def _of(self, tenant: TenantId, name: str) -> bytes:
        return self._keys.base(tenant) + name.encode()


def _is_of(entry: Entry, whom: Whom) -> bool:
    """True for an entry of somebody; one of an earlier release says only under which key they asked."""
    return entry.subject == whom.subject if entry.subject else entry.author in whom.authors


def _decoded(value: Reply, tenant: TenantId) -> Entry | None:
    try:
        return codec.decode(some_bytes(value), tenant)
    except StoreError:
        return None


def _literal(name: bytes) -> bytes:
    """Give a pattern that fits this name alone."""
    return b"".join(b"\\" + bytes((byte,)) if byte in b"*?[]\\^" else bytes((byte,)) for byte in name)
