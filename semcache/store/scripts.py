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

TOMBSTONE_MS = 3_600_000
"""How long an id or exact key deleted by id is barred against writes begun before: 1 hour."""

_HEAD = """
local base, ep = ARGV[1], KEYS[1]
local age, exp, meta = base..'age', base..'exp', base..'meta'
local function num(s, i)
  local a, b, c, d = string.byte(s, i, i + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end
local function head(v)
  if not v or #v < 25 or string.sub(v, 1, 3) ~= 'SC\\1' then return nil end
  local n = string.byte(v, 20 + 1)
  if #v < 25 + 16 * n then return nil end
  local h = {status = string.sub(v, 4, 4), version = num(v, 5), exact = string.sub(v, 9, 20),
             fields = {''}, born = {num(v, 22)}}
  for i = 1, n do
    local at = 26 + 16 * (i - 1)
    h.fields[i + 1] = string.sub(v, at, at + 11)
    h.born[i + 1] = num(v, at + 12)
  end
  return h
end
local function current(h)
  local now = redis.call('HMGET', ep, unpack(h.fields))
  for i = 1, #h.fields do
    if (tonumber(now[i]) or 0) ~= h.born[i] then return false end
  end
  return true
end
local function read(id)
  local v = redis.call('GET', base..'e:'..id)
  if not v then return false end
  local h = head(v)
  if h and not current(h) then return false end
  return v
end
"""

_WRITE = """
local tenant, maxlen = ARGV[2], ARGV[3]
local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000), string.format('%.0f', t[1] * 1000000 + t[2])
end
local function announce(list)
  if not KEYS[2] or #list == 0 then return end
  local n = redis.call('INCR', KEYS[3])
  if n == 1 then
    -- Begins at the time in microseconds, so that a store begun anew never continues old numbers.
    local _, micros = clock()
    n = tonumber(micros)
    redis.call('SET', KEYS[3], micros)
  end
  local id = string.format('%.0f-0', n)
  local r = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', maxlen, id, 't', tenant, unpack(list))
  if r.err then
    redis.call('DEL', KEYS[2])
    redis.call('XADD', KEYS[2], id, 't', tenant, unpack(list))
  end
end
local function uncount(id)
  local size = tonumber(redis.call('HGET', meta, id))
  if size then
    redis.call('HDEL', meta, id)
    redis.call('HINCRBY', meta, '#b', -size)
  end
  redis.call('ZREM', age, id)
  redis.call('ZREM', exp, id)
end
-- Other entries' keys may have been given wrong types by someone else: pcall, so that what is
-- already under way is finished.
local function untrace(id, h)
  if redis.pcall('GET', base..'k:'..h.exact) == id then redis.call('DEL', base..'k:'..h.exact) end
  for i = 2, #h.fields do redis.pcall('ZREM', base..'s:'..h.fields[i], id) end
end
local function peek(id)
  local v = redis.pcall('GETRANGE', base..'e:'..id, 0, 1023)
  return type(v) == 'string' and head(v) or nil
end
local function drop(id)
  local h = peek(id)
  redis.call('DEL', base..'e:'..id)
  if h then untrace(id, h) end
  uncount(id)
  return h
end
local function extend(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end
local function reap(now, limit, gone)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', exp, '-inf', now, 'LIMIT', 0, limit)) do
    drop(id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  end
end
local function crowd(max_entries, max_bytes, keep, limit, gone)
  for _ = 1, limit do
    local bytes = tonumber(redis.call('HGET', meta, '#b')) or 0
    if redis.call('ZCARD', age) <= max_entries and bytes <= max_bytes then return end
    local id = redis.call('ZRANGE', age, 0, 0)[1]
    if not id or id == keep then return end
    drop(id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  end
end
"""

_LOOKUP = """
local n = tonumber(ARGV[3])
local found = {false, false}
if ARGV[2] ~= '' then
  local id = redis.call('GET', base..'k:'..ARGV[2])
  if id then found = {id, read(id)} end
end
local fields, marks = {}, {}
for i = 4, 3 + n do fields[#fields + 1] = ARGV[i] end
if n > 0 then fields = redis.call('HMGET', ep, unpack(fields)) end
for i = 4 + n, #ARGV do marks[#marks + 1] = redis.call('GET', base..'x:'..ARGV[i]) end
return {found[1], found[2], fields, marks}
"""

_GET_MANY = """
local out = {}
for i = 2, #ARGV do out[i - 1] = read(ARGV[i]) end
return out
"""

