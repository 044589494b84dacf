"""Lua text about who goes first where room is short; stands between `lua_read.HEAD` and `lua_write.WRITE`.

`store.worth` says what scores are. Verified entries are `FAR` behind all others. Of the others those of an end user, then of an
API key, that holds more than its share of the room go first: `who` is made of pieces of nine bytes, a letter (`u`, `k`) and a
digest. All of it costs the server a few steps in sorted sets an entry.
"""

from __future__ import annotations

WORTH = """
local val, own = base..'val', base..'own'
local FAR, HALF = 1099511627776, 2
local function fine(x) return string.format('%.17g', x) end
local function added(a, b)
  local high = math.max(a, b)
  return high + math.log(1 + 2 ^ (math.min(a, b) - high)) / math.log(2)
end
local function words(text)
  local out = {}
  for word in string.gmatch(text, '%S+') do out[#out + 1] = tonumber(word) end
  return out
end
-- What a tenant may hold, from "entries bytes share"; a share of 0 is none.
local function room_of(text)
  local w = words(text)
  return {entries = w[1], bytes = w[2], share = w[3]}
end
local function score_of(id)
  local s = tonumber(redis.call('ZSCORE', val, id))
  if s and s >= FAR / 2 then return s - FAR, true end
  return s, false
end
local function hold(set, who, by)
  if tonumber(redis.call('ZINCRBY', set, by, who)) <= 0 then redis.call('ZREM', set, who) end
end
-- What it takes is not known where another version dropped it (`size` nil): then as much as its holder's others on average.
local function part(id, size)
  local who = redis.call('HGET', own, id)
  if not who then return end
  redis.call('HDEL', own, id)
  for i = 1, #who, 9 do
    local one = string.sub(who, i, i + 8)
    local number, bytes = base..'hn'..string.sub(one, 1, 1), base..'hb'..string.sub(one, 1, 1)
    local by = size
    if not by then
      by = (tonumber(redis.call('ZSCORE', bytes, one)) or 0) / math.max(1, tonumber(redis.call('ZSCORE', number, one)) or 1)
    end
    redis.call('ZREM', base..'h:'..one, id)
    hold(number, one, -1)
    hold(bytes, one, -by)
  end
end
-- It takes so many bytes more.
local function weigh(id, by)
  local who = redis.call('HGET', own, id) or ''
  for i = 1, #who, 9 do hold(base..'hb'..string.sub(who, i, i), string.sub(who, i, i + 8), by) end
end
local function unrate(id, size)
  part(id, size)
  redis.call('ZREM', val, id)
end
local function rate(id, score, far, who, size, grow)
  redis.call('ZADD', val, fine(far and score + FAR or score), id)
  grow(val)
  if far or who == '' then return end
  redis.call('HSET', own, id, who)
  grow(own)
  for i = 1, #who, 9 do
    local one = string.sub(who, i, i + 8)
    local letter = string.sub(one, 1, 1)
    redis.call('ZADD', base..'h:'..one, fine(score), id)
    redis.call('ZINCRBY', base..'hn'..letter, 1, one)
    redis.call('ZINCRBY', base..'hb'..letter, size, one)
    grow(base..'h:'..one) grow(base..'hn'..letter) grow(base..'hb'..letter)
  end
end
-- It saved so much once more.
local function use(id, more)
  local score, far = score_of(id)
  if not score then return end
  score = added(score, more)
  redis.call('ZADD', val, fine(far and score + FAR or score), id)
  local who = redis.call('HGET', own, id) or ''
  for i = 1, #who, 9 do redis.call('ZADD', base..'h:'..string.sub(who, i, i + 8), 'XX', fine(score), id) end
end
-- The time that scores count by: how often the room was filled anew, in half-lives.
local function ahead(room, size)
  return tonumber(redis.call('HINCRBYFLOAT', meta, '#v', fine(math.max(1 / room.entries, size / room.bytes) / HALF)))
end
-- The first of a set but for `keep`, which goes only where all others are verified; and whether it is verified.
local function first_of(set, keep)
  local two = redis.call('ZRANGE', set, 0, 1, 'WITHSCORES')
  if not two[1] then return nil end
  local at = 1
  if two[1] == keep and two[3] and (tonumber(two[4]) < FAR / 2 or tonumber(two[2]) >= FAR / 2) then at = 3 end
  return two[at], tonumber(two[at + 1]) >= FAR / 2
end
local function victim(room, keep, by_number)
  if room.share > 0 then
    for _, letter in ipairs({'u', 'k'}) do
      local set = base..(by_number and 'hn' or 'hb')..letter
      local top = redis.call('ZRANGE', set, -1, -1, 'WITHSCORES')
      if top[1] and tonumber(top[2]) > room.share * (by_number and room.entries or room.bytes) then
        local id = first_of(base..'h:'..top[1], keep)
        if id and id ~= keep then return id, false end
      end
    end
  end
  return first_of(val, keep)
end
"""
