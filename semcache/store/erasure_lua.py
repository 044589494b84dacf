"""The scripts by which somebody is erased (`store.erasure`). All of them remove, so they run on full servers too.

`KEYS[1]` routes the call on a cluster; every other key has the same hash tag and is built from `ARGV[1]`, the beginning
of the tenant's key names (`store.keys`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.store.scripts import Script

_SOME = """#!lua flags=no-writes
local found = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[1], 'COUNT', ARGV[3])
return {found[1], found[2]}
"""
"""Gives a cursor and some names of keys; ARGV: the pattern, the cursor, about how many are looked at."""

_QUESTIONS = """#!lua flags=allow-oom
local all, gone = redis.call('HGETALL', KEYS[1]), 0
for i = 1, #all, 2 do
  if string.find(all[i + 1], ARGV[1], 1, true) then
    if ARGV[2] == '1' then redis.call('HDEL', KEYS[1], all[i]) end
    gone = gone + 1
  end
end
return gone
"""
"""Questions of one entry; ARGV: what a text of somebody begins with, and whether they are to go."""

_NOTES = """#!lua flags=allow-oom
local rows, gone = redis.call('LRANGE', KEYS[1], 0, -1), 0
for _, row in ipairs(rows) do
  if string.find(row, ARGV[1], 1, true) then
    if ARGV[2] == '1' then redis.call('LREM', KEYS[1], 1, row) end
    gone = gone + 1
  end
end
return gone
"""
"""Labels with notes; ARGV as above."""

_HITS = """#!lua flags=allow-oom
local gone = 0
for i = 1, #ARGV, 2 do
  local request, name = ARGV[i], ARGV[i + 1]
  if redis.call('HDEL', KEYS[1], 'r:'..request) == 1 then gone = gone + 1 end
  redis.call('HDEL', KEYS[1], 'u:'..request)
  redis.call('ZREM', KEYS[2], name)
  local entry = string.match(name, '%z(.*)$')
  if entry and redis.call('HGET', KEYS[1], 'e:'..entry) == request then redis.call('HDEL', KEYS[1], 'e:'..entry) end
end
return gone
"""
"""Served hits; ARGV: the name of a request, and how it stands in the order of hits, again and again."""

_FOLD = """#!lua flags=allow-oom
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old then return 0 end
local parts, told = {}, string.gmatch(old, '%S+')
for number in string.gmatch(redis.call('HGET', KEYS[1], ARGV[2]) or '', '%S+') do
  parts[#parts + 1] = string.format('%.0f', (tonumber(number) or 0) + (tonumber(told() or '0') or 0))
end
for number in told do parts[#parts + 1] = number end
redis.call('HSET', KEYS[1], ARGV[2], table.concat(parts, ' '))
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
"""
"""Adds one field of a day's costs to another; ARGV: from, to."""


@dataclass(frozen=True, slots=True)
class ErasureScripts:
    """All scripts of erasure; made once by whoever holds a connection."""

    some: Script = field(default_factory=lambda: Script(_SOME))
    questions: Script = field(default_factory=lambda: Script(_QUESTIONS))
    notes: Script = field(default_factory=lambda: Script(_NOTES))
    hits: Script = field(default_factory=lambda: Script(_HITS))
    fold: Script = field(default_factory=lambda: Script(_FOLD))