_PUT = """
local id, value, ttl = ARGV[4], ARGV[5], tonumber(ARGV[6])
local mark, size = ARGV[7], tonumber(ARGV[8])
local h = head(value)
local entry, exact = base..'e:'..id, base..'k:'..h.exact
local new_verified = h.status == 'a' or h.status == 'e'
local function verified(o) return o.status == 'a' or o.status == 'e' end
if not current(h) then return {'epoch'} end
if redis.call('EXISTS', base..'d:'..id) == 1 then return {'deleted'} end
local old = redis.call('GET', entry)
local mine = head(old)
local tomb = redis.call('GET', base..'x:'..h.exact)
if mine and current(mine) then
  local decided = mine.status ~= 'u'
  if mine.version > h.version then return {'older'} end
  if old ~= value and decided and (mine.version == h.version or h.status == 'u') then return {'older'} end
elseif tomb and tomb ~= mark then
  return {'deleted'}
end
local other = redis.call('GET', exact)
if other and other ~= id then
  local o = peek(other)
  if o and current(o) then
    if verified(o) and not new_verified then return {'verified'} end
    if h.status == 'r' then return {'older'} end
  end
end
-- Wrong types show themselves here, before anything is written.
redis.call('ZCARD', age) redis.call('ZCARD', exp) redis.call('HGET', meta, '#b')
for i = 2, #h.fields do redis.call('ZCARD', base..'s:'..h.fields[i]) end
if KEYS[2] then redis.call('XLEN', KEYS[2]) redis.call('GET', KEYS[3]) redis.call('ZCARD', KEYS[4]) end

local now, micros = clock()
local dies, grace = now + ttl, ttl + 60000
local gone = {}
redis.call('SET', entry, value, 'PX', ttl)
if mine then untrace(id, mine) end
uncount(id)
if other and other ~= id then
  drop(other)
  gone = {'D', other}
end
reap(now, 32, gone)
redis.call('SET', exact, id, 'PX', ttl)
for i = 2, #h.fields do
  local set = base..'s:'..h.fields[i]
  redis.call('ZREMRANGEBYSCORE', set, '-inf', now)
  redis.call('ZADD', set, dies, id)
  extend(set, grace)
end
redis.call('ZADD', age, redis.call('HINCRBY', meta, '#s', 1), id)
redis.call('ZADD', exp, dies, id)
redis.call('HSET', meta, id, size)
redis.call('HINCRBY', meta, '#b', size)
extend(age, grace) extend(exp, grace) extend(meta, grace)
if h.status == 'r' then redis.call('SET', base..'x:'..h.exact, micros, 'PX', TOMBSTONE) end
crowd(tonumber(ARGV[9]), tonumber(ARGV[10]), id, 256, gone)
if KEYS[2] then
  redis.call('ZADD', KEYS[4], 'GT', dies, tenant)
  extend(KEYS[4], grace)
end
gone[#gone + 1] = 'P'
gone[#gone + 1] = id
announce(gone)
return {'ok', dies, unpack(gone)}
"""

_DELETE_IDS = """
local n = tonumber(ARGV[4])
local _, micros = clock()
local gone, count = {}, 0
for i = 5 + n, #ARGV do
  local id, h = ARGV[i], peek(ARGV[i])
  local match = h ~= nil or n == 0
  for j = 5, 4 + n do
    local has = false
    for k = 2, #(h and h.fields or {}) do has = has or h.fields[k] == ARGV[j] end
    match = match and has
  end
  if match then
    if redis.call('EXISTS', base..'e:'..id) == 1 then count = count + 1 end
    redis.call('SET', base..'d:'..id, '1', 'PX', TOMBSTONE)
    if h then redis.call('SET', base..'x:'..h.exact, micros, 'PX', TOMBSTONE) end
    drop(id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  end
end
announce(gone)
return {count, unpack(gone)}
"""

_BUMP = """
local value = redis.call('HINCRBY', ep, ARGV[4], 1)
local list = {'E', ARGV[5], 'V', string.format('%.0f', value)}
announce(list)
return {value, unpack(list)}
"""

_SWEEP = """
local set, fieldname, bound = base..ARGV[4], ARGV[5], tonumber(ARGV[6])
local first, batch = tonumber(ARGV[7]), tonumber(ARGV[8])
local ids = redis.call('ZRANGE', set, first, first + batch - 1)
local gone, kept, count = {}, 0, 0
for _, id in ipairs(ids) do
  local h, dead = peek(id), true
  for i = 1, #(h and h.fields or {}) do
    if h.fields[i] == fieldname then dead = h.born[i] < bound end
  end
  if dead then
    if h then count = count + 1 end
    drop(id)
    redis.call('ZREM', set, id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  else
    kept = kept + 1
  end
end
announce(gone)
return {#ids, kept, count, unpack(gone)}
"""

