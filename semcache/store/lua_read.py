"""Lua text of the scripts that only read, and the reading of an entry's head that all scripts share.

`ARGV[1]` is the beginning of the tenant's key names, `KEYS[1]` its counters; see `store.scripts`.
"""

from __future__ import annotations

HEAD = """
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
-- What stands beside an entry: questions that those of its exact key must not answer (a list that cannot be read
-- bars them altogether), and, marked, users who got it from the model themselves (one that cannot be read: nobody).
local function beside(h, id)
  if not h then return false end
  local list = redis.pcall('SMEMBERS', base..'b:'..h.exact)
  if list.err then return {'WHOLE'} end
  local users = redis.pcall('SMEMBERS', base..'c:'..id)
  for i = 1, #users do list[#list + 1] = '\\1'..users[i] end
  return list[1] and list or false
end
local function read(id)
  local v = redis.call('GET', base..'e:'..id)
  if not v then return false, false end
  local h = head(v)
  if h and not current(h) then return false, false end
  return v, beside(h, id)
end
"""

LOOKUP = """
local n = tonumber(ARGV[3])
local found = {false, false, false}
if ARGV[2] ~= '' then
  local id = redis.call('GET', base..'k:'..ARGV[2])
  if id then found = {id, read(id)} end
end
local fields, marks = {}, {}
for i = 4, 3 + n do fields[#fields + 1] = ARGV[i] end
if n > 0 then fields = redis.call('HMGET', ep, unpack(fields)) end
for i = 4 + n, #ARGV do marks[#marks + 1] = redis.call('GET', base..'x:'..ARGV[i]) end
return {found[1], found[2], fields, marks, found[3]}
"""

GET_MANY = """
local out, lists = {}, {}
for i = 2, #ARGV do
  local v, list = read(ARGV[i])
  out[i - 1] = v
  -- Few entries have any: place and questions of those that have come behind all values.
  if list then
    lists[#lists + 1] = i - 2
    lists[#lists + 1] = list
  end
end
for i = 1, #lists do out[#out + 1] = lists[i] end
return out
"""

SHOW = """
local v = redis.call('GET', base..'e:'..ARGV[2])
return {v, beside(head(v), ARGV[2])}
"""

LIST = """
local cursor, limit, n = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
-- Verified entries are this far behind all others in the order of going, but not in that of storing.
local BEHIND = 4503599627370496
local out, bytes, seen = {''}, 0, 0
local function some(shift)
  local top = '('..string.format('%.0f', cursor + shift)
  local bottom = shift > 0 and string.format('%.0f', shift) or '-inf'
  return redis.call('ZRANGE', age, top, bottom, 'BYSCORE', 'REV', 'LIMIT', 0, 64, 'WITHSCORES')
end
if cursor == '' then cursor = BEHIND else cursor = tonumber(cursor) end
while seen < 2048 do
  local rows = {}
  for _, shift in ipairs({0, BEHIND}) do
    local found = some(shift)
    for i = 1, #found, 2 do rows[#rows + 1] = {tonumber(found[i + 1]) - shift, found[i]} end
  end
  if #rows == 0 then return out end
  table.sort(rows, function(a, b) return a[1] > b[1] end)
  for i = 1, math.min(#rows, 64) do
    local id, match = rows[i][2], true
    cursor = rows[i][1]
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
      out[#out + 1] = beside(head(v), id)
      bytes = bytes + #v
      if (#out - 1) / 3 >= limit or bytes > 4194304 then
        out[1] = string.format('%.0f', cursor)
        return out
      end
    end
  end
end
out[1] = string.format('%.0f', cursor)
return out
"""

PAGE = """
local rows = redis.call('ZRANGE', age, ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
local out, bytes = {''}, 0
for i = 1, #rows, 2 do
  local v, list = read(rows[i])
  out[1] = '('..rows[i + 1]
  if v then
    out[#out + 1] = rows[i]
    out[#out + 1] = v
    out[#out + 1] = list
    bytes = bytes + #v
    if bytes > 4194304 then return out end
  end
end
return out
"""

GLIMPSES = """
local rows = redis.call('ZRANGE', age, ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
local out = {''}
for i = 1, #rows, 2 do
  out[1] = '('..rows[i + 1]
  -- The head, what stands before the vector, and as much of the vector as is asked for.
  local v = redis.pcall('GETRANGE', base..'e:'..rows[i], 0, 1023 + 8 + SAMPLED)
  local h = type(v) == 'string' and head(v)
  if h and h.status ~= 'r' and current(h) then
    local at = 25 + 16 * (#h.fields - 1)
    local kind, _, high, low = string.byte(v, at + 1, at + 4)
    local size = kind == 2 and low and math.min(2 * (high * 256 + low), SAMPLED) or 0
    out[#out + 1] = rows[i]
    out[#out + 1] = string.sub(v, at + 9, at + 8 + size)
  end
end
return out
"""

COUNTS = """
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
return {redis.call('ZCOUNT', exp, '('..string.format('%.0f', now), '+inf'), redis.call('HGET', meta, '#b') or '0'}
"""

UNWRITTEN = """
local said = redis.pcall('INFO', 'persistence')
return type(said) == 'string' and string.match(said, 'aof_buffer_length:(%d+)') or nil
"""
