"""Lua text of the scripts that write: stored behind `lua_read.HEAD` and `WRITE`, see `store.scripts`.

`ARGV[2]` is the tenant, `ARGV[3]` the length of the change stream. Checks and reads that may
fail come first, then a write that a full server refuses, then the rest.
"""

from __future__ import annotations

from semcache.store.lua_worth import WORTH

WRITE = (
    WORTH
    + """
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
  unrate(id, size or 0)
  redis.call('ZREM', age, id)
  redis.call('ZREM', exp, id)
end
local function resize(id, size)
  local was = tonumber(redis.call('HGET', meta, id)) or 0
  redis.call('HSET', meta, id, size)
  redis.call('HINCRBY', meta, '#b', size - was)
  weigh(id, size - was)
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
-- What was taken away stays away for as long as it would have lived: an export of it may be imported until then.
local function bury(id)
  redis.call('SET', base..'d:'..id, '1', 'PX', math.max(TOMBSTONE, redis.call('PTTL', base..'e:'..id)))
end
local function drop(id, h)
  h = h or peek(id)
  if h and h.status == 'r' then bury(id) end
  -- With it go the questions it has met, who confirmed it, and its place among those that wait for a reviewer.
  redis.call('DEL', base..'e:'..id, base..'rw:'..id, base..'ra:'..id, base..'c:'..id)
  redis.pcall('ZREM', base..'rq', id)
  redis.pcall('ZREM', base..'rt', id)
  -- Vectors of other encoders (`store.vector_shelf`); mostly there are none.
  local others = redis.pcall('HKEYS', base..'gs')
  for i = 1, #others do redis.pcall('HDEL', base..'g:'..others[i], id) end
  if h then untrace(id, h) end
  uncount(id)
  return h
end
local function extend(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end
local function settle()
  if KEYS[4] and redis.call('ZCARD', age) == 0 then redis.call('ZREM', KEYS[4], tenant) end
end
local function reap(now, limit, gone)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', exp, '-inf', now, 'LIMIT', 0, limit)) do
    drop(id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  end
end
local function verified(h) return h.status == 'a' or h.status == 'e' end
-- Verified entries are this far behind all others in the order of storing.
local BEHIND = 4503599627370496
-- Entries of a version that had no scores get one: as if their answers had cost a hundredth of a cent, the oldest least.
local function adopt(limit)
  if redis.call('ZCARD', val) >= redis.call('ZCARD', age) then return end
  local now = tonumber(redis.call('HGET', meta, '#v') or 0)
  local from = redis.call('HGET', meta, '#a') or '-inf'
  local rows = redis.call('ZRANGE', age, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  for i = 1, #rows, 2 do
    if not redis.call('ZSCORE', val, rows[i]) then
      local h, turn = peek(rows[i]), tonumber(rows[i + 1]) % BEHIND
      local score = now + math.log(100) / math.log(2) + turn / BEHIND
      rate(rows[i], score, h and verified(h), '', 0, function() end)
    end
  end
  if #rows < 2 * limit then redis.call('HDEL', meta, '#a')
  else redis.call('HSET', meta, '#a', '('..rows[#rows]) end
end
local function crowd(room, keep, limit, gone)
  for _ = 1, limit do
    local bytes, count = tonumber(redis.call('HGET', meta, '#b')) or 0, redis.call('ZCARD', age)
    if count <= room.entries and bytes <= room.bytes then return true end
    adopt(64)
    local id, far = victim(room, keep, count > room.entries)
    id = id or redis.call('ZRANGE', age, 0, 0)[1]
    if not id or (id == keep and count == 1) then return true end
    local h = peek(id)
    if not redis.call('ZSCORE', age, id) then
      -- Dropped by a version that had no scores.
      unrate(id)
    elseif h and verified(h) and not far then
      -- Verified by one.
      part(id, tonumber(redis.call('HGET', meta, id)) or 0)
      redis.call('ZADD', val, fine((score_of(id) or 0) + FAR), id)
    else
      drop(id, h)
      gone[#gone + 1] = 'D'
      gone[#gone + 1] = id
      if id == keep then return false end
    end
  end
  return true
end
-- Wrong types show themselves here, before anything is written.
local function probe(h)
  redis.call('ZCARD', age) redis.call('ZCARD', exp) redis.call('HGET', meta, '#b')
  redis.call('ZCARD', val) redis.call('HLEN', own)
  for _, name in ipairs({'hnk', 'hnu', 'hbk', 'hbu'}) do redis.call('ZCARD', base..name) end
  for i = 2, #h.fields do redis.call('ZCARD', base..'s:'..h.fields[i]) end
  redis.call('SCARD', base..'b:'..h.exact)
  if KEYS[2] then redis.call('XLEN', KEYS[2]) redis.call('GET', KEYS[3]) redis.call('ZCARD', KEYS[4]) end
end
-- Put a value in its place and in all sets. `mine` is the head of what stood there, `other` another entry of
-- its exact key; `worth` says what it cost and whose it is. Gives what went, when it dies, and whether it stayed.
local function place(id, value, h, mine, other, ttl, size, told_room, worth)
  local now, micros = clock()
  local dies, grace = now + ttl, ttl + 60000
  local gone, room = {}, room_of(told_room)
  -- Who takes the place of another answer to the same question takes its score too.
  local before = score_of(id)
  if other and other ~= id then before = math.max(before or 0, score_of(other) or 0) end
  redis.call('SET', base..'e:'..id, value, 'PX', ttl)
  redis.call('PEXPIRE', base..'c:'..id, ttl)
  if mine then untrace(id, mine) end
  uncount(id)
  if other and other ~= id then
    drop(other)
    gone = {'D', other}
  end
  reap(now, 32, gone)
  redis.call('SET', base..'k:'..h.exact, id, 'PX', ttl)
  for i = 2, #h.fields do
    local set = base..'s:'..h.fields[i]
    redis.call('ZREMRANGEBYSCORE', set, '-inf', now)
    redis.call('ZADD', set, dies, id)
    extend(set, grace)
  end
  local turn = redis.call('HINCRBY', meta, '#s', 1)
  if verified(h) then turn = turn + BEHIND end
  redis.call('ZADD', age, string.format('%.0f', turn), id)
  redis.call('ZADD', exp, dies, id)
  redis.call('HSET', meta, id, size)
  redis.call('HINCRBY', meta, '#b', size)
  extend(age, grace) extend(exp, grace) extend(meta, grace)
  local cost, who = string.match(worth, '^(%S+) (.*)$')
  local score = math.max(before or 0, ahead(room, size) + tonumber(cost))
  rate(id, score, verified(h), who, size, function(key) extend(key, grace) end)
  -- What an answer must not be given for outlives it, however long it lives.
  local bars = base..'b:'..h.exact
  local left = redis.call('PTTL', bars)
  if left >= 0 then redis.call('PEXPIRE', bars, math.max(left, ttl, BARRED_MS)) end
  if h.status == 'r' then redis.call('SET', base..'x:'..h.exact, micros, 'PX', TOMBSTONE) end
  local stays = crowd(room, id, 256, gone)
  if KEYS[2] then
    redis.call('ZADD', KEYS[4], 'GT', dies, tenant)
    extend(KEYS[4], grace)
  end
  if stays then
    gone[#gone + 1] = 'P'
    gone[#gone + 1] = id
  end
  return gone, dies, stays
end
"""
)

