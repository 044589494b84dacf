"""The scripts of the evidence: each runs alone on the server, so a label is counted whole or not at all.

Every read that could meet a wrong type comes before the first write. Fields of the counters are
`<source>:<bucket>:<bin>:n` and `:w` (the wrong ones), of the tallies `<day>:<word>`; a field that
begins with `#` is the script's own: `#b` newest bucket, `#d` newest day, `#r` time of the last reset.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.store.scripts import Script

_AGE = """
local function age(key, mark, now, keep, pattern)
  local top = tonumber(redis.call('HGET', key, mark) or '')
  if top and now <= top then return end
  for _, name in ipairs(redis.call('HKEYS', key)) do
    local at = tonumber(string.match(name, pattern) or '')
    if at and at <= now - keep then redis.call('HDEL', key, name) end
  end
  redis.call('HSET', key, mark, now)
end
"""

_ADD = (
    "#!lua\n"
    + _AGE
    + """
local cells, once, list, tally, names, flags = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local source, bucket, bin, weight, wrong = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local at, day, word, record, entry = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]
local keep, days, most, life, memory = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14], ARGV[15]
if at > tonumber(redis.call('TIME')[1]) + 86400 then return 'early' end
local reset = tonumber(redis.call('HGET', cells, '#r') or '')
local top = tonumber(redis.call('HGET', cells, '#b') or '')
if (reset and at <= reset) or (top and bucket <= top - keep) then return 'old' end
local flagged = redis.call('HLEN', flags)
redis.call('LLEN', list)
redis.call('HLEN', tally)
redis.call('SCARD', names)
if not redis.call('SET', once, '1', 'NX', 'PX', memory) then return 'again' end
if bin ~= '' and wrong ~= '' then
  age(cells, '#b', bucket, keep, '^%a+:(-?%d+):')
  local cell = source..':'..bucket..':'..bin
  redis.call('HINCRBYFLOAT', cells, cell..':n', weight)
  if wrong == '1' then redis.call('HINCRBYFLOAT', cells, cell..':w', weight) end
  redis.call('PEXPIRE', cells, life)
end
age(tally, '#d', day, days, '^(-?%d+):')
redis.call('HINCRBY', tally, day..':'..word, 1)
redis.call('PEXPIRE', tally, life)
redis.call('SADD', names, ARGV[16])
redis.call('PEXPIRE', names, life)
if entry ~= '' then
  redis.call('LPUSH', list, record)
  redis.call('LTRIM', list, 0, most - 1)
  redis.call('PEXPIRE', list, life)
  if wrong == '1' and (flagged < 10 * most or redis.call('HEXISTS', flags, entry) == 1) then
    redis.call('HINCRBY', flags, entry, 1)
    redis.call('PEXPIRE', flags, life)
  end
end
return 'ok'
"""
)

_TALLY = (
    "#!lua\n"
    + _AGE
    + """
local day, days, life = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
redis.call('SCARD', KEYS[2])
age(KEYS[1], '#d', day, days, '^(-?%d+):')
for i = 5, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], day..':'..ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], life)
redis.call('SADD', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[2], life)
return 'ok'
"""
)

_SEE = (
    "#!lua\n"
    + _AGE
    + """
local keep, life, at = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if at > tonumber(redis.call('TIME')[1]) + 86400 then return 'early' end
local reset = tonumber(redis.call('HGET', KEYS[1], '#r') or '')
if reset and at <= reset then return 'old' end
redis.call('SCARD', KEYS[2])
for i = 5, #ARGV, 3 do
  local bucket = tonumber(ARGV[i])
  age(KEYS[1], '#b', bucket, keep, '^%a+:(-?%d+):')
  if bucket > tonumber(redis.call('HGET', KEYS[1], '#b')) - keep then
    redis.call('HINCRBYFLOAT', KEYS[1], 'seen:'..bucket..':'..ARGV[i + 1]..':n', ARGV[i + 2])
  end
