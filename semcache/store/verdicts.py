"""Verdicts of humans on Redis: on one server or a cluster, beside the entry store and under its names.

A verdict is read, compared, and put by one script (`store.lua_verdict`) together with its line in the audit log: a
process that dies before it leaves the old state, one that dies behind it the new one. On a cluster the
announcement is a second script (see `store.redis_store`).

Compared are not id and version alone: the bytes that the script finds must be those that were read a moment before and
say what the caller saw, so a value that was put anew under the same id and version is not approved unseen.

A verdict is acknowledged once the server has handed its append-only file to the kernel, which it puts off for up to two
seconds while its disk is busy: killing the server loses none. Losing power loses what its own rules
for syncing say (embedded: a second). A server without such a file promises nothing, and is not waited for.

Kept are, per tenant and without an end, the audit log (`VerdictRules.lines`: older lines go, and the digest of the last that
went stays), per exact key the barred questions (`scripts.BARRED_MS`), and per entry its earlier versions: as
long as the entry and at most 30 days after its removal, none after a purge, an invalidation or a deletion by id. They are
not counted in the tenant's quota.

Knows nothing of who may say what, nor what a verdict means for serving.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from semcache.core import Entry, EntryId, Epochs, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.ports import Clock
from semcache.review_port import Act, Line, LogPage, Pair
from semcache.store import audit_chain, codec
from semcache.store.browse import TenantReader
from semcache.store.cluster import open_link
from semcache.store.keys import Keys, digest, epoch_field, epoch_keys
from semcache.store.link import Argument, Reply
from semcache.store.lua_verdict import VerdictScripts
from semcache.store.packing import Packed, check_id, packed
from semcache.store.redis_store import StoreRules
from semcache.store.scripts import Script
from semcache.store.server import FULL, Server, raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, some_bytes

_TRIES = 64
"""Whoever loses a race for the end of the log tries again: each time somebody else has won."""
_PAUSE = 0.01
_WALK = 500
_MOST_LIMIT = 500
_MOST_NUMBER = 1 << 50
_MOST_CHANGED = 500


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """How much is kept.

    Attributes:
        lines: of a tenant's audit log, the newest.
        versions: earlier ones of an entry, the newest.
        bytes: of an entry's earlier versions.
    """

    lines: int = 100_000
    versions: int = 20
    bytes: int = 4 << 20


@dataclass(frozen=True, slots=True)
class _State:
    """What stands there: an entry and its bytes, and the end of the log."""

    entry: Entry | None
    tail: bytes
    number: int
    digest: str


class RedisVerdicts:
    """`review_port.Verdicts` on the server that a URL names."""

    def __init__(self, url: str, clock: Clock, rules: StoreRules, kept: VerdictRules) -> None:
        """Prepare; nothing is connected before the first call.

        Args:
            url: as of `RedisStore`.
            clock: time for lifetimes that callers count in Unix seconds.
            rules: bounds, with the entry store's prefix, quotas and stream length.
            kept: how much is kept.

        Raises:
            StoreError: `config`: the URL is not usable.
        """
        keys = Keys(rules.prefix)
        self._link = open_link(url, rules.link)
        self._server = Server(self._link, keys, rules.stream_length)
        self._reader = TenantReader(self._server)
        self._scripts = VerdictScripts()
        self._clock = clock
        self._rules = rules
        self._kept = kept
        self._turns: WeakValueDictionary[TenantId, asyncio.Lock] = WeakValueDictionary()

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id, whether or not it may be served, with the questions it is barred from."""
        return await self._reader.show(tenant, id)

    async def apply(
        self,
        expected: Entry,
        changed: Entry | None,
        act: Act,
        bar: Sequence[str] = (),
        unbar: Sequence[str] = (),
    ) -> Line | None:
        """Put `changed` in the place of `expected`, and write the act down; see `Verdicts.apply`.

        None also when the entry was invalidated or has expired meanwhile.

        Raises:
            StoreError: also `invalid` (`changed` is another entry or not the next version, or cannot be
                written), `quota`, and `busy` when too many wrote at once.
        """
        _check_change(expected, changed, (*bar, *unbar))
        tenant = expected.tenant
        ready = None
        if changed is not None:
            ready = await packed(changed, self._clock.now(), self._rules.quota_of)
            if ready is None:
                return None
        takes = changed is None or changed.status is ReviewStatus.REJECTED or bool(bar)
        script = self._scripts.less if takes else self._scripts.apply
        line = await self._applied(expected, ready, act, tuple(bar), tuple(unbar), script)
        if line is not None:
            await self._server.written(tenant)
        return line

    async def _applied(
        self,
        expected: Entry,
        ready: Packed | None,
        act: Act,
        bar: Sequence[str],
        unbar: Sequence[str],
        script: Script,
    ) -> Line | None:
        tenant = expected.tenant
        async with self._turn(tenant):
            for turn in range(_TRIES):
                state = await self._state(tenant, expected.id)
                line = audit_chain.next_line(state.number, state.digest, act)
                if not _is_seen(state.entry, expected):
                    return None
                words = self._words(expected, state.tail, ready, line, bar, unbar)
                reply = await self._server.write(script, tenant, words, lead=2, dies=True)
                match reply[:1]:
                    case [b"ok" | b"done" | b"full"]:
                        return line
                    case [b"gone"]:
                        return None
                    case _:
                        await _pause(turn, reply)
        raise _raced()

    async def bar(self, tenant: TenantId, entry: EntryId, pair: Pair, act: Act) -> bool:
        """Never again answer the asked question by what is stored for the other one; see `Verdicts.bar`.

        Raises:
            StoreError: also `invalid` (no usable name), and `busy` when too many wrote at once.
        """
        check_id(entry)
        _check_questions((pair.asked,))
        news = await self._barred(tenant, entry, pair, act)
        # Also where it was so already: whoever said it first may not have been told yet.
        await self._server.written(tenant)
        return news

    async def _barred(self, tenant: TenantId, entry: EntryId, pair: Pair, act: Act) -> bool:
        async with self._turn(tenant):
            for turn in range(_TRIES):
                state = await self._state(tenant, None)
                line = audit_chain.next_line(state.number, state.digest, act)
                words = (raw(entry), digest(pair.key), pair.asked, *self._linked(line))
                reply = await self._server.write(self._scripts.bar, tenant, words, lead=1)
                match reply[:1]:
                    case [b"ok" | b"done"]:
                        return True
                    case [b"already"]:
                        return False
                    case _:
                        await _pause(turn, reply)
        raise _raced()

    async def publish(self, entry: Entry, public: Entry, act: Act) -> Line | None:
        """Store `public`, and write the act to the log of the entry's tenant; see `Verdicts.publish`.

        The line comes first: a crash between the two leaves a line without a public entry, and publishing again
        completes it. What stands under the public id, or its exact key, gives way; epochs and version are those that the
        public tenant needs now.

        Raises:
            StoreError: also `invalid`, `quota`, and `busy` when too many wrote at once. The line stands then, too.
        """
        check_id(public.id)
        _check_questions(tuple(public.barred))
        if await packed(public, self._clock.now(), self._rules.quota_of) is None:
            return None
        line = await self._noted(entry.tenant, act, entry)
        if line is not None:
            # The line first, on the disk too: the two may be on two servers.
            await self._server.written(entry.tenant)
            await self._place_public(public)
            await self._server.written(public.tenant)
        return line

    async def versions(self, tenant: TenantId, id: EntryId) -> list[Entry]:
        """Give the earlier versions of an entry, newest first; `barred` is not filled, and damaged ones are left out.

        Raises:
            StoreError: unreachable or late.
        """
        key = self._server.keys.base(tenant) + b"v:" + raw(id)
        found = []
        for value in a_list(await self._link.call("LRANGE", key, 0, self._kept.versions - 1)):
            try:
                found.append(codec.decode(some_bytes(value), tenant, id=id))
            except StoreError as error:
                if error.kind != "corrupt":
                    raise
        return found

    async def write(self, tenant: TenantId, act: Act) -> Line:
        """Write down an act that changed no entry by itself.

        Raises:
            StoreError: also `invalid` (no JSON, too large), and `busy` when too many wrote at once.
        """
        line = await self._noted(tenant, act, None)
        if line is None:
            raise StoreError("audit log: reply of another shape than asked for", kind="error")
        await self._server.written(tenant)
        return line

    async def log(self, tenant: TenantId, cursor: str = "", limit: int = 50) -> LogPage:
        """Give a page of the audit log, newest first; at most 500 lines.

        Lines that cannot be read are left out: their numbers are missing, and `broken` tells.

        Raises:
            StoreError: also `invalid` when the cursor is none of ours.
        """
        if cursor and (not (cursor.isascii() and cursor.isdigit()) or int(cursor[:20]) > _MOST_NUMBER):
            raise StoreError("cursor is not one of ours", kind="invalid")
        words = (cursor, max(1, min(limit, _MOST_LIMIT)))
        first, stored = a_list(await self._server.read(self._scripts.page, tenant, words), 2, 2)
        lines = [audit_chain.read(some_bytes(one)) for one in reversed(a_list(stored))]
        return LogPage(tuple(line for line in lines if line), str(a_number(first) or ""))

    async def broken(self, tenant: TenantId) -> int | None:
        """Work the log's chain out anew: the number of the first line that does not fit, None when all do.

        Seen are lines changed, removed, inserted or exchanged, and a tail cut off or added, since where the
        log ends is kept beside it. Lines that were let go because there were more than `VerdictRules.lines` cannot be
        checked: the chain begins with the digest of the last of them. Not seen is a log rewritten as a whole
        with its end, by one who may write to the server; for that, compare with a digest exported before.

        Raises:
            StoreError: unreachable or late.
        """
        walk = audit_chain.Walk()
        while True:
            reply = await self._server.read(self._scripts.walk, tenant, (walk.number, _WALK))
            number, end, after, before, lines = a_list(reply, 5, 5)
            if a_number(after) != walk.number:
                walk = audit_chain.Walk(a_number(after), _text(before))
            for stored in a_list(lines):
                if not walk.take(some_bytes(stored)):
                    return walk.number + 1
            if len(lines) < _WALK:
                return walk.wrong_end(a_number(number), _text(end))

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    def _turn(self, tenant: TenantId) -> asyncio.Lock:
        # One writer of this process at a time: they would only take each other's place in the chain.
        return self._turns.setdefault(tenant, asyncio.Lock())

    async def _state(self, tenant: TenantId, id: EntryId | None) -> _State:
        name = raw(id) if id else b""
        reply = await self._server.read(self._scripts.state, tenant, (name,))
        value, barred, number, end = a_list(reply, 4, 4)
        entry, tail = None, b""
        if id and bytes_or_nil(value) is not None:
            entry = await self._server.decoded(value, tenant, id, None, barred)
            tail = codec.checksum_of(value)
        return _State(entry, tail, a_number(number), _text(end))

    async def _noted(self, tenant: TenantId, act: Act, entry: Entry | None) -> Line | None:
        """Write a line; None when `entry` is given and is not what stands there."""
        async with self._turn(tenant):
            for turn in range(_TRIES):
                state = await self._state(tenant, entry.id if entry else None)
                line = audit_chain.next_line(state.number, state.digest, act)
                if entry is not None and not _is_seen(state.entry, entry):
                    return None
                name = raw(entry.id) if entry else b""
                words = (name, state.tail, *self._linked(line))
                reply = await self._server.write(self._scripts.note, tenant, words, lead=1)
                if reply[:1] in ([b"ok"], [b"done"]):
                    return line
                await _pause(turn, reply)
        raise _raced()

    async def _place_public(self, public: Entry) -> None:
        tenant = public.tenant
        names = list(epoch_keys(public))
        words: list[Argument] = [b"", len(names), *map(epoch_field, names)]
        async with self._turn(tenant):
            for turn in range(_TRIES):
                state = await self._state(tenant, public.id)
                looked = a_list(await self._server.read(self._server.scripts.lookup, tenant, words), 5, 5)
                counts = a_list(looked[2], len(names), len(names))
                born = tuple((name, a_number(count)) for name, count in zip(names, counts, strict=True))
                version = max(public.version, state.entry.version + 1 if state.entry else 1)
                placed = replace(public, version=version, epochs=Epochs(tuple(b for b in born if b[1])))
                ready = await packed(placed, self._clock.now(), self._rules.quota_of)
                arguments = self._words(placed, state.tail, ready, None, tuple(public.barred), ())
                reply = await self._server.write(self._scripts.apply, tenant, arguments, lead=2, dies=True)
                if reply[:1] == [b"ok"]:
                    return
                if reply[:1] == [b"full"]:
                    raise StoreError("public answers: verified ones leave no room", kind="quota")
                await _pause(turn, reply)
        raise _raced()

    def _words(
        self,
        entry: Entry,
        tail: bytes,
        ready: Packed | None,
        line: Line | None,
        bar: Sequence[str],
        unbar: Sequence[str],
    ) -> list[Argument]:
        value: tuple[Argument, ...] = (b"", 0, 0, 0, 0)
        if ready is not None:
            value = (ready.value, ready.ttl, ready.size, ready.room, ready.worth)
        kept = (digest(entry.key), len(bar), len(unbar), self._kept.versions, self._kept.bytes)
        return [raw(entry.id), tail, *value, *kept, *self._linked(line), *bar, *unbar]

    def _linked(self, line: Line | None) -> tuple[Argument, ...]:
        if line is None:
            return ("", 0, "", b"", 0)
        return (line.previous, line.number, line.digest, audit_chain.written(line), self._kept.lines)


