"""Vectors beside entries: those of encoders that are not in service, kept until a change of encoder is over.

    {<tenant>}:gs            hash: digest of a generation -> its name
    {<tenant>}:g:<digest>    hash: entry -> its vector under that generation (float16, and eight bytes that check it)
    {!}:encoders             the encoders of the configuration that was started last, by what they read
    {!}:encoders-settled     those that all entries were last renewed for

An entry itself holds one vector. `swap` gives it another in one step, if nobody changed the entry since it was read, and
puts the one it had beside it; an entry that goes takes its vectors along (`lua_write.drop`). Knows no encoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from semcache.core import Embedding, EncoderId, Entry, EntryId, TenantId, Vector
from semcache.errors import StoreError
from semcache.store import codec
from semcache.store.cluster import ClusterLink
from semcache.store.keys import Keys, digest
from semcache.store.lease import Lease
from semcache.store.link import Argument, Link
from semcache.store.packing import size_of
from semcache.store.scripts import Script, reading, writing
from semcache.store.server import Server, named, raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, is_yes, some_bytes

_CHECK = 8
_BATCH = 64
_TARGET, _SETTLED = "encoders", "encoders-settled"

_BESIDE = """
local function beside_of(generation, name, id, vector)
  local place = base..'g:'..generation
  redis.call('HSET', base..'gs', generation, name)
  redis.call('HSET', place, id, vector)
  local life = redis.call('PTTL', age)
  if life > 0 then
    extend(place, life)
    extend(base..'gs', life)
  end
end
"""

_KEEP = (
    _BESIDE
    + """
local count = 0
for i = 6, #ARGV, 2 do
  if redis.call('EXISTS', base..'e:'..ARGV[i]) == 1 then
    beside_of(ARGV[4], ARGV[5], ARGV[i], ARGV[i + 1])
    count = count + 1
  end
end
return {count}
"""
)

_SWAP = (
    _BESIDE
    + """