end
redis.call('PEXPIRE', KEYS[1], life)
redis.call('SADD', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[2], life)
return 'ok'
"""
)

_RESET = """#!lua
local before = tonumber(redis.call('HGET', KEYS[1], '#r') or '') or 0
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '#r', math.max(before, tonumber(ARGV[1])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
"""

_RESERVE = """#!lua
local money, calls = tonumber(ARGV[1]), tonumber(ARGV[2])
local spent = tonumber(redis.call('HGET', KEYS[1], 'money') or '') or 0
local made = tonumber(redis.call('HGET', KEYS[1], 'calls') or '') or 0
if made + calls > tonumber(ARGV[4]) then return 'over' end
if money > 0 and spent + money > tonumber(ARGV[3]) then return 'over' end
redis.call('HINCRBY', KEYS[1], 'money', money)
redis.call('HINCRBY', KEYS[1], 'calls', calls)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'ok'
"""

_ALLOWS = """#!lua
local seen = redis.call('INCR', KEYS[1])
if seen == 1 or redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if seen > tonumber(ARGV[1]) then return 'over' end
return 'ok'
"""

_NOTE = """#!lua
local hits, order = KEYS[1], KEYS[2]
local most, oldest, life = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
redis.call('HLEN', hits)
redis.call('ZCARD', order)
for i = 4, #ARGV, 5 do
  local request, entry, at, value, who = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  redis.call('ZADD', order, at, request..'\\0'..entry)
  redis.call('HSET', hits, 'r:'..request, value, 'e:'..entry, request)
  if who ~= '' then redis.call('HSET', hits, 'u:'..request, who) end
end
local gone = redis.call('ZRANGEBYSCORE', order, '-inf', '('..oldest)
local over = redis.call('ZCARD', order) - #gone - most
if over > 0 then
  for _, name in ipairs(redis.call('ZRANGE', order, #gone, #gone + over - 1)) do table.insert(gone, name) end
end
for _, name in ipairs(gone) do
  local request, entry = string.match(name, '^(%Z*)%z(.*)$')
  redis.call('ZREM', order, name)
  redis.call('HDEL', hits, 'r:'..request, 'u:'..request)
  if redis.call('HGET', hits, 'e:'..entry) == request then redis.call('HDEL', hits, 'e:'..entry) end
end
redis.call('PEXPIRE', hits, life)
redis.call('PEXPIRE', order, life)
return 'ok'
"""

# A hit's record ends with 0 until it is settled. What was never kept is not made here.
_SETTLE = """#!lua
local hit = redis.call('HGET', KEYS[1], ARGV[1])
if hit and string.sub(hit, -3) == ',0]' then
  redis.call('HSET', KEYS[1], ARGV[1], string.sub(hit, 1, -3)..'1]')
end
return 'ok'
"""

_BY_ENTRY = """#!lua flags=no-writes
local request = redis.call('HGET', KEYS[1], 'e:'..ARGV[1])
if not request then return false end
return redis.call('HMGET', KEYS[1], 'r:'..request, 'u:'..request)
"""


@dataclass(frozen=True, slots=True)
class EvidenceScripts:
    """All scripts of the evidence; made once by whoever holds a connection."""

    add: Script = field(default_factory=lambda: Script(_ADD))
    tally: Script = field(default_factory=lambda: Script(_TALLY))
    see: Script = field(default_factory=lambda: Script(_SEE))
    reset: Script = field(default_factory=lambda: Script(_RESET))
    reserve: Script = field(default_factory=lambda: Script(_RESERVE))
    allows: Script = field(default_factory=lambda: Script(_ALLOWS))
    note: Script = field(default_factory=lambda: Script(_NOTE))
    by_entry: Script = field(default_factory=lambda: Script(_BY_ENTRY))
    settle: Script = field(default_factory=lambda: Script(_SETTLE))
