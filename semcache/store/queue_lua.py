"""The scripts of the review queue: each runs alone on the server, so what it says appears whole or not at all.

`KEYS[1]` is the tenant's queue (`rq`), `KEYS[2]` its index of entries seen (`rt`), `ARGV[1]` the beginning of the
tenant's key names (`store.keys`): whatever belongs to an entry has the same hash tag. A question stands in
`ra:<entry>` under its digest as `times period risk given first last size <record><text>`, `size` being the record's
bytes: `period` tells which stay in the queue `risk` (the sum of its risks) and `given` (what they added to the
weight) belong to, so that a judge's word about a question moves exactly what that question brought, however often
and in whatever order it is said. The record is that of the last time; a text is kept where the last one came without.
A value of a type that is not ours is dropped where it stands: it must not keep the others from being counted.

Knows no port: `store.queue_record` reads what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.store.scripts import Script

_COMMON = """
local queue, seen, base = KEYS[1], KEYS[2], ARGV[1]
local function forget(id)
  redis.call('ZREM', queue, id)
  redis.call('ZREM', seen, id)
  redis.call('DEL', base..'rw:'..id, base..'ra:'..id)
  -- Opinions are numbers about digests. The verdict that removed the entry may still have to be compared with them.
  if redis.call('PTTL', base..'ro:'..id) > 86400000 then redis.call('PEXPIRE', base..'ro:'..id, 86400000) end
end
local function hash(key)
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
  return key
end
local function parts(value)
  local times, period, risk, given, first, last, size, at =
    string.match(value or '', '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%d+) ()')
  if not at then return nil end
  local behind = at + tonumber(size)
  return {
    times = tonumber(times), period = tonumber(period), risk = tonumber(risk), given = tonumber(given),
    first = first, last = last, record = string.sub(value, at, behind - 1), text = string.sub(value, behind),
  }
end
local function whole(q)
  return string.format('%d %d %.17g %.17g %s %s %d ', q.times, q.period, q.risk, q.given, q.first, q.last, #q.record)
    ..q.record..q.text
end
"""

_SIGHT = (
    "#!lua\n"
    + _COMMON
    + """
local life, most, known = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local listed, slack, room = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
redis.call('ZCARD', queue)
redis.call('ZCARD', seen)
local function trim(list, fields)
  local all, rows, held, count = redis.call('HGETALL', list), {}, 0, 0
  for i = 1, #all, 2 do
    local q = parts(all[i + 1])
    rows[#rows + 1] = {q and tonumber(q.last) or 0, all[i], #all[i + 1]}
  end
  table.sort(rows, function(a, b) return a[1] > b[1] end)
  for n, row in ipairs(rows) do
    if n > 1 and (n > listed or held + row[3] > room) then redis.call('HDEL', list, row[2])
    else held, count = held + row[3], count + 1 end
  end
  fields.b, fields.c = held, count
end
-- As few calls as can be: this runs for every hit.
local function read(command, key, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) ~= 'table' or not found.err then return found end
  redis.call('DEL', key)
  return redis.call(command, key, ...)
end
local function enter(place)
  for _, name in ipairs(redis.call('HKEYS', place)) do
    if string.sub(name, 1, 2) == 'r:' then redis.call('HDEL', place, name) end
  end
end
-- What was under way when somebody was erased (`store.erasure`) leaves no text of theirs.
local function allowed(text, at)
  local who = string.match(text, '^\\30(%w+)\\30')
  local found = who and redis.pcall('HGET', base..'er', who)
  local erased = type(found) == 'string' and tonumber(string.match(found, '^(%S+)') or '')
  return erased and erased >= tonumber(at) and '' or text
end
local function count(id, asked, domain, risk, at, reasons, record, text)
  text = allowed(text, at)
  local place, list, why = base..'rw:'..id, base..'ra:'..id, {}
  if risk > 0 then for reason in string.gmatch(reasons, '[^,]+') do why[#why + 1] = 'r:'..reason end end
  local had = read('HMGET', place, 'g', 't', 'n', 'b', 'c', unpack(why))
  local fields = {d = domain, g = tonumber(had[1]) or 0, t = at, n = (tonumber(had[3]) or 0) + 1}
  local enters = risk > 0 and not redis.call('ZSCORE', queue, id)
  if enters then
    enter(place)
    fields.g = fields.g + 1
  end
  for i, name in ipairs(why) do fields[name] = (not enters and tonumber(had[5 + i]) or 0) + 1 end
  local old = read('HGET', list, asked)
  local q = parts(old) or {times = 0, period = fields.g, risk = 0, given = 0, first = at, last = at, text = ''}
  if q.period ~= fields.g then q.period, q.risk, q.given = fields.g, 0, 0 end
  local is_newest = not q.record or tonumber(at) >= tonumber(q.last)
  if is_newest then q.record, q.last = record, at end
  if text ~= '' and (is_newest or q.text == '') then q.text = text end
  q.times = q.times + 1
  if risk > 0 then
    local factor = tonumber(read('HGET', base..'ro:'..id, 'f:'..asked) or '') or 1
    q.risk, q.given = q.risk + risk, q.given + risk * factor
    redis.call('ZINCRBY', queue, string.format('%.17g', risk * factor), id)
  end
  local value = whole(q)
  redis.call('HSET', list, asked, value)
  fields.b = (tonumber(had[4]) or 0) + #value - #(old or '')
  fields.c = (tonumber(had[5]) or 0) + (old and 0 or 1)
  if fields.b > room or fields.c > slack then trim(list, fields) end
  if had[2] and tonumber(had[2]) > tonumber(at) then fields.t = had[2] end
  local flat = {}
  for name, value in pairs(fields) do flat[#flat + 1], flat[#flat + 2] = name, value end
  redis.call('HSET', place, unpack(flat))
  redis.call('ZADD', seen, now, id)
  redis.call('PEXPIRE', place, life)
  redis.call('PEXPIRE', list, life)
end
for i = 8, #ARGV, 8 do
  -- Who is gone leaves no questions behind, even if they were under way.
  if redis.call('EXISTS', base..'e:'..ARGV[i]) == 1 then
    count(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), unpack(ARGV, i + 4, i + 7))
  end
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now - tonumber(life), 'LIMIT', 0, 64)) do forget(id) end
local over = redis.call('ZCARD', seen) - known
if over > 0 then
  for _, id in ipairs(redis.call('ZRANGE', seen, 0, over - 1)) do forget(id) end
end
over = redis.call('ZCARD', queue) - most
if over > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, over - 1) end
redis.call('PEXPIRE', queue, life)
redis.call('PEXPIRE', seen, life)
return 'ok'
"""
)

_OPINE = (
    "#!lua\n"
    + _COMMON
    + """
