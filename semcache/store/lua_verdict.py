"""The scripts of human verdicts: each changes an entry and writes its line into the audit log, or does nothing.

Like the other scripts (`store.scripts`) they look at everything before they write. A line is only written behind the
one that its writer saw: else the script says `race`, and the writer links it anew. A line that stands at the end already
is one whose reply was lost: the script says `done`. Verdicts that take away (`less`, bars, notes) also run on a full server.

Knows the head of `store.codec` values, the names of `store.keys`, and that a stored line begins with its
digest in hex (`store.audit_chain`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.store.scripts import Script, reading, writing
from semcache.store.server import FULL

MOST_BARRED = 300
"""Questions kept of one exact key; with more, its entries are barred altogether."""
VERSION_MS = 30 * 86_400_000
"""How long earlier versions of an entry may stay after its own life."""

_CHAIN = """
local log, top = base..'al', base..'ah'
local function linked(previous, digest)
  local last = redis.call('HGET', top, 'd') or ''
  redis.call('LLEN', log)
  if last == digest then return 'done' end
  return last == previous and 'ok' or 'race'
end
local function note(number, digest, line, most)
  redis.call('RPUSH', log, line)
  redis.call('HSET', top, 'n', number, 'd', digest)
  while redis.call('LLEN', log) > most do
    local first = redis.call('LPOP', log)
    redis.call('HINCRBY', top, 'gn', 1)
    redis.call('HSET', top, 'gd', string.sub(first, 1, 64))
  end
end
local function bar(exact, first, last)
  local set = base..'b:'..exact
  for i = first, last do
    local asked = ARGV[i]
    if #asked > 1 and redis.call('SCARD', set) >= MOST_BARRED and redis.call('SISMEMBER', set, asked) == 0 then
      redis.call('SADD', set, 'WHOLE', 'FULL')
    else
      redis.call('SADD', set, asked)
    end
  end
  redis.call('PEXPIRE', set, math.max(redis.call('PTTL', set), BARRED_MS))
end
"""

_APPLY = """
local id, tail, value, ttl, size = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local exact, bars, unbars = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
local versions, room = tonumber(ARGV[14]), tonumber(ARGV[15])
local previous, number, digest, line, most = ARGV[16], ARGV[17], ARGV[18], ARGV[19], tonumber(ARGV[20])
local removes = value == ''
if line ~= '' then
  local state = linked(previous, digest)
  if state == 'done' then return {'done', 0, removes and 'D' or 'P', id} end
  if state ~= 'ok' then return {state} end
end
local old = redis.call('GET', base..'e:'..id)
if (old and string.sub(old, -16) or '') ~= tail then return {'stale'} end
local mine, h = head(old), not removes and head(value) or nil
if h and not current(h) then return {'gone'} end
local other = h and redis.call('GET', base..'k:'..h.exact)
if other and other ~= id then
  local o = peek(other)
  if o and current(o) and (h.status == 'r' or (verified(o) and not verified(h))) then return {'gone'} end
end
if h then probe(h) end
if mine then probe(mine) end
local earlier, set = base..'v:'..id, base..'b:'..exact
redis.call('LLEN', earlier) redis.call('SCARD', set) redis.call('ZCARD', base..'rq')

local gone, dies, stays = {}, 0, true
if h then
  if old and versions > 0 then
    redis.call('LPUSH', earlier, old)
    redis.call('LTRIM', earlier, 0, versions - 1)
    local held, kept = 0, 0
    for _, v in ipairs(redis.call('LRANGE', earlier, 0, -1)) do
      held = held + #v
      if held > room then break end
      kept = kept + 1
    end
    if kept == 0 then redis.call('DEL', earlier) else redis.call('LTRIM', earlier, 0, kept - 1) end
    redis.call('PEXPIRE', earlier, ttl + VERSION_MS)
  end
  -- Who got the answer from the model got it as it stood: of a human's own words that says nothing.
  if h.status == 'e' then redis.call('DEL', base..'c:'..id) end
  gone, dies, stays = place(id, value, h, mine, other, ttl, size, ARGV[9], ARGV[10])
else
  local _, micros = clock()
  bury(id)
  redis.call('SET', base..'x:'..exact, micros, 'PX', TOMBSTONE)
  drop(id, mine)
  redis.call('DEL', earlier)
  settle()
  gone = {'D', id}
