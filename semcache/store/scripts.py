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

from semcache.store import lua_read, lua_write

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


def _reading(body: str) -> Script:
    return Script("#!lua flags=no-writes\n" + lua_read.HEAD + body)


def _writing(body: str, flags: str = "") -> Script:
    text = lua_read.HEAD + lua_write.WRITE + body.replace("TOMBSTONE", str(TOMBSTONE_MS))
    return Script(f"#!lua flags={flags}\n" + text if flags else "#!lua\n" + text)


@dataclass(frozen=True, slots=True)
class Scripts:
    """All scripts of the store; made once by whoever holds a connection."""

    lookup: Script = field(default_factory=lambda: _reading(lua_read.LOOKUP))
    get_many: Script = field(default_factory=lambda: _reading(lua_read.GET_MANY))
    page: Script = field(default_factory=lambda: _reading(lua_read.PAGE))
    list: Script = field(default_factory=lambda: _reading(lua_read.LIST))
    counts: Script = field(default_factory=lambda: _reading(lua_read.COUNTS))
    put: Script = field(default_factory=lambda: _writing(lua_write.PUT))
    delete_ids: Script = field(default_factory=lambda: _writing(lua_write.DELETE_IDS, "allow-oom"))
    bump: Script = field(default_factory=lambda: _writing(lua_write.BUMP, "allow-oom"))
    sweep: Script = field(default_factory=lambda: _writing(lua_write.SWEEP, "allow-oom"))
    tidy: Script = field(default_factory=lambda: _writing(lua_write.TIDY, "allow-oom"))
    discard: Script = field(default_factory=lambda: _writing(lua_write.DISCARD, "allow-oom"))
    announce: Script = field(default_factory=lambda: _writing(lua_write.ANNOUNCE, "allow-oom"))
