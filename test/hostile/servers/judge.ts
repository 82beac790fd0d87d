/**
 * What has to hold in every world, by what the servers did and what the apps were told.
 *
 * @module
 */

import { isOpen } from '../../../src/client/entry.ts'
import type { Plan } from './plan.ts'
import type { Settled } from './run.ts'
import { type Asked, kindOf, opOf, type World } from './world.ts'

/** Everything that does not hold. */
export async function violationsIn(
  world: World,
  plan: Plan,
  settled: Settled,
): Promise<readonly string[]> {
  const found = [
    ...world.violations,
    ...settled.violations,
    ...world.intrusions.filter((one) => plan.redirects === 'same-host' || !one.startsWith('a key')),
  ]
  const answers = await Promise.all(world.answers)
  for (const asked of world.asked) found.push(...ofOperation(asked, world, plan, answers))
  found.push(...ofJournal(world, plan, settled, answers), ...ofOrder(world, plan))
  return [...new Set(found)]
}

interface Answer {
  readonly op: string
  readonly status: number
  readonly body: string
}

/** Whether one operation may have at most one effect: keys are honoured, or nothing may be repeated. */
function isOnce({ origin, hasKey }: Asked, plan: Plan): boolean {
  return !hasKey || kindOf(origin) !== 'ignores' || plan.unprotected === 'refuse'
}

function ofOperation(
  asked: Asked,
  world: World,
  plan: Plan,
  answers: readonly Answer[],
): readonly string[] {
  const { op, user, told, hasKey } = asked
  const found: string[] = []
  const effects = world.effects.filter((effect) => effect.op === op)
  const seen = world.seen.filter((one) => one.op === op)
  if (effects.some((effect) => effect.user !== user))
    found.push(`${op} of ${user} took effect for ${effects.map((effect) => effect.user).join()}`)
  if (isOnce(asked, plan) && effects.length > 1)
    found.push(`${op} took effect ${effects.length} times`)
  const times = seen.filter(({ page }) => page === 'op').length
  if (!hasKey && times > 1) found.push(`${op}, without a key, was sent ${times} times`)
  if (new Set(seen.map(({ body }) => body).filter((body) => body !== '')).size > 1)
    found.push(`${op} was sent with different bytes`)
  if (hasKey && new Set(seen.flatMap(({ key }) => key ?? [])).size > 1)
    found.push(`${op} was sent with different keys`)

  const given = answers.filter((answer) => answer.op === op)
  const ownAnswer =
    told?.how === 'answer' && told.body !== undefined
      ? [{ op, status: told.status ?? 0, body: told.body }]
      : []
  for (const { status, body } of [...given, ...ownAnswer]) {
    const effect = effectIn(body)
    if (effect === undefined) {
      // A page, a refusal or a denial: nothing has happened, and nothing will.
      if (isOnce(asked, plan) && hasKey && effects.length > 0)
        found.push(`${op} was answered with ${status} ${body.slice(0, 20)} and took effect`)
    } else if (!effects.some(({ id }) => id === effect))
      found.push(`${op} was answered with the effect of another`)
  }
  if (told?.how === 'unknown' && !told.sent && told.requests > 0)
    found.push(`${op} is said not to have been sent (${told.reason}), and a server has seen it`)
  const isPlain =
    told !== undefined && told.kills === 0 && plan.processes === 1 && plan.faults.length === 0
  if (told?.how === 'unknown' && told.sent === true && told.calls === 0 && isPlain)
    found.push(`${op} is said to have been sent (${told.reason}), and nothing has left`)
  if (isPlain && isCalm(asked, plan) && told.status !== 201) {
    found.push(
      `${op}, which met nothing but redirects to its new place, was told ${told.how} ${told.status}`,
    )
  }
  if (told?.how === 'error' && hasKey && effects.length > 0)
    found.push(`${op} failed with ${String(told.error)} and took effect`)
  return found
}

