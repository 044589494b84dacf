"""Lua text of the scripts by which users confirm an entry (they got its answer from the model themselves) or are forgotten.

Stored behind `lua_read.HEAD` and `lua_write.WRITE`, see `store.scripts`.
"""

from __future__ import annotations

CONFIRM = """
local id, version, user = ARGV[4], tonumber(ARGV[5]), ARGV[6]
local h, left = peek(id), redis.call('PTTL', base..'e:'..id)
-- What was compared must be what stands there.
if not h or left <= 0 or h.version ~= version or h.status == 'r' or not current(h) then return {'gone'} end
local set = base..'c:'..id
if redis.call('SISMEMBER', set, user) == 1 or redis.call('SCARD', set) >= MOST_CONFIRMERS then return {'ok'} end
if KEYS[2] then redis.call('XLEN', KEYS[2]) redis.call('GET', KEYS[3]) end
redis.call('SADD', set, user)
redis.call('PEXPIRE', set, left)
announce({'P', id})
return {'ok', 'P', id}
"""

UNCONFIRM = """
local user, from, batch = ARGV[4], ARGV[5], ARGV[6]
local rows = redis.call('ZRANGE', age, from, '+inf', 'BYSCORE', 'LIMIT', 0, batch, 'WITHSCORES')
local last, count, list = '', 0, {}
for i = 1, #rows, 2 do
  last = '('..rows[i + 1]
  if redis.pcall('SREM', base..'c:'..rows[i], user) == 1 then
    count = count + 1
    list[#list + 1] = 'P'
    list[#list + 1] = rows[i]
  end
end
announce(list)
return {last, count, unpack(list)}
"""