local life, most, id, asked, model = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local fit, at, least = ARGV[7], ARGV[8], tonumber(ARGV[9])
redis.call('ZCARD', queue)
if redis.call('EXISTS', base..'e:'..id) == 0 then return 'gone' end
local said, place, list = hash(base..'ro:'..id), hash(base..'rw:'..id), hash(base..'ra:'..id)
local mine = 'o:'..asked..'\\31'..model
local before = redis.call('HGET', said, mine)
if before and tonumber(string.match(before, ' (%S+)$')) > tonumber(at) then return 'older' end
redis.call('HSET', said, mine, fit..' '..at)
local all, sum, count, others, oldest, oldest_at = redis.call('HGETALL', said), 0, 0, 0, nil, nil
for i = 1, #all, 2 do
  local question = string.match(all[i], '^o:([^\\31]*)\\31')
  if question then
    local f, t = string.match(all[i + 1], '^(%S+) (%S+)$')
    if question == asked then sum, count = sum + tonumber(f), count + 1 end
    others = others + 1
    if all[i] ~= mine and (not oldest or tonumber(t) < oldest_at) then oldest, oldest_at = all[i], tonumber(t) end
  end
end
if others > most then
  redis.call('HDEL', said, oldest, 'f:'..string.match(oldest, '^o:([^\\31]*)'))
end
local factor = math.max(least, 2 * (1 - sum / count))
redis.call('HSET', said, 'f:'..asked, string.format('%.17g', factor))
redis.call('PEXPIRE', said, life)
local q = parts(redis.call('HGET', list, asked))
local weight = tonumber(redis.call('ZSCORE', queue, id) or '')
if q and weight and q.period == (tonumber(redis.call('HGET', place, 'g') or '') or 0) then
  redis.call('ZADD', queue, string.format('%.17g', math.max(0, weight + q.risk * factor - q.given)), id)
  q.given = q.risk * factor
  redis.call('HSET', list, asked, whole(q))
end
return 'ok'
"""
)

_SETTLE = """#!lua
local counts, said, right, life, most = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
redis.call('HLEN', counts)
local all, sums, before = redis.call('HGETALL', said), {}, {}
for i = 1, #all, 2 do
  local model = string.match(all[i], '^o:[^\\31]*\\31(.*)$')
  if model then
    local sum = sums[model] or {0, 0}
    sums[model] = {sum[1] + tonumber(string.match(all[i + 1], '^(%S+)')), sum[2] + 1}
  elseif string.sub(all[i], 1, 2) == 's:' then
    before[string.sub(all[i], 3)] = all[i + 1]
  end
end
for model, sum in pairs(sums) do
  local cell, old = (sum[1] / sum[2] >= 0.5 and '1' or '0')..right, before[model]
  if cell ~= old and (old or redis.call('HLEN', counts) < most) then
    if old then redis.call('HINCRBY', counts, old..model, -1) end
    redis.call('HINCRBY', counts, cell..model, 1)
    redis.call('HSET', said, 's:'..model, cell)
  end
