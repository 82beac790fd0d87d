/**
 * Everything that Redis runs: one Lua script per verb.
 *
 * A record is one Redis key. While it is unfinished it is a hash, whose fields change and which has
 * no time to live: what was never finished does not vanish. Once finished it is one packed string,
 * which is small, never changes, and which Redis itself drops at its expiry. The type thus tells the
 * two apart, also to `SCAN`.
 *
 * ```
 * hash    fence fingerprint owner leaseUntil recoveryPoint createdAt expiresAt about state input quota
 *         (a field that is null is absent)
 * string  fence fingerprint owner recoveryPoint createdAt tookMs keptMs about status sealed resource
 *         (MessagePack, one after the other; false for null; finishedAt = createdAt + tookMs,
 *         expiresAt = finishedAt + keptMs)
 * ```
 *
 * Keys that count towards the quota of a caller are members of one sorted set, by the instant until
 * which they count. It is there for as long as one of them does. `quota` is the name of that set, in
 * records that were made under a quota.
 *
 * `about` is MessagePack of caller, operation, key, requestId, ip and user agent. These, owner and
 * fingerprint are texts as `compact.ts` writes them; resource is JSON. Instants are milliseconds of
 * the clock of the server that holds the record. The first write of each script is one that Redis
 * refuses as a whole when it is out of memory or read-only, so nothing is ever half done.
 *
 * @module
 */

import { type Script, script } from './client.ts'

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/** The time, and what the key is. */
export const READ: string = `
${NOW}
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
 * What is finished already is no hash, so that reading it as one fails; this is rare, and spares all
 * others to ask for the type.
 *
 * - KEYS: record, mark of those who watch
 * - ARGV: MessagePack of owner, fence, retentionMs, status, resource (false for none) and sealed,
 *   which may be an argument of its own instead
 * - replies 1, or 0 if the claim is lost
 */
export const FINISH: Script = script(`
${NOW}
${WAKE}
local owner, fence, keptMs, status, resource, sealed = cmsgpack.unpack(ARGV[1])
local held = redis.pcall('HMGET', KEYS[1], 'owner', 'fence', 'fingerprint', 'recoveryPoint',
  'createdAt', 'about')
if held.err then
  local finished, _, holder = cmsgpack.unpack(redis.call('GET', KEYS[1]))
  return holder == owner and finished == fence and 1 or 0
end
if held[1] ~= owner or tonumber(held[2]) ~= fence then return 0 end

local createdAt = tonumber(held[5])
local packed = cmsgpack.pack(fence, held[3], owner, held[4], createdAt, now - createdAt, keptMs,
  held[6], status, sealed or ARGV[2], resource)
redis.call('SET', KEYS[1], packed, 'PXAT', now + keptMs)
wake()
return 1
`)

/**
 * - KEYS: record, mark of those who watch
 * - ARGV: owner, fence, mode
 * - replies 1, or 0 if the claim is lost; the set that a record counts in which was forgotten
 */
export const RELEASE: Script = script(`
${READ}
${HOLDS}
${WAKE}
if not holds() then return 0 end
local quota = false
if ARGV[3] == 'forget' then
  quota = redis.call('HGET', KEYS[1], 'quota')
  redis.call('DEL', KEYS[1])
else
  redis.call('HDEL', KEYS[1], 'owner', 'leaseUntil')
end
wake()
return quota or 1
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
