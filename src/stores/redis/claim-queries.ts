/**
 * The scripts of a claim, with and without a quota.
 *
 * @module
 */

import { type Script, script } from './client.ts'
import { READ } from './queries.ts'

/**
 * Counts a key. Its quota (how many, for how many milliseconds) and its member are the last of ARGV.
 * One that counts already needs no room. Gives the milliseconds until there is room, 0 if there was.
 */
const COUNT_KEY = `
local function count(set)
  local keys, ms, member = unpack(ARGV, #ARGV - 2)
  if tonumber(keys) < 1 then return tonumber(ms) end
  local live = '(' .. now
  if redis.call('ZCOUNT', set, live, '+inf') >= tonumber(keys)
    and not redis.call('ZSCORE', set, member) then
    local last = redis.call('ZREVRANGEBYSCORE', set, '+inf', live, 'WITHSCORES',
      'LIMIT', keys - 1, 1)
    return last[2] - now
  end
  redis.call('ZADD', set, now + ms, member)
  redis.call('ZREMRANGEBYSCORE', set, '-inf', now)
  redis.call('PEXPIREAT', set, redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2])
  return 0
end
`

/** What there is to a fresh record under a quota. */
const WITHIN_QUOTA = `
  if not KEYS[2] then return { 'fresh' } end
  local roomInMs = count(KEYS[2])
  if roomInMs > 0 then return { 'over_quota', roomInMs } end
`

const ARGUMENTS = `
local packed = { cmsgpack.unpack(ARGV[1]) }
local leaseMs, retentionMs, takesUnknown, owner = packed[1], packed[2], packed[3], packed[4]

local function accepts(fingerprint)
  for i = 6, #packed do
    if packed[i] == fingerprint then return true end
  end
  return false
end
`

const DECIDE = `
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
  return { outcome, fence, recoveryPoint, unpack(redis.call('HMGET', KEYS[1], 'state', 'input')) }
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
if takesUnknown then return grant('recover', fence + 1) end
return { 'unknown' }
`

/**
 * Says what `core/decide.ts` says, in the same order.
 *
 * - KEYS: record
 * - ARGV: MessagePack of leaseMs, retentionMs, takesUnknown, owner, about, fingerprint and others
 *   that are accepted; then names and values of further fields of a fresh record
 * - replies whether the record was abandoned (1 or 0) that a fresh one replaces
 * - replies `execute`, `resume` or `recover` with fence, recoveryPoint, state, input of another
 * - replies `replay` with status, sealed, resource, owner, requestId, milliseconds left
 * - replies `in_progress` with milliseconds of lease left, milliseconds of age
 * - replies `mismatch` or `unknown`
 */
export const CLAIM: Script = script(claim({ functions: '', beforeFresh: '', fieldsEnd: '#ARGV' }))

/**
 * The same under a quota.
 *
 * - KEYS: also the set of what counts; not on a cluster, where it is in another slot
 * - ARGV: also keys, milliseconds and member of the quota, as the last
 * - replies also `over_quota` with the milliseconds until there is room
 * - replies `fresh` where the set was not given and a record would be made: it is to be counted with
 *   `COUNT` and claimed with `CLAIM`
 */
export const CLAIM_IN_QUOTA: Script = script(
  claim({ functions: COUNT_KEY, beforeFresh: WITHIN_QUOTA, fieldsEnd: '#ARGV - 3' }),
)

/**
 * - KEYS: set of what counts
 * - ARGV: keys and milliseconds of the quota, member
 * - replies the milliseconds until there is room, 0 if the key was counted
 */
export const COUNT: Script = script(`
${READ}
${COUNT_KEY}
return count(KEYS[1])
`)

function claim(parts: { functions: string; beforeFresh: string; fieldsEnd: string }): string {
  return `
${READ}
${parts.functions}
${ARGUMENTS}
local function fresh(abandoned)
${parts.beforeFresh}  if kind ~= 'none' then redis.call('DEL', KEYS[1]) end
  local leaseUntil = now + leaseMs
  local expiresAt = math.max(now + retentionMs, leaseUntil)
  redis.call('HSET', KEYS[1], 'fence', '1', 'owner', owner, 'leaseUntil', leaseUntil,
    'createdAt', now, 'expiresAt', expiresAt, 'about', packed[5], 'fingerprint', packed[6],
    unpack(ARGV, 2, ${parts.fieldsEnd}))
  return abandoned
end
${DECIDE}`
}
