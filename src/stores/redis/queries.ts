/**
 * Everything that Redis runs: one Lua script per verb.
 *
 * A record is one Redis key. While it is unfinished it is a hash, whose fields change and which has
 * no time to live: what was never finished does not vanish. Once finished it is one packed string,
 * which is small, never changes, and which Redis itself drops at its expiry. The type thus tells the
 * two apart, also to `SCAN`.
 *
 * ```
 * hash    fence fingerprint owner leaseUntil recoveryPoint createdAt expiresAt about state input
 *         (a field that is null is absent)
 * string  fence fingerprint owner recoveryPoint createdAt tookMs keptMs about status sealed resource
 *         (MessagePack, one after the other; false for null; finishedAt = createdAt + tookMs,
 *         expiresAt = finishedAt + keptMs)
 * ```
 *
 * `about` is MessagePack of caller, operation, key, requestId, ip and user agent. These, owner and
 * fingerprint are texts as `compact.ts` writes them; resource is JSON. Instants are milliseconds of
 * the clock of the server that holds the record. The first write of each script is one that Redis
 * refuses as a whole when it is out of memory or read-only, so nothing is ever half done.
 *
 * @module
 */

import { type Script, script } from './client.ts'

const READ = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kind = redis.call('TYPE', KEYS[1]).ok
`

/** Owner and fence are ARGV[1] and ARGV[2]; a lapsed lease is still held until it is taken. */
const HOLDS = `
local function holds()
  if kind ~= 'hash' then return false end
  local held = redis.call('HMGET', KEYS[1], 'owner', 'fence')
  return held[1] == ARGV[1] and held[2] == ARGV[2]
end
`

/** A message that can not be sent must not undo what was written: waiters poll as well. */
const WAKE = `
local function wake()
  if redis.call('EXISTS', KEYS[2]) == 1 then redis.pcall('PUBLISH', KEYS[1], '') end
end
`

const EXTEND = `
local function extend(leaseMs)
  local leaseUntil = now + leaseMs
  local expiresAt = math.max(redis.call('HGET', KEYS[1], 'expiresAt'), leaseUntil)
  redis.call('HSET', KEYS[1], 'leaseUntil', leaseUntil, 'expiresAt', expiresAt)
end
`

/**
 * Says what `core/decide.ts` says, in the same order.
 *
 * - KEYS: record
 * - ARGV: owner, leaseMs, retentionMs, takesUnknown (1 or 0), caller, operation, key, requestId, ip,
 *   user agent, number of accepted fingerprints, these fingerprints, then names and values of
 *   further fields of a fresh record
 * - replies `execute`, `resume` or `recover` with fence and abandoned (1 or 0), and, unless the
 *   record is fresh, recoveryPoint, state, input
 * - replies `replay` with status, sealed, resource, owner, requestId, milliseconds left
 * - replies `in_progress` with milliseconds of lease left, milliseconds of age
 * - replies `mismatch` or `unknown`
 */
export const CLAIM: Script = script(`
${READ}
local owner, leaseMs, retentionMs, takesUnknown = unpack(ARGV, 1, 4)
local count = ARGV[11]

local function accepts(fingerprint)
  for i = 12, 11 + count do
    if ARGV[i] == fingerprint then return true end
  end
  return false
end

local function fresh(abandoned)
  if kind ~= 'none' then redis.call('DEL', KEYS[1]) end
  local leaseUntil = now + leaseMs
  local expiresAt = math.max(now + retentionMs, leaseUntil)
  redis.call('HSET', KEYS[1], 'fence', 1, 'owner', owner, 'leaseUntil', leaseUntil,
    'createdAt', now, 'expiresAt', expiresAt, 'about', cmsgpack.pack(unpack(ARGV, 5, 10)),
    unpack(ARGV, 12 + count))
  return { 'execute', 1, abandoned }
end

if kind == 'none' then return fresh(0) end

if kind == 'string' then
  local _, fingerprint, holder, _, createdAt, tookMs, keptMs, about, status, sealed, resource =
    cmsgpack.unpack(redis.call('GET', KEYS[1]))
  local leftMs = createdAt + tookMs + keptMs - now
  if leftMs <= 0 then return fresh(0) end
  if not accepts(fingerprint) then return { 'mismatch' } end
  local _, _, _, requestId = cmsgpack.unpack(about)
  return { 'replay', status, sealed, resource, holder, requestId, leftMs }
end

local fence, fingerprint, holder, leaseUntil, recoveryPoint, createdAt, expiresAt =
  unpack(redis.call('HMGET', KEYS[1], 'fence', 'fingerprint', 'owner', 'leaseUntil',
    'recoveryPoint', 'createdAt', 'expiresAt'))

local function grant(outcome, fence)
  local leaseUntil = now + leaseMs
  local keptUntil = math.max(expiresAt, now + retentionMs, leaseUntil)
  redis.call('HSET', KEYS[1], 'fence', fence, 'owner', owner, 'leaseUntil', leaseUntil,
    'expiresAt', keptUntil)
  return { outcome, fence, 0, recoveryPoint, unpack(redis.call('HMGET', KEYS[1], 'state', 'input')) }
end

