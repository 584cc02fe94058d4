"""The Lua script that applies a batch of commands in Redis exactly once.

In: a batch id and the lists that hold its packed commands (commands.py).  Out: done or not.
Called by committer.py

Redis runs a script alone and whole, but takes nothing back when a command in it fails. So:

    check    before anything is written: are all parts there, does Redis know every command, has
             each key the type its first command needs? If not, nothing happens at all.
    decide   note the batch id in the marker and queue the parts. From here on these are the batch:
             when it is repeated with other parts, those are not looked at.
    apply    run queued commands, dropping each part when it is through. A command that fails all
             the same (a hash field that is not a number, say) stops here; its position is kept, and
             the next call goes on with it.

All three happen in one call, so readers see a batch whole, unless it has more commands than one
call may run.
"""

from __future__ import annotations

APPLY_BATCH = """
local marker, queue = KEYS[1], KEYS[2]
local batch, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local function command_at(chunk, position)
  local count
  count, position = struct.unpack('>I4', chunk, position)
  local arguments = {}
  for i = 1, count do
    arguments[i], position = struct.unpack('>I4c0', chunk, position)
  end
  return arguments, position
end

local function preview(arguments)
  return string.sub(table.concat(arguments, ' ', 1, math.min(#arguments, 8)), 1, 120)
end

local NEEDS = {
  INCR = 'string', INCRBY = 'string', DECR = 'string', DECRBY = 'string', INCRBYFLOAT = 'string',
  APPEND = 'string', SETRANGE = 'string', GETSET = 'string',
  HSET = 'hash', HSETNX = 'hash', HMSET = 'hash', HINCRBY = 'hash', HINCRBYFLOAT = 'hash',
  HDEL = 'hash', RPUSH = 'list', LPUSH = 'list', LTRIM = 'list', LSET = 'list', LREM = 'list',
  SADD = 'set', SREM = 'set', ZADD = 'zset', ZINCRBY = 'zset', ZREM = 'zset',
  XADD = 'stream', XDEL = 'stream', XTRIM = 'stream',
}
local WHOLE = { INCR = true, INCRBY = true, DECR = true, DECRBY = true }
local known, seen = {}, {}

local function fault_of_name(name, arguments)
  local found = known[name]
  if not found then
    found = redis.call('COMMAND', 'INFO', name)[1] or 'unknown'
    known[name] = found
  end
  if type(found) ~= 'table' then return 'Redis has no command ' .. name end
  for _, flag in ipairs(found[3]) do
    if (flag.ok or flag) == 'noscript' then return name .. ' cannot be part of a batch' end
  end
  local arity = found[2]
  if (arity > 0 and #arguments ~= arity) or #arguments < -arity then
    return 'wrong number of arguments for ' .. name
  end
end

local function fault_of(arguments)
  local name, key = string.upper(arguments[1]), arguments[2]
  local fault = fault_of_name(name, arguments)
  if fault or key == nil or seen[key] then return fault end
  seen[key] = true
  local needs = NEEDS[name]
  if not needs then return nil end
  local is = redis.call('TYPE', key).ok
  if is ~= 'none' and is ~= needs then
    return 'the key holds a ' .. is .. ', the command needs a ' .. needs
  end
  if WHOLE[name] and is == 'string' and not string.find(redis.call('GET', key), '^-?%d+$') then
    return 'the key holds a text that is not a whole number'
  end
end

local function fault_of_part(part)
  for _, chunk in ipairs(redis.call('LRANGE', part, 0, -1)) do
    local position = 1
    while position <= #chunk do
      local arguments
      arguments, position = command_at(chunk, position)
      local fault = fault_of(arguments)
      if fault then return { 'refused', fault, preview(arguments) } end
    end
  end
end

local last = tonumber(redis.call('HGET', marker, 'batch') or '-1')
if batch > last and redis.call('EXISTS', queue) == 0 then
  for i = 3, #ARGV, 2 do
    local found = redis.call('LLEN', ARGV[i])
    if found ~= tonumber(ARGV[i + 1]) then
      return { 'lost', ARGV[i + 1], tostring(found) }
    end
  end
  for i = 3, #ARGV, 2 do
    local fault = fault_of_part(ARGV[i])
    if fault then return fault end
  end
  redis.call('HSET', marker, 'batch', ARGV[1], 'next', '1')
  for i = 3, #ARGV, 2 do
    redis.call('PERSIST', ARGV[i])
    redis.call('RPUSH', queue, ARGV[i])
  end
  last = batch
end

local ran = 0
while true do
  local part = redis.call('LINDEX', queue, 0)
  if not part then break end
  local chunk = redis.call('LINDEX', part, 0)
  if not chunk then
    redis.call('LPOP', queue)
  else
    if ran >= most then return { 'more', tostring(last) } end
    local position = tonumber(redis.call('HGET', marker, 'next'))
    while position <= #chunk do
      local arguments, after = command_at(chunk, position)
      local answer = redis.pcall(unpack(arguments))
      if type(answer) == 'table' and answer.err then
        redis.call('HSET', marker, 'next', tostring(position))
        return { 'failed', answer.err, preview(arguments) }
      end
      position = after
      ran = ran + 1
    end
    redis.call('LPOP', part)
    redis.call('HSET', marker, 'next', '1')
  end
end
if last < batch then return { 'more', tostring(last) } end
return { 'done', tostring(last) }
"""