_TIDY = """
local gone = {}
local now = clock()
reap(now, 256, gone)
crowd(tonumber(ARGV[4]), tonumber(ARGV[5]), '', 256, gone)
announce(gone)
return gone
"""

_DISCARD = """
local id, tail = ARGV[4], ARGV[5]
local v = redis.call('GET', base..'e:'..id)
if not v or string.sub(v, -16) ~= tail then return {} end
drop(id)
if ARGV[6] ~= '' and redis.call('GET', base..'k:'..ARGV[6]) == id then redis.call('DEL', base..'k:'..ARGV[6]) end
local gone = {'D', id}
announce(gone)
return gone
"""

_LIST = """
local cursor, limit, n = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local out, bytes, seen = {''}, 0, 0
while seen < 2048 do
  local rows = redis.call('ZRANGE', age, cursor, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 64, 'WITHSCORES')
  if #rows == 0 then return out end
  for i = 1, #rows, 2 do
    local id, match = rows[i], true
    cursor = '('..rows[i + 1]
    seen = seen + 1
    if n > 0 then
      local h = head(redis.call('GETRANGE', base..'e:'..id, 0, 1023))
      for j = 5, 4 + n do
        local has = false
        for k = 2, #(h and h.fields or {}) do has = has or h.fields[k] == ARGV[j] end
        match = match and has
      end
    end
    local v = match and redis.call('GET', base..'e:'..id)
    if v then
      out[#out + 1] = id
      out[#out + 1] = v
      bytes = bytes + #v
      if (#out - 1) / 2 >= limit or bytes > 4194304 then out[1] = cursor return out end
    end
  end
end
out[1] = cursor
return out
"""

_PAGE = """
local rows = redis.call('ZRANGE', age, ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
local out, bytes = {''}, 0
for i = 1, #rows, 2 do
  local v = read(rows[i])
  out[1] = '('..rows[i + 1]
  if v then
    out[#out + 1] = rows[i]
    out[#out + 1] = v
    bytes = bytes + #v
    if bytes > 4194304 then return out end
  end
end
return out
"""

_COUNTS = """
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
return {redis.call('ZCOUNT', exp, '('..string.format('%.0f', now), '+inf'), redis.call('HGET', meta, '#b') or '0'}
"""

_ANNOUNCE = """
local list = {}
for i = 5, #ARGV do list[#list + 1] = ARGV[i] end
announce(list)
local dies = tonumber(ARGV[4])
if dies > 0 then
  local now = clock()
  redis.call('ZADD', KEYS[4], 'GT', dies, tenant)
  extend(KEYS[4], dies - now + 60000)
end
return 1
"""


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
    return Script("#!lua flags=no-writes\n" + _HEAD + body)


def _writing(body: str, flags: str = "") -> Script:
    text = _HEAD + _WRITE + body.replace("TOMBSTONE", str(TOMBSTONE_MS))
    return Script(f"#!lua flags={flags}\n" + text if flags else "#!lua\n" + text)


@dataclass(frozen=True, slots=True)
class Scripts:
    """All scripts of the store; made once by whoever holds a connection."""

    lookup: Script = field(default_factory=lambda: _reading(_LOOKUP))
    get_many: Script = field(default_factory=lambda: _reading(_GET_MANY))
    page: Script = field(default_factory=lambda: _reading(_PAGE))
    list: Script = field(default_factory=lambda: _reading(_LIST))
    counts: Script = field(default_factory=lambda: _reading(_COUNTS))
    put: Script = field(default_factory=lambda: _writing(_PUT))
    delete_ids: Script = field(default_factory=lambda: _writing(_DELETE_IDS, "allow-oom"))
    bump: Script = field(default_factory=lambda: _writing(_BUMP, "allow-oom"))
    sweep: Script = field(default_factory=lambda: _writing(_SWEEP, "allow-oom"))
    tidy: Script = field(default_factory=lambda: _writing(_TIDY, "allow-oom"))
    discard: Script = field(default_factory=lambda: _writing(_DISCARD, "allow-oom"))
    announce: Script = field(default_factory=lambda: _writing(_ANNOUNCE, "allow-oom"))
