"""A right that one holder has at a time, on one key of Redis: taken, renewed, given up, or lost by itself with time.

The server's clock counts, so the clocks of the holders need not agree. Knows nothing of what the right is for.
"""

from __future__ import annotations

import math

from semcache.store.cluster import ClusterLink
from semcache.store.link import Link
from semcache.store.scripts import Script
from semcache.store.shapes import is_yes

_TAKE = """#!lua
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 'taken' end
if tonumber(ARGV[2]) > 0 then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) else redis.call('DEL', KEYS[1]) end
return 'ok'
"""


class Lease:
    """The lease at one key.

    Args:
        link: where the key lies; its owner closes it.
        key: the whole name.
    """

    def __init__(self, link: Link | ClusterLink, key: bytes) -> None:
        self._link = link
        self._key = key
        self._take = Script(_TAKE)

    async def take(self, holder: str, seconds: float) -> bool:
        """Take, renew, or (with 0 seconds) give up the right; False while another holds it.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        # Rounded up: a shorter time than the server can tell is no giving up.
        reply = await self._link.run(self._take, (self._key,), (holder, math.ceil(seconds * 1000)))
        return is_yes(reply, b"ok", (b"taken",))