end
redis.call('PEXPIRE', counts, life)
return 'ok'
"""

_PAGE = (
    "#!lua flags=allow-oom\n"
    + _COMMON
    + """
local still, weight, last = ARGV[2], ARGV[3], ARGV[4]
local limit, batch, domain, reason = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8]
-- Where those behind (weight, last) begin; it is put there for a moment to see.
local function behind(set)
  local had = redis.call('ZSCORE', set, last)
  redis.call('ZADD', set, weight, last)
  local rank = redis.call('ZREVRANK', set, last)
  if not had then redis.call('ZREM', set, last) return rank end
  redis.call('ZADD', set, had, last)
  return tonumber(had) >= tonumber(weight) and rank + 1 or rank
end
local set, start = queue, 0
if still == '' then
  if redis.call('ZCARD', queue) > limit then
    local n = redis.call('INCR', base..'rn')
    redis.call('PEXPIRE', base..'rn', COUNT_LIFE)
    still, set = tostring(n), base..'rp:'..n
    redis.call('DEL', base..'rp:'..(n - STILLS))
    redis.call('COPY', queue, set, 'REPLACE')
    redis.call('PEXPIRE', set, STILL_LIFE)
  end
else
  if redis.call('EXISTS', base..'rp:'..still) == 1 then
    set = base..'rp:'..still
    redis.call('PEXPIRE', set, STILL_LIFE)
  end
  if redis.call('EXISTS', set) == 1 then start = behind(set) end
end
local found, rows = redis.call('ZREVRANGE', set, start, start + batch - 1, 'WITHSCORES'), {}
local ids, scores = {}, {}
for i = 1, #found, 2 do ids[#ids + 1], scores[#scores + 1] = found[i], found[i + 1] end
local looked = 0
for n, id in ipairs(ids) do
  looked, last, weight = n, id, scores[n]
  local present = redis.call('ZSCORE', queue, id)
  local place = present and redis.call('HGETALL', hash(base..'rw:'..id)) or {}
  if present and (#place == 0 or redis.call('EXISTS', base..'e:'..id) == 0) then
    forget(id)
  elseif present then
    local at, why = nil, reason == ''
    for i = 1, #place, 2 do
      if place[i] == 'd' then at = place[i + 1] end
      why = why or place[i] == 'r:'..reason
    end
    if why and (domain == '' or at == domain) then rows[#rows + 1] = {id, present, place} end
  end
  if #rows == limit then break end
end
local more = (looked < #ids or #ids == batch) and 1 or 0
return {still, weight, last, more, rows}
"""
)

_WAITS = """#!lua flags=no-writes
local weight = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not weight or redis.call('EXISTS', ARGV[1]..'e:'..ARGV[2]) == 0 then return {} end
return {ARGV[2], weight, redis.call('HGETALL', ARGV[1]..'rw:'..ARGV[2])}
"""

_FORGET = (
    "#!lua flags=allow-oom\n"
    + _COMMON
    + """
for i = 2, #ARGV do forget(ARGV[i]) end
return 'ok'
"""
)

_SWEEP = (
    "#!lua flags=allow-oom\n"
    + _COMMON
    + """
local first, batch = tonumber(ARGV[2]), tonumber(ARGV[3])
local ids, gone = redis.call('ZRANGE', seen, first, first + batch - 1), 0
for _, id in ipairs(ids) do
  if redis.call('EXISTS', base..'e:'..id) == 0 then
    forget(id)
    gone = gone + 1
  end
end
return {#ids, gone}
"""
)

_KEEP = """#!lua
for i = 3, #ARGV do redis.call('LPUSH', KEYS[1], ARGV[i]) end
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[1]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
"""

STILLS = 4
"""Listings of one tenant that keep their order at a time; an older one goes on in the order of now."""
_STILL_LIFE = 15 * 60 * 1000


def _paging() -> Script:
    # The number outlives every picture: none is taken for another.
    text = _PAGE.replace("COUNT_LIFE", str(96 * _STILL_LIFE)).replace("STILL_LIFE", str(_STILL_LIFE))
    return Script(text.replace("STILLS", str(STILLS)))


@dataclass(frozen=True, slots=True)
class QueueScripts:
    """All scripts of the queue; made once by whoever holds a connection."""

    sight: Script = field(default_factory=lambda: Script(_SIGHT))
    opine: Script = field(default_factory=lambda: Script(_OPINE))
    settle: Script = field(default_factory=lambda: Script(_SETTLE))
    page: Script = field(default_factory=_paging)
    waits: Script = field(default_factory=lambda: Script(_WAITS))
    forget: Script = field(default_factory=lambda: Script(_FORGET))
    sweep: Script = field(default_factory=lambda: Script(_SWEEP))
    keep: Script = field(default_factory=lambda: Script(_KEEP))