if tonumber(expiresAt) <= now then return fresh(1) end
if not accepts(fingerprint) then return { 'mismatch' } end
fence = tonumber(fence)
if holder == owner then
  if fence == 1 then return grant('execute', fence) end
  return grant(recoveryPoint and 'resume' or 'recover', fence)
end
if leaseUntil and tonumber(leaseUntil) > now then
  return { 'in_progress', leaseUntil - now, now - createdAt }
end
if recoveryPoint then return grant('resume', fence + 1) end
if takesUnknown == '1' then return grant('recover', fence + 1) end
return { 'unknown' }
`)

/**
 * - KEYS: record
 * - ARGV: owner, fence, leaseMs
 * - replies 1, or 0 if the claim is lost
 */
export const RENEW: Script = script(`
${READ}
${HOLDS}
${EXTEND}
if not holds() then return 0 end
extend(ARGV[3])
return 1
`)

/**
 * - KEYS: record
 * - ARGV: owner, fence, leaseMs, then names and values of what is not null of recoveryPoint, state
 * - replies 1, or 0 if the claim is lost
 */
export const ADVANCE: Script = script(`
${READ}
${HOLDS}
${EXTEND}
if not holds() then return 0 end
extend(ARGV[3])
redis.call('HDEL', KEYS[1], 'recoveryPoint', 'state')
if #ARGV > 3 then redis.call('HSET', KEYS[1], unpack(ARGV, 4)) end
return 1
`)

/**
 * - KEYS: record, mark of those who watch
 * - ARGV: owner, fence, retentionMs, status, sealed, and resource if there is one
 * - replies 1, or 0 if the claim is lost
 */
export const FINISH: Script = script(`
${READ}
${HOLDS}
${WAKE}
if kind == 'string' then
  local fence, _, owner = cmsgpack.unpack(redis.call('GET', KEYS[1]))
  return owner == ARGV[1] and fence == tonumber(ARGV[2]) and 1 or 0
end
if not holds() then return 0 end

local fingerprint, recoveryPoint, createdAt, about =
  unpack(redis.call('HMGET', KEYS[1], 'fingerprint', 'recoveryPoint', 'createdAt', 'about'))
local owner, fence, keptMs, status, sealed, resource = unpack(ARGV)
local packed = cmsgpack.pack(tonumber(fence), fingerprint, owner, recoveryPoint,
  tonumber(createdAt), now - createdAt, tonumber(keptMs), about, tonumber(status), sealed,
  resource or false)
redis.call('SET', KEYS[1], packed, 'PXAT', now + keptMs)
wake()
return 1
`)

/**
 * - KEYS: record, mark of those who watch
 * - ARGV: owner, fence, mode
 * - replies 1, or 0 if the claim is lost
 */
export const RELEASE: Script = script(`
${READ}
${HOLDS}
${WAKE}
if not holds() then return 0 end
if ARGV[3] == 'forget' then
  redis.call('DEL', KEYS[1])
else
  redis.call('HDEL', KEYS[1], 'owner', 'leaseUntil')
end
wake()
return 1
`)

/**
 * - KEYS: record
 * - replies now, fence, fingerprint, owner, leaseUntil, recoveryPoint, createdAt, finishedAt,
 *   expiresAt, the parts of about, state, input, status, sealed, resource; or nothing without a record
 */
export const FIND: Script = script(`
${READ}
if kind == 'none' then return false end

if kind == 'string' then
  local fence, fingerprint, owner, recoveryPoint, createdAt, tookMs, keptMs, about, status, sealed,
    resource = cmsgpack.unpack(redis.call('GET', KEYS[1]))
  local finishedAt = createdAt + tookMs
  return { now, fence, fingerprint, owner, false, recoveryPoint, createdAt, finishedAt,
    finishedAt + keptMs, { cmsgpack.unpack(about) }, false, false, status, sealed, resource }
end

local fence, fingerprint, owner, leaseUntil, recoveryPoint, createdAt, expiresAt, about, state,
  input = unpack(redis.call('HMGET', KEYS[1], 'fence', 'fingerprint', 'owner', 'leaseUntil',
    'recoveryPoint', 'createdAt', 'expiresAt', 'about', 'state', 'input'))
return { now, fence, fingerprint, owner, leaseUntil, recoveryPoint, createdAt, false,
  expiresAt, { cmsgpack.unpack(about) }, state, input, false, false, false }
`)

/**
 * Deletes a finished record past its expiry that is still there, as after a `PERSIST` or a restore
 * from a dump.
 *
 * - KEYS: record
 * - replies how many were deleted
 */
export const SWEEP: Script = script(`
${READ}
if kind ~= 'string' then return 0 end
local _, _, _, _, createdAt, tookMs, keptMs = cmsgpack.unpack(redis.call('GET', KEYS[1]))
if createdAt + tookMs + keptMs > now then return 0 end
return redis.call('DEL', KEYS[1])
`)

/**
 * Says for a while that somebody watches the record.
 *
 * - KEYS: mark
 * - ARGV: milliseconds
 */
export const MARK: Script = script(`
return redis.call('SET', KEYS[1], '', 'PX', ARGV[1]).ok
`)