def _is_seen(found: Entry | None, expected: Entry) -> bool:
    """True when what stands there is what the caller saw."""
    if found is None or (found.id, found.version) != (expected.id, expected.version):
        return False
    seen = (expected.completion, expected.prompt, expected.status, expected.key)
    return (found.completion, found.prompt, found.status, found.key) == seen


def _check_change(expected: Entry, changed: Entry | None, questions: Sequence[str]) -> None:
    _check_questions(questions)
    if changed is None:
        return
    if (changed.id, changed.tenant) != (expected.id, expected.tenant):
        raise StoreError("a verdict cannot turn an entry into another one", kind="invalid")
    if changed.version != expected.version + 1:
        raise StoreError("a verdict makes the next version of an entry", kind="invalid")


def _check_questions(questions: Sequence[str]) -> None:
    usable = all(0 < len(one) <= 128 and one != FULL and one.isprintable() for one in questions)
    if not usable or len(questions) > _MOST_CHANGED:
        raise StoreError("not the digests of questions, or too many at once", kind="invalid")


def _text(item: Reply) -> str:
    return (bytes_or_nil(item) or b"").decode("utf-8", "replace")


async def _pause(turn: int, reply: Sequence[Reply]) -> None:
    if reply[:1] not in ([b"race"], [b"stale"], [b"gone"]):
        raise StoreError("verdicts: reply of another shape than asked for", kind="error")
    if turn:  # whoever lost once was merely late; the server runs one script at a time
        await asyncio.sleep(_PAUSE * random.random())  # noqa: S311 - jitter, not a secret


def _raced() -> StoreError:
    return StoreError("verdicts: too many write at once", kind="busy")