local id, tail, value = ARGV[4], ARGV[5], ARGV[6]
local here = redis.call('GET', base..'e:'..id)
local ttl = redis.call('PTTL', base..'e:'..id)
if not here or ttl <= 0 or string.sub(here, -16) ~= tail then return {'other'} end
redis.call('SET', base..'e:'..id, value, 'PX', ttl)
resize(id, tonumber(ARGV[7]))
beside_of(ARGV[8], ARGV[9], id, ARGV[10])
redis.pcall('HDEL', base..'g:'..ARGV[11], id)
local list = {'P', id}
announce(list)
return {'ok', unpack(list)}
"""
)

_KEPT = """
local list = {}
for i = 3, #ARGV do list[#list + 1] = ARGV[i] end
return redis.call('HMGET', base..'g:'..ARGV[2], unpack(list))
"""

_COUNTS = """
local out = redis.call('HGETALL', base..'gs')
for i = 1, #out, 2 do out[i] = redis.call('HLEN', base..'g:'..out[i]) end
return out
"""

_DROP = """
redis.call('UNLINK', base..'g:'..ARGV[4])
return {redis.call('HDEL', base..'gs', ARGV[4])}
"""


@dataclass(frozen=True, slots=True)
class _Scripts:
    keep: Script = field(default_factory=lambda: writing(_KEEP))
    swap: Script = field(default_factory=lambda: writing(_SWAP))
    drop: Script = field(default_factory=lambda: writing(_DROP, "allow-oom"))
    kept: Script = field(default_factory=lambda: reading(_KEPT))
    counts: Script = field(default_factory=lambda: reading(_COUNTS))


class VectorShelf:
    """The shelf on one server or a cluster.

    Args:
        link: to the server; the shelf closes it.
        keys: names of keys.
        stream_length: of the change stream.
    """

    def __init__(self, link: Link | ClusterLink, keys: Keys, stream_length: int = 10_000) -> None:
        self._server = Server(link, keys, stream_length)
        self._scripts = _Scripts()
        self._lease = Lease(link, keys.shared("renewal-lease"))

    async def keep(self, tenant: TenantId, generation: EncoderId, vectors: Mapping[EntryId, Vector]) -> int:
        """Put vectors (float32 [d], unit length) beside entries that are still there; gives beside how many.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        count = 0
        items = list(vectors.items())
        for start in range(0, len(items), _BATCH):
            arguments: list[Argument] = [digest(generation), raw(generation)]
            for name, vector in items[start : start + _BATCH]:
                arguments += [raw(name), _written(vector)]
            reply = await self._server.write(self._scripts.keep, tenant, arguments, lead=1)
            count += a_number(a_list(reply, 1)[0])
        return count

    async def kept(
        self, tenant: TenantId, generation: EncoderId, ids: Sequence[EntryId]
    ) -> list[Vector | None]:
        """Give the vectors that lie beside entries, in order; None where none does, or a damaged one.

        Raises:
            StoreError: unreachable or late.
        """
        if not ids:
            return []
        reply = await self._server.read(self._scripts.kept, tenant, [digest(generation), *map(raw, ids)])
        return [_read(bytes_or_nil(item)) for item in a_list(reply, len(ids), len(ids))]

    async def swap(self, entry: Entry, embedding: Embedding) -> bool:
        """Give an entry, as it was read, another vector, and put the one it has beside it.

        False when it was changed or went meanwhile: whoever changed it will be heard of.

        Raises:
            StoreError: also `invalid`: the vector or the entry cannot be written.
        """
        if entry.embedding is None:
            raise StoreError("entry has no vector to put beside it", kind="invalid")
        old = entry.embedding
        before, after = codec.encode(entry), codec.encode(replace(entry, embedding=embedding))
        arguments: list[Argument] = [raw(entry.id), codec.checksum_of(before), after, size_of(entry, after)]
        arguments += [digest(old.encoder), raw(old.encoder), _written(old.vector), digest(embedding.encoder)]
        reply = await self._server.write(self._scripts.swap, entry.tenant, arguments, lead=1)
        return is_yes(a_list(reply, 1)[0], b"ok", (b"other",))

    async def counts(self, tenant: TenantId) -> dict[EncoderId, int]:
        """Count the vectors beside a tenant's entries by generation.

        Raises:
            StoreError: unreachable or late.
        """
        found = a_list(await self._server.read(self._scripts.counts, tenant, ()))
        counted = zip(found[::2], found[1::2], strict=True)
        return {EncoderId(named(some_bytes(name))): a_number(count) for count, name in counted if count}

    async def drop(self, tenant: TenantId, generation: EncoderId) -> None:
        """Remove all vectors of a generation from beside a tenant's entries. Idempotent.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        await self._server.write(self._scripts.drop, tenant, [digest(generation)], lead=1)

    async def target(self) -> tuple[str, str]:
        """Give the roles of encoders in the configuration started last, as `aim` was told, and those told to `settle`; "" for none.

        Raises:
            StoreError: unreachable or late.
        """
        shared = self._server.keys.shared
        found = a_list(await self._server.link.call("MGET", shared(_TARGET), shared(_SETTLED)), 2, 2)
        aimed, settled = ((bytes_or_nil(item) or b"").decode("utf-8", "replace") for item in found)
        return aimed, settled

    async def aim(self, roles: str) -> None:
        """Say by which encoders entries are to be found from now on.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        await self._server.link.call("SET", self._server.keys.shared(_TARGET), raw(roles))

    async def settle(self, roles: str) -> None:
        """Say that all entries were renewed for these.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        await self._server.link.call("SET", self._server.keys.shared(_SETTLED), raw(roles))

    async def lease(self, holder: str, seconds: float) -> bool:
        """Take, renew, or (with 0 seconds) give up the right to swap; False while another holds it.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        return await self._lease.take(holder, seconds)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._server.link.aclose()


def _written(vector: Vector) -> bytes:
    data = vector.astype("<f2").tobytes()
    return data + _checked(data)


def _read(data: bytes | None) -> Vector | None:
    if data is None or len(data) <= _CHECK or len(data) % 2 or _checked(data[:-_CHECK]) != data[-_CHECK:]:
        return None
    vector = np.frombuffer(data[:-_CHECK], "<f2").astype(np.float32)
    length = float(np.dot(vector, vector))
    if not 0.9 < length < 1.1:  # NaN fails this too
        return None
    found: Vector = vector / np.float32(np.sqrt(length))
    return found


def _checked(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECK).digest()