end
if bars > 0 then bar(exact, 21, 20 + bars) end
for i = 21 + bars, 20 + bars + unbars do
  -- Where some could not be kept, the entry stays barred altogether.
  if ARGV[i] ~= 'WHOLE' or redis.call('SISMEMBER', set, 'FULL') == 0 then redis.call('SREM', set, ARGV[i]) end
end
if h and h.exact ~= exact and redis.call('SCARD', set) > 0 then
  local new = base..'b:'..h.exact
  redis.call('SUNIONSTORE', new, new, set)
  redis.call('PEXPIRE', new, math.max(ttl, BARRED_MS))
end
if redis.call('EXISTS', set) == 1 then
  redis.call('PEXPIRE', set, math.max(redis.call('PTTL', set), ttl, BARRED_MS))
end
redis.call('ZREM', base..'rq', id)
if line ~= '' then note(number, digest, line, most) end
announce(gone)
return {stays and 'ok' or 'full', dies, unpack(gone)}
"""

_BAR = """
local id, exact, asked = ARGV[4], ARGV[5], ARGV[6]
local previous, number, digest, line, most = ARGV[7], ARGV[8], ARGV[9], ARGV[10], tonumber(ARGV[11])
local list, set = {'P', id}, base..'b:'..exact
local holder = redis.call('GET', base..'k:'..exact)
if holder and holder ~= id then
  list[#list + 1] = 'P'
  list[#list + 1] = holder
end
local state = linked(previous, digest)
if state == 'done' then return {'done', unpack(list)} end
if redis.call('SISMEMBER', set, asked) == 1 or (#asked > 1 and redis.call('SISMEMBER', set, 'FULL') == 1) then
  -- Told again all the same: on a cluster the one who said so first may have died before telling.
  return {'already', unpack(list)}
end
if state ~= 'ok' then return {state} end
if KEYS[2] then redis.call('XLEN', KEYS[2]) redis.call('GET', KEYS[3]) end

bar(exact, 6, 6)
note(number, digest, line, most)
announce(list)
return {'ok', unpack(list)}
"""

_NOTE = """
local id, tail = ARGV[4], ARGV[5]
local previous, number, digest, line, most = ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
local state = linked(previous, digest)
if state ~= 'ok' then return {state} end
if tail ~= '' and string.sub(redis.call('GET', base..'e:'..id) or '', -16) ~= tail then return {'stale'} end
note(number, digest, line, most)
return {'ok'}
"""

_STATE = """
local id = ARGV[2]
local v = id ~= '' and redis.call('GET', base..'e:'..id)
local t = redis.call('HMGET', base..'ah', 'n', 'd')
return {v, beside(head(v), id), t[1], t[2]}
"""

_PAGE = """
local t = redis.call('HMGET', base..'ah', 'gn')
local before, last = tonumber(t[1]) or 0, tonumber(ARGV[2])
if not last then last = before + redis.call('LLEN', base..'al') end
local first = math.max(last - tonumber(ARGV[3]), before)
local lines = {}
if last > first then lines = redis.call('LRANGE', base..'al', first - before, last - before - 1) end
return {first > before and first or 0, lines}
"""

_WALK = """
local t = redis.call('HMGET', base..'ah', 'n', 'd', 'gn', 'gd')
local before = tonumber(t[3]) or 0
local after = math.max(tonumber(ARGV[2]), before)
local from = after - before
return {t[1], t[2], after, after == before and t[4] or '', redis.call('LRANGE', base..'al', from, from + ARGV[3] - 1)}
"""


def _verdict(body: str, flags: str = "") -> Script:
    text = _CHAIN + body
    words = (("MOST_BARRED", MOST_BARRED), ("VERSION_MS", VERSION_MS), ("FULL", FULL))
    for word, meaning in words:
        text = text.replace(word, str(meaning))
    return writing(text, flags)


@dataclass(frozen=True, slots=True)
class VerdictScripts:
    """All scripts of verdicts; made once by whoever holds a connection."""

    apply: Script = field(default_factory=lambda: _verdict(_APPLY))
    less: Script = field(default_factory=lambda: _verdict(_APPLY, "allow-oom"))
    bar: Script = field(default_factory=lambda: _verdict(_BAR, "allow-oom"))
    note: Script = field(default_factory=lambda: _verdict(_NOTE, "allow-oom"))
    state: Script = field(default_factory=lambda: reading(_STATE))
    page: Script = field(default_factory=lambda: reading(_PAGE))
    walk: Script = field(default_factory=lambda: reading(_WALK))
