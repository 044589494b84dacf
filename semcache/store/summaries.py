"""Summaries of histories in Redis, one value each, shared by all replicas.

    {<tenant>}:sum:<name>     the tenant's invalidation counter, a colon, the text; fades

A name may begin with the digest of an end user (`core.Entry.subject`) and a dot; of who was erased moments ago none is kept.

A value lives under its tenant's invalidation counter as entries do, and whoever is first wins: two replicas that sum up the
same at the same moment go on with one text. Knows texts, not what they sum up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.scripts import Script
from semcache.store.shapes import bytes_or_nil, some_bytes

LIFE = 7 * 86_400.0
"""Seconds that a summary is kept after it was made or last read."""
LONGEST = 1 << 18

_GET = """#!lua
local v = redis.call('GET', KEYS[2])
local epoch = tostring(tonumber(redis.call('HGET', KEYS[1], '')) or 0)
if not v or string.sub(v, 1, #epoch + 1) ~= epoch..':' then return false end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return string.sub(v, #epoch + 2)
"""

_PUT = """#!lua
local erased = ARGV[3] ~= '' and redis.call('HGET', KEYS[3], ARGV[3])
erased = erased and tonumber(string.match(erased, '^(%S+)'))
if erased and tonumber(redis.call('TIME')[1]) - erased < LATE then return ARGV[2] end
local v = redis.call('GET', KEYS[2])
local epoch = tostring(tonumber(redis.call('HGET', KEYS[1], '')) or 0)
if v and string.sub(v, 1, #epoch + 1) == epoch..':' then return string.sub(v, #epoch + 2) end
redis.call('SET', KEYS[2], epoch..':'..ARGV[2], 'PX', ARGV[1])
return ARGV[2]
""".replace("LATE", "600")
"""Ten minutes: what was being summed up when somebody was erased has come or failed by then."""


@dataclass(frozen=True, slots=True)
class _Scripts:
    get: Script = field(default_factory=lambda: Script(_GET))
    put: Script = field(default_factory=lambda: Script(_PUT))


class RedisSummaries:
    """The summaries on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: keeps deployments in one database apart.
        life: seconds that a summary is kept.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, rules: LinkRules, prefix: str = "sc", life: float = LIFE) -> None:
        self._link = open_link(url, rules)
        self._keys = Keys(prefix)
        self._scripts = _Scripts()
        self._life = int(life * 1000)

    async def get(self, tenant: TenantId, name: str) -> str | None:
        """Give a summary; None when there is none, or the tenant was flushed since.

        Raises:
            StoreError: unreachable or late.
        """
        found = bytes_or_nil(await self._link.run(self._scripts.get, self._of(tenant, name), (self._life,)))
        return None if found is None else found.decode("utf-8", "replace")

    async def put(self, tenant: TenantId, name: str, summary: str) -> str:
        """Keep a summary; gives the one that holds: whoever is first wins.

        Raises:
            StoreError: unreachable, late, read-only or full.
            ValueError: longer than `LONGEST` bytes.
        """
        value = summary.encode("utf-8", "replace")
        if len(value) > LONGEST:
            raise ValueError(f"a summary of {len(value)} bytes is longer than {LONGEST}")
        subject = name.partition(".")[0] if "." in name else ""
        keys = (*self._of(tenant, name), self._keys.base(tenant) + b"er")
        reply = await self._link.run(self._scripts.put, keys, (self._life, value, subject))
        return some_bytes(reply).decode("utf-8", "replace")

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    def _of(self, tenant: TenantId, name: str) -> tuple[bytes, bytes]:
        base = self._keys.base(tenant)
        return base + b"ep", base + b"sum:" + name.encode()