PUT = """
local id, value, ttl = ARGV[4], ARGV[5], tonumber(ARGV[6])
local mark, size = ARGV[7], tonumber(ARGV[8])
local h = head(value)
local entry, exact = base..'e:'..id, base..'k:'..h.exact
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
    if verified(o) and not verified(h) then return {'verified'} end
    if h.status == 'r' then return {'older'} end
  end
end
probe(h)
local gone, dies, stays = place(id, value, h, mine, other, ttl, size, ARGV[9], ARGV[10])
announce(gone)
return {stays and 'ok' or 'full', dies, unpack(gone)}
"""

DELETE_IDS = """
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
    bury(id)
    if h then redis.call('SET', base..'x:'..h.exact, micros, 'PX', TOMBSTONE) end
    drop(id, h)
    redis.call('DEL', base..'v:'..id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  end
end
settle()
announce(gone)
return {count, unpack(gone)}
"""

BUMP = """
local value, now = redis.call('HINCRBY', ep, ARGV[4], 1), clock()
redis.call('HSET', base..'et', ARGV[4], string.format('%.0f', now))
if ARGV[4] == '' then redis.call('DEL', base..'warm') end
local list = {'E', ARGV[5], 'V', string.format('%.0f', value)}
announce(list)
return {value, unpack(list)}
"""

SWEEP = """
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
    drop(id, h)
    redis.call('DEL', base..'v:'..id)
    redis.call('ZREM', set, id)
    gone[#gone + 1] = 'D'
    gone[#gone + 1] = id
  else
    kept = kept + 1
  end
end
settle()
announce(gone)
return {#ids, kept, count, unpack(gone)}
"""

TIDY = """
local gone = {}
local now = clock()
reap(now, 256, gone)
adopt(256)
crowd(room_of(ARGV[4]), '', 256, gone)
settle()
announce(gone)
return gone
"""

DISCARD = """
local id, tail = ARGV[4], ARGV[5]
local v = redis.call('GET', base..'e:'..id)
if not v or string.sub(v, -16) ~= tail then return {} end
drop(id)
if ARGV[6] ~= '' and redis.call('GET', base..'k:'..ARGV[6]) == id then redis.call('DEL', base..'k:'..ARGV[6]) end
local gone = {'D', id}
announce(gone)
return gone
"""

ANNOUNCE = """
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

USE = """
local now = tonumber(redis.call('HGET', meta, '#v') or 0)
for i = 4, #ARGV, 2 do use(ARGV[i], now + tonumber(ARGV[i + 1])) end
return {}
"""
