"""The Lua of the book of costs; one script touches one tenant's keys only (see `cost_book`).

Counters of one key stand in one value, decimal numbers with spaces between, in the order of `cost_book.COUNTERS`: a
quarter of five hundred keys a day is so read in a few megabytes. Lua's numbers are doubles, exact up to 2^53: a sum
stops there (nine billion US dollars) instead of going wrong.
"""

from __future__ import annotations

MOST = (1 << 53) - 1
"""The furthest that a counter goes, either way."""

ADD = """#!lua
local last = tonumber(redis.call('HGET', KEYS[3], ARGV[2])) or -1
if tonumber(ARGV[1]) <= last then return 'again' end
local had = redis.call('HLEN', KEYS[1])
local room = tonumber(ARGV[3]) - had
local due = tonumber(redis.call('EXPIRETIME', KEYS[2]))
redis.call('ZSCORE', KEYS[2], ARGV[4])
local sums, order = {}, {}
local function cut(number)
  return string.format('%.0f', math.max(-MOST, math.min(MOST, tonumber(number) or 0)))
end
for at = 7, #ARGV, 3 do
  local field = ARGV[at]
  local known = sums[field] or redis.call('HGET', KEYS[1], field)
  if not known and room <= 0 then
    field = ARGV[at + 1]
    known = sums[field] or redis.call('HGET', KEYS[1], field)
  end
  if not known then room = room - 1 end
  if not sums[field] then order[#order + 1] = field end
  local told = string.gmatch(ARGV[at + 2], '%S+')
  local parts = {}
  for number in string.gmatch(known or '', '%S+') do
    parts[#parts + 1] = cut((tonumber(number) or 0) + (tonumber(told() or '0') or 0))
  end
  for number in told do parts[#parts + 1] = cut(number) end
  sums[field] = table.concat(parts, ' ')
end
for _, field in ipairs(order) do redis.call('HSET', KEYS[1], field, sums[field]) end
redis.call('EXPIREAT', KEYS[1], ARGV[5])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[4])
if due < tonumber(ARGV[5]) then redis.call('EXPIREAT', KEYS[2], ARGV[5]) end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[1])
redis.call('EXPIRE', KEYS[3], ARGV[6])
if had == 0 then return 'new' end
return 'ok'
""".replace("MOST", str(MOST))
"""KEYS: the day's hash, the tenant's days, the writer's last numbers. ARGV: this number, the part's name, keys a day at
most, the day, when it is forgotten (Unix seconds), how long numbers are remembered (seconds), then (field, field where there
is no room, counters) each.

Every read that could meet a wrong type comes before the first write, so that all is written or nothing."""

FORGET = """#!lua flags=allow-oom
local days = redis.call('ZRANGE', KEYS[1], 0, -1)
local had = 0
for _, day in ipairs(days) do had = had + redis.call('DEL', ARGV[1]..day) end
redis.call('DEL', KEYS[1])
return had
"""
"""KEYS: the tenant's days. ARGV: what names of days begin with."""

LIST = """#!lua flags=allow-oom
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', redis.call('TIME')[1])
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""
"""KEYS: all tenants by when the last of their days fades (Unix seconds)."""
