"""Where the heads of prompts worth computing beforehand outlive a process: one value a tenant in Redis.

    {<tenant>}:warm     the tenant's invalidation counter, a colon, the value; fades after two weeks
    {!}:warm            set of tenants that have one
    {!}:warm-lease      who computes at present

A value lives under its tenant's invalidation counter as entries do: flushing the tenant removes it in
the same step (`lua_write.BUMP`), and a value counted before that is refused. Knows bytes, not heads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.lease import Lease
from semcache.store.link import LinkRules
from semcache.store.scripts import Script
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, is_yes, some_bytes

LONGEST = 1 << 20
"""Bytes of one tenant's value."""
MOST_TENANTS = 2000
_LIFE_MS = 14 * 86_400_000

_WRITE = """#!lua
if (tonumber(redis.call('HGET', KEYS[1], '')) or 0) ~= tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[2])
  return 'epoch'
end
redis.call('SET', KEYS[2], ARGV[1]..':'..ARGV[2], 'PX', ARGV[3])
return 'ok'
"""

_READ = """#!lua flags=no-writes
local v = redis.call('GET', KEYS[2])
local epoch = tostring(tonumber(redis.call('HGET', KEYS[1], '')) or 0)
if not v or string.sub(v, 1, #epoch + 1) ~= epoch..':' then return false end
return string.sub(v, #epoch + 2)
"""


@dataclass(frozen=True, slots=True)
class _Scripts:
    write: Script = field(default_factory=lambda: Script(_WRITE))
    read: Script = field(default_factory=lambda: Script(_READ))


class WarmShelf:
    """The shelf on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: keeps deployments in one database apart.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, rules: LinkRules, prefix: str = "sc") -> None:
        self._link = open_link(url, rules)
        self._keys = Keys(prefix)
        self._scripts = _Scripts()
        self._lease = Lease(self._link, self._keys.shared("warm-lease"))

    async def epoch(self, tenant: TenantId) -> int:
        """Give a tenant's invalidation counter.

        Raises:
            StoreError: unreachable or late.
        """
        return a_number(await self._link.call("HGET", self._of(tenant)[0], b""))

    async def tenants(self) -> list[TenantId]:
        """List the tenants that have a value, or had one.

        Raises:
            StoreError: unreachable or late.
        """
        names = a_list(await self._link.call("SMEMBERS", self._keys.shared("warm")))[:MOST_TENANTS]
        return sorted(TenantId(some_bytes(name).decode("utf-8", "surrogatepass")) for name in names)

    async def read(self, tenant: TenantId) -> bytes | None:
        """Give a tenant's value; None when there is none, or the tenant was flushed since.

        Raises:
            StoreError: unreachable or late.
        """
        return bytes_or_nil(await self._link.run(self._scripts.read, self._of(tenant), ()))

    async def write(self, tenant: TenantId, epoch: int, value: bytes) -> bool:
        """Replace a tenant's value; False when the tenant was flushed since `epoch`, and then there is none.

        Raises:
            StoreError: unreachable, late, read-only or full.
            ValueError: longer than `LONGEST`.
        """
        if len(value) > LONGEST:
            raise ValueError(f"a value of {len(value)} bytes is longer than {LONGEST}")
        reply = await self._link.run(self._scripts.write, self._of(tenant), (epoch, value, _LIFE_MS))
        if not is_yes(reply, b"ok", (b"epoch",)):
            return False
        await self._link.call("SADD", self._keys.shared("warm"), raw(tenant))
        return True

    async def drop(self, tenant: TenantId) -> None:
        """Remove a tenant's value. Idempotent.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        await self._link.call("DEL", self._of(tenant)[1])
        await self._link.call("SREM", self._keys.shared("warm"), raw(tenant))

    async def lease(self, holder: str, seconds: float) -> bool:
        """Take, renew, or (with 0 seconds) give up the right to compute; False while another holds it.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        return await self._lease.take(holder, seconds)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    def _of(self, tenant: TenantId) -> tuple[bytes, bytes]:
        base = self._keys.base(tenant)
        return base + b"ep", base + b"warm"