/** Whether nothing but a redirect to its new place stands between an operation and its answer. */
function isCalm({ op, hasKey, resource }: Asked, { acts, ops }: Plan): boolean {
  const { fates = [] } = ops[Number(op)] ?? {}
  // Time that passes while a request is on its way is a time-out.
  const isQuiet = acts.every((act) => ['send', 'resume'].includes(act.do))
  const isMoved = fates.every(
    (fate) =>
      fate.kind === 'pass' ||
      (fate.kind === 'redirect' && fate.to === 'moved' && [307, 308].includes(fate.status)),
  )
  return isQuiet && isMoved && hasKey && resource === null
}

/** The number of the effect that an answer speaks of. */
function effectIn(body: string): number | undefined {
  try {
    const value: unknown = JSON.parse(body)
    const effect: unknown = Reflect.get(Object(value), 'effect')
    return typeof effect === 'number' ? effect : undefined
  } catch {
    return undefined
  }
}

function ofJournal(
  world: World,
  plan: Plan,
  { open, entries }: Settled,
  answers: readonly Answer[],
): readonly string[] {
  const found: string[] = []
  for (const entry of entries.filter(isOpen)) {
    const reason = open.get(entry.id) ?? 'never resumed'
    // By that option it is for a person to settle, and what comes after it has to wait.
    const isBehind = entries.some(
      (other) =>
        isOpen(other) &&
        other.resource !== null &&
        other.resource === entry.resource &&
        other.caller === entry.caller &&
        open.get(other.id) === 'unprotected',
    )
    if (plan.unprotected === 'refuse' && (reason === 'unprotected' || isBehind)) continue
    found.push(`${opOf(entry.url)} can not be settled: ${reason}`)
  }
  const names = new Set(world.names())
  for (const name of world.planted)
    if (!names.has(name))
      found.push('something in the journal that is not of the client was removed')
  const rest = [...names].filter((name) => /\.(tmp|lock)$/.test(name) && !world.planted.has(name))
  if (rest.length > 0)
    found.push(`${rest.map((name) => name.replace(/^.*\./, '')).join()} left behind`)
  if (plan.journal === 'memory' && world.kills.length > 0) return found
  // What the journal does not have was answered, or never sent.
  const kept = new Set([...entries.map(({ url }) => opOf(url)), ...answers.map(({ op }) => op)])
  for (const { op } of world.seen) {
    const asked = world.asked.find((one) => one.op === op)
    if (asked?.hasKey && !kept.has(op) && !world.damaged.has(op))
      found.push(`${op} was sent and is not in the journal`)
  }
  for (const { op, told } of world.asked) {
    // What was aborted before it was sent may go while its app is told that it stays.
    const isDropped = told?.reason === 'aborted' && told.sent === false
    const isLost = told?.how === 'unknown' && !isDropped && !kept.has(op) && !world.damaged.has(op)
    if (isLost && plan.faults.length === 0)
      found.push(`${op} is unknown (${told.reason}) and not in the journal`)
  }
  return found
}

/** Operations of one resource, of one user and of one client, take effect in the order in which they were begun. */
function ofOrder(world: World, plan: Plan): readonly string[] {
  if (
    plan.processes > 1 ||
    plan.faults.length > 0 ||
    world.damaged.size > 0 ||
    world.kills.length > 0
  )
    return []
  return (['alice', 'bob'] as const).flatMap((user) => {
    const begun = world.asked.filter(
      (asked) =>
        asked.user === user &&
        asked.resource === 'cart' &&
        asked.hasKey &&
        kindOf(asked.origin) !== 'ignores',
    )
    const inOrder = begun.map(({ op }) => op)
    const happened = world.effects.filter(({ op }) => inOrder.includes(op)).map(({ op }) => op)
    const expected = inOrder.filter((op) => happened.includes(op))
    return happened.join() === expected.join()
      ? []
      : [`operations of one resource took effect in the order ${happened.join()}`]
  })
}
