"""The scripts of budgets: each runs alone on the server, so all claims of a request are set aside or none.

    ARGV[1]         how the tenant's keys begin
    ARGV[2], [3]    what is set aside: its name, and the present moment in milliseconds
    KEYS[1]         hash: budget -> beginning of its newest window
    KEYS[2]         sorted set: what is set aside -> when it falls back

A claim is `<digest of budget and kind of window> <its window's beginning> <micro-USD> <requests>`. What is set aside is kept as
text: a letter (`h` held, `x` fallen back, `d` done) and ` <window>=<micro-USD>,<requests>` for each claim, so that
it is settled in the window where it was set aside. Numbers stay text wherever they are only handed on: Lua would round long ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.store.scripts import Script

AHEAD = 300
"""Seconds by which a clock may be ahead of the others and still be believed about the newest window."""
REAPED = 200
"""How much falls back in one call at most."""

_COMMON = """
local base, name, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
local newest, order = KEYS[1], KEYS[2]

local function count(key, field) return tonumber(redis.call('HGET', key, field) or '') or 0 end

local function add(key, field, amount)
  if amount ~= 0 then redis.call('HINCRBY', key, field, string.format('%.0f', amount)) end
end

-- A clock that is behind the others must not open a window again that they have seen end.
local function window(budget, begins)
  local top = tonumber(redis.call('HGET', newest, budget) or '')
  if top and top > tonumber(begins) and top * 1000 <= now + AHEAD * 1000 then begins = string.format('%.0f', top) end
  return budget..':'..begins, begins
end

local function opened(budget, begins, life)
  local top = tonumber(redis.call('HGET', newest, budget) or '')
  if not top or top < tonumber(begins) or top * 1000 > now + AHEAD * 1000 then
    redis.call('HSET', newest, budget, begins)
  end
  redis.call('PEXPIRE', newest, life)
end

local function let_go(hold)
  for id, money, requests in string.gmatch(hold, ' (%S+)=(%d+),(%d+)') do
    local key = base..'bw:'..id
    if redis.call('EXISTS', key) == 1 then
      add(key, 'held', -tonumber(money))
      add(key, 'requests', -tonumber(requests))
    end
  end
end

local function fall_back()
  for _, held in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', ARGV[3], 'LIMIT', 0, REAPED)) do
    local key = base..'bh:'..held
    local hold = redis.call('GET', key)
    if hold and string.sub(hold, 1, 1) == 'h' then
      let_go(hold)
      redis.call('SET', key, 'x'..string.sub(hold, 2), 'KEEPTTL')
    end
    redis.call('ZREM', order, held)
  end
end

local function state(id, begins)
  local key = base..'bw:'..id
  return {begins, count(key, 'spent'), count(key, 'held'), count(key, 'requests'), count(key, 'refused')}
end
"""

# ARGV[4] when it falls back, [5] how long it is remembered, [6] how long windows are; then, for each claim, budget,
# beginning, money, requests, the hard limit and the limit of requests ('' for none).
_RESERVE = """
local due, memory, life = ARGV[4], ARGV[5], ARGV[6]
local own = base..'bh:'..name
fall_back()
local hold = redis.call('GET', own)
local found, text, states = {}, 'h', {}
if hold then
  for id in string.gmatch(hold, ' (%S+)=') do found[string.match(id, '^[^:]+')] = string.match(id, ':(.*)$') end
end
for i = 7, #ARGV, 6 do
  local id, begins = window(ARGV[i], ARGV[i + 1])
  local key = base..'bw:'..id
  if not hold then
    local money, requests = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
    if ARGV[i + 4] ~= '' and count(key, 'spent') + count(key, 'held') + money > tonumber(ARGV[i + 4]) then
      opened(ARGV[i], begins, life)
      add(key, 'refused', 1)
      redis.call('PEXPIRE', key, life)
      return {'over', (i - 7) / 6, 'money', state(id, begins)}
    end
    if ARGV[i + 5] ~= '' and count(key, 'requests') + requests > tonumber(ARGV[i + 5]) then
      return {'over', (i - 7) / 6, 'requests', state(id, begins)}
    end
    text = text..' '..id..'='..ARGV[i + 2]..','..ARGV[i + 3]
  end
end
if not hold then
  redis.call('SET', own, text, 'PX', memory)
  redis.call('ZADD', order, due, name)
  redis.call('PEXPIRE', order, memory)
end
for i = 7, #ARGV, 6 do
  local id, begins = window(ARGV[i], ARGV[i + 1])
  if hold then
    begins = found[ARGV[i]] or begins
    id = ARGV[i]..':'..begins
  else
    local key = base..'bw:'..id
    opened(ARGV[i], begins, life)
    add(key, 'held', tonumber(ARGV[i + 2]))
    add(key, 'requests', tonumber(ARGV[i + 3]))
    redis.call('PEXPIRE', key, life)
  end
  table.insert(states, state(id, begins))
end
return {'ok', states}
"""

# ARGV[4] how long it is remembered, [5] how long windows are; then, for each claim, budget, beginning, money, requests.
_SETTLE = """
local memory, life = ARGV[4], ARGV[5]
local own = base..'bh:'..name
fall_back()
local hold = redis.call('GET', own)
local how = hold and string.sub(hold, 1, 1) or ''
local found, text, states = {}, 'd', {}
if how ~= '' then
  for id in string.gmatch(hold, ' (%S+)=') do found[string.match(id, '^[^:]+')] = string.match(id, ':(.*)$') end
end
if how == 'h' then
  let_go(hold)
  redis.call('ZREM', order, name)
end
for i = 6, #ARGV, 4 do
  local id, begins = window(ARGV[i], ARGV[i + 1])
  if found[ARGV[i]] then
    begins = found[ARGV[i]]
    id = ARGV[i]..':'..begins
  end
  if how ~= 'd' then
    local key = base..'bw:'..id
    opened(ARGV[i], begins, life)
    add(key, 'spent', tonumber(ARGV[i + 2]))
    add(key, 'requests', tonumber(ARGV[i + 3]))
    if redis.call('EXISTS', key) == 1 then redis.call('PEXPIRE', key, life) end
    text = text..' '..id..'='..ARGV[i + 2]..','..ARGV[i + 3]
  end
  table.insert(states, state(id, begins))
end
if how ~= 'd' then redis.call('SET', own, text, 'PX', memory) end
return states
"""

_STATES = """
fall_back()
local states = {}
for i = 4, #ARGV, 2 do
  local id, begins = window(ARGV[i], ARGV[i + 1])
  table.insert(states, state(id, begins))
end
return states
"""


def _script(body: str, flags: str = "") -> Script:
    text = (_COMMON + body).replace("AHEAD", str(AHEAD)).replace("REAPED", str(REAPED))
    return Script(("#!lua flags=" + flags if flags else "#!lua") + text)


@dataclass(frozen=True, slots=True)
class BudgetScripts:
    """All scripts of budgets. What was spent is counted on a full server, too; nothing new is set aside there."""

    reserve: Script = field(default_factory=lambda: _script(_RESERVE))
    settle: Script = field(default_factory=lambda: _script(_SETTLE, "allow-oom"))
    states: Script = field(default_factory=lambda: _script(_STATES, "allow-oom"))
