"""How it stands with an entry that is to be brought back: what is there in its place, and what happened since it was made.

One reading script for an entry. Knows nothing of files; what follows from it is the importer's matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import Entry, EntryId, Epochs
from semcache.store.cluster import open_link
from semcache.store.keys import Keys, digest, epoch_field, epoch_keys
from semcache.store.link import Argument, LinkRules
from semcache.store.scripts import reading
from semcache.store.server import Server, named, raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil

_STANDING = """
local id, exact = ARGV[2], ARGV[3]
local fields = {}
for i = 4, #ARGV do fields[#fields + 1] = ARGV[i] end
local mine = head(redis.call('GETRANGE', base..'e:'..id, 0, 1023))
local other = redis.call('GET', base..'k:'..exact)
return {
  redis.call('EXISTS', base..'d:'..id), mine and current(mine) and mine.version or 0,
  other and other ~= id and other or false,
  redis.call('HMGET', ep, unpack(fields)), redis.call('HMGET', base..'et', unpack(fields)),
}
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the store says of an entry.

    Attributes:
        buried: it was deleted by id, or rejected and gone.
        version: of the entry that stands under its id, 0 for none.
        other: who else stands under its exact key.
        epochs: the present counters that it would be born under.
        raised: when the last of them was raised (Unix seconds), 0 for never. Those that a release without exports
            raised have no time: they were raised before any export was made.
    """

    buried: bool
    version: int
    other: EntryId | None
    epochs: Epochs
    raised: float


class StandingShelf:
    """Asks how it stands with entries.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: the entry store's.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, rules: LinkRules, prefix: str = "sc") -> None:
        self._link = open_link(url, rules)
        self._server = Server(self._link, Keys(prefix), 0)
        self._script = reading(_STANDING)

    async def of(self, entry: Entry) -> Standing:
        """Say how it stands with an entry.

        Raises:
            StoreError: unreachable or late.
        """
        names = list(epoch_keys(entry))
        words: list[Argument] = [raw(entry.id), digest(entry.key), *map(epoch_field, names)]
        reply = a_list(await self._server.read(self._script, entry.tenant, words), 5, 5)
        buried, version, other, counts, times = reply
        present = [a_number(count) for count in a_list(counts, len(names), len(names))]
        born = tuple((name, count) for name, count in zip(names, present, strict=True) if count)
        found = bytes_or_nil(other) if other is not None else None
        return Standing(
            buried=bool(a_number(buried)),
            version=a_number(version),
            other=named(found) if found else None,
            epochs=Epochs(born),
            raised=max(a_number(at) for at in a_list(times, len(names), len(names))) / 1000,
        )

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()
