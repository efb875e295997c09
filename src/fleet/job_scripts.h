// SPDX-License-Identifier: Apache-2.0
//
// The scripts of Job (fleet/job.h), which the server runs as one step each. Their KEYS are parts of
// the job's keys (docs/design/fleet.md, "State on the server").
#pragma once

namespace stemtap::fleet {

// KEYS: job, runs, changes, kernels, sketches, captures, traits, leader, targets, progress, seen.
// ARGV: run, number, known version, lease in ms, expiry in s, number of the last confirmed update,
// description of the run, its launches or -1 if it has ended, how long a silent run is waited for
// in ms, then four times a count and as many pairs of field and value. The stream of changes keeps
// 100,000: a leader reads more often, and one that has missed some reads everything (ReadChanges).
inline constexpr const char* kUpdateScript = R"(
local run, number = ARGV[1], tonumber(ARGV[2])
local expiry = tonumber(ARGV[5])
local last = tonumber(redis.call('HGET', KEYS[1], 'number:' .. run) or '0')
if last < tonumber(ARGV[6]) then return {1, 0, '0', false, '0', 0} end
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
if number > last then
  redis.call('HSET', KEYS[1], 'number:' .. run, number)
  redis.call('HSET', KEYS[2], run, ARGV[7])
  redis.call('HSET', KEYS[11], run, now_ms)
  if tonumber(ARGV[8]) < 0 then
    redis.call('ZREM', KEYS[10], run)
  else
    redis.call('ZADD', KEYS[10], ARGV[8], run)
  end
  local has_changed = last == 0 or tonumber(ARGV[8]) < 0
  local fields = {}
  local at = 10
  for part = 4, 7 do
    local count = tonumber(ARGV[at])
    local names = {}
    for i = at + 1, at + 2 * count, 2 do names[#names + 1] = ARGV[i] end
    for i = at + 1, at + 2 * count, 1000 do
      redis.call('HSET', KEYS[part], unpack(ARGV, i, math.min(i + 999, at + 2 * count)))
    end
    has_changed = has_changed or count > 0
    fields[part] = table.concat(names, ' ')
    at = at + 1 + 2 * count
  end
  if has_changed then
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', 100000, '*',
               'change', redis.call('HINCRBY', KEYS[1], 'changes', 1), 'run', run,
               'sketches', fields[5], 'captures', fields[6])
  end
end
local leader = redis.call('GET', KEYS[8])
local leads = 0
if not leader or leader == run then
  redis.call('SET', KEYS[8], run, 'PX', ARGV[4])
  leads = 1
end
local slowest = redis.call('ZRANGE', KEYS[10], 0, 0, 'WITHSCORES')
if slowest[1] then
  local seen = tonumber(redis.call('HGET', KEYS[11], slowest[1]) or '0')
  if now_ms - seen > tonumber(ARGV[9]) then redis.call('ZREM', KEYS[10], slowest[1]) end
end
for i = 1, 11 do
  if i ~= 8 then redis.call('EXPIRE', KEYS[i], expiry) end
end
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local targets = false
if version ~= ARGV[3] then targets = redis.call('HGET', KEYS[9], run) end
return {0, leads, version, targets, slowest[2] or '0', redis.call('HLEN', KEYS[2])}
)";

// KEYS: job, leader, clusters, targets. ARGV: leader, expiry, clusters, pairs of run and targets.
inline constexpr const char* kPublishScript = R"(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[3], ARGV[3], 'EX', ARGV[2])
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[4], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1
)";

// KEYS: leader. ARGV: leader.
inline constexpr const char* kResignScript = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
)";

// KEYS: job, runs, changes. ARGV: expiry, pairs of run and description.
inline constexpr const char* kAnnounceScript = R"(
for i = 2, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('XADD', KEYS[3], '*', 'change', redis.call('HINCRBY', KEYS[1], 'changes', 1),
               'run', ARGV[i], 'sketches', '', 'captures', '')
  end
end
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[1]) end
return 1
)";

// KEYS: job, files. ARGV: run, number of its last update, expiry, pairs of name and content.
inline constexpr const char* kStoreFilesScript = R"(
if redis.call('HGET', KEYS[1], 'number:' .. ARGV[1]) ~= ARGV[2] then return 0 end
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 1
)";

// KEYS: seen. ARGV: milliseconds. Returns the runs that have been silent for longer.
inline constexpr const char* kSilentScript = R"(
local now = redis.call('TIME')
local limit = now[1] * 1000 + math.floor(now[2] / 1000) - tonumber(ARGV[1])
local seen = redis.call('HGETALL', KEYS[1])
local silent = {}
for i = 1, #seen, 2 do
  if tonumber(seen[i + 1]) < limit then silent[#silent + 1] = seen[i] end
end
return silent
)";

}  // namespace stemtap::fleet
