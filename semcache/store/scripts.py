"""The Lua that runs inside Redis: each public operation of the store is one script.

A script runs alone on the server, so what it writes appears all at once or not at all: every
check and every read that could meet a wrong type comes before the first write, and the first
write is one that a full server refuses. `KEYS[1]` is the tenant's `ep` hash (it routes the call
on a cluster); every other key of the tenant has the same hash tag and is built from `ARGV[1]`.
On one server `KEYS[2..4]` are the shared change stream, its sequence and the list of tenants, so
the announcement is part of the same script; on a cluster they live elsewhere, are left out, and
`ANNOUNCE` runs after it (see `RedisStore`).

Reading scripts are flagged `no-writes`: they run on replicas and on full or read-only servers.
Deleting ones are flagged `allow-oom`: a full server must still forget.

This module knows the head of `store.codec` values and the names of `store.keys`, nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from semcache.ports import SAMPLE
from semcache.review_rules import MOST_CONFIRMERS, WHOLE
from semcache.store import lua_confirm, lua_read, lua_write

TOMBSTONE_MS = 3_600_000
"""How long an id or exact key deleted by id is barred against writes begun before: 1 hour."""


@dataclass(frozen=True, slots=True)
class Script:
    """One script and the name the server keeps it under."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        # The protocol names scripts by SHA-1; nothing secret depends on it.
        sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", sha)


BARRED_MS = 366 * 86_400_000
"""How long barred questions of an exact key are kept: a year from their last change, and from the last time an answer
was stored under that key. So they outlive every answer stored while they stood, and what nobody has asked for a year
(nor stored for longer) goes at last: without an end they would pile up for ever, one set a complaint."""


def reading(body: str) -> Script:
    """Make a script that only reads one tenant's keys."""
    text = lua_read.HEAD.replace("WHOLE", WHOLE) + body.replace("SAMPLED", str(2 * SAMPLE))
    return Script("#!lua flags=no-writes\n" + text)


def writing(body: str, flags: str = "") -> Script:
    """Make a script that writes one tenant's keys and announces what it did."""
    text = lua_read.HEAD + lua_write.WRITE + body
    words = (("TOMBSTONE", TOMBSTONE_MS), ("BARRED_MS", BARRED_MS), ("WHOLE", WHOLE))
    for word, meaning in (*words, ("MOST_CONFIRMERS", MOST_CONFIRMERS)):
        text = text.replace(word, str(meaning))
    return Script(f"#!lua flags={flags}\n" + text if flags else "#!lua\n" + text)


@dataclass(frozen=True, slots=True)
class Scripts:
    """All scripts of the store; made once by whoever holds a connection."""

    lookup: Script = field(default_factory=lambda: reading(lua_read.LOOKUP))
    get_many: Script = field(default_factory=lambda: reading(lua_read.GET_MANY))
    show: Script = field(default_factory=lambda: reading(lua_read.SHOW))
    page: Script = field(default_factory=lambda: reading(lua_read.PAGE))
    glimpses: Script = field(default_factory=lambda: reading(lua_read.GLIMPSES))
    list: Script = field(default_factory=lambda: reading(lua_read.LIST))
    counts: Script = field(default_factory=lambda: reading(lua_read.COUNTS))
    unwritten: Script = field(default_factory=lambda: reading(lua_read.UNWRITTEN))
    put: Script = field(default_factory=lambda: writing(lua_write.PUT))
    confirm: Script = field(default_factory=lambda: writing(lua_confirm.CONFIRM))
    unconfirm: Script = field(default_factory=lambda: writing(lua_confirm.UNCONFIRM, "allow-oom"))
    delete_ids: Script = field(default_factory=lambda: writing(lua_write.DELETE_IDS, "allow-oom"))
    bump: Script = field(default_factory=lambda: writing(lua_write.BUMP, "allow-oom"))
    sweep: Script = field(default_factory=lambda: writing(lua_write.SWEEP, "allow-oom"))
    tidy: Script = field(default_factory=lambda: writing(lua_write.TIDY, "allow-oom"))
    discard: Script = field(default_factory=lambda: writing(lua_write.DISCARD, "allow-oom"))
    use: Script = field(default_factory=lambda: writing(lua_write.USE))
    announce: Script = field(default_factory=lambda: writing(lua_write.ANNOUNCE, "allow-oom"))
