/**
 * An operation as a plan says it. It keeps in its state which sites are done, and goes on to the first one
 * that is not: so it takes up what any other version has left.
 *
 * @module
 */

import {
  advance,
  type CallContext,
  didNotHappen,
  foreignCall,
  type Graph,
  happened,
  type Migrate,
  type Operation,
  operation,
  type PhaseContext,
  phase,
  type Reconciled,
  respond,
  retryLater,
  type Schema,
  type Step,
  unknown,
  willNotHappen,
} from '../../src/phases/index.ts'
import { type AppParts, idOf, type Order, settingsOf } from './app.ts'
import type { Deed, Ledger } from './ledger.ts'
import { type Plan, type Site, type Version, versionOf } from './plan.ts'
import { isDeclined, ProviderError } from './provider.ts'
import type { SimulatedTx } from './remote-store.ts'

/** The body that later versions may refuse. */
export const LOOSE = 'loose'

/** What is handed on from site to site. */
interface Progress {
  readonly by: string
  readonly done: readonly string[]
}

type Given = PhaseContext<SimulatedTx, Order>

type ShapedParts = AppParts & { readonly ledger: Ledger }

/** The operation in one of its versions. */
export function shaped(
  parts: ShapedParts,
  plan: Plan,
  number: number,
): Operation<SimulatedTx, Order> {
  const version = versionOf(plan, number)
  const nodes = version.order.map((site) => {
    const shape = new Shape(parts, version, site)
    return [version.names.get(site.id) ?? site.id, shape.node()] as const
  })
  const settings = {
    ...settingsOf(parts),
    ...{ input: schemaOf(version), version: version.number, retentionMs: plan.retentionMs },
    ...(version.migrates && { migrate: migration(parts, plan, number) }),
  }
  // Whether the points fit together is up to the plan, which the compiler cannot see.
  return operation('phases', settings, Object.fromEntries(nodes) as unknown as ShapedGraph)
}

type ShapedGraph = Pick<Graph<SimulatedTx, Order>, 'started'>

function schemaOf({ isStrict }: Version): Schema<Order> {
  return {
    '~standard': {
      version: 1,
      vendor: 'simulation',
      validate: (value) => {
        // The simulation sends nothing else.
        const order = value as Order
        if (!isStrict || order.body !== LOOSE) return { value: order }
        return { issues: [{ message: 'The body says too little.', path: ['body'] }] }
      },
    },
  }
}

/** Takes up what an older version has left; of a newer one the app cannot know anything. */
function migration({ checks }: AppParts, plan: Plan, number: number): Migrate {
  const own = versionOf(plan, number)
  const known = plan.versions.slice(0, number)
  return ({ version, point, state, input, call }) => {
    const writer = known.find(
      (one) => one.number === version && [...one.names.values()].includes(point),
    )
    const [id] = [...(writer?.names ?? [])].find(([, name]) => name === point) ?? []
    if (id === undefined) return null
    const name = own.names.get(id)
    if (name !== undefined && name !== point) checks.note('migrate renames')
    if (name !== undefined) return { point: name, state }
    // The app stored both.
    const { by, done = [] } = (state ?? {}) as Partial<Progress>
    const skipped = [...done, id]
    const next = pointAfter(own, skipped, input as Order)
    const moved = { point: next, state: { by, done: skipped } }
    if (call === null) {
      checks.note('migrate skips a phase')
      return moved
    }
    // A call that was perhaps made is not carried on by another one.
    const isPhase = own.order.some((site) => own.names.get(site.id) === next && !site.call)
    checks.note(isPhase ? 'migrate settles a call' : 'migrate leaves a call to a person')
    return isPhase ? { ...moved, call: 'settled' } : null
  }
}

/** The first site that is not done; what a later version has put at the start is not made up for. */
function pointAfter({ order, names }: Version, done: readonly string[], input: Order): string {
  const branch = branchOf(input)
  const next = order
    .slice(1)
    .find(({ id, branch: only }) => !done.includes(id) && (only ?? branch) === branch)
  return names.get(next?.id ?? 'end') ?? 'end'
}

function branchOf({ key, body }: Order): 0 | 1 {
  return (key.charCodeAt(key.length - 1) + body.length) % 2 === 0 ? 0 : 1
}

/** One site of one version. */
class Shape {
  readonly #parts: ShapedParts
  readonly #version: Version
  readonly #site: Site

  constructor(parts: ShapedParts, version: Version, site: Site) {
    this.#parts = parts
    this.#version = version
    this.#site = site
  }

  node() {
    return this.#site.call === undefined ? this.#phase() : this.#call()
  }

  #phase() {
    const { timeoutMs } = this.#site
    return phase(
      async (context: Given, state: Progress | undefined): Promise<Step> => {
        const by = state?.by ?? this.#named()
        await this.#hang(context)
        await context.tx.write(idOf('phases', context.input.key), this.#site.id, by)
        await this.#hang(context)
        if (this.#happens('handler')) throw new Error('The phase failed after its row.')
        if (this.#happens('handler')) return retryLater()
        return this.#onward(context, { by, done: state?.done ?? [] })
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
  }

  #call() {
    const { timeoutMs, call: manner } = this.#site
    return foreignCall({
      ...(timeoutMs !== undefined && { timeoutMs }),
      repeat: manner?.repeat ?? 'with-key',
      call: (context: CallContext<Order>) => this.#made(context),
      done: async (context: Given & { readonly result: Deed }, state: Progress | undefined) => {
        const { result, tx, input } = context
        const by = state?.by ?? this.#named()
        if (result.site !== this.#site.id) this.#parts.checks.violate(`${by} got another deed`)
        if (this.#parts.options.plan?.features.has('unlimited phases') === true) {
          await this.#hang(context)
        }
        await tx.write(idOf('phases', input.key), this.#site.id, by)
        return this.#onward(context, { by, done: state?.done ?? [] })
      },
      ...(manner?.declined !== 'nothing' && {
        failed: async (error: unknown, state: Progress | undefined, context: Given) =>
          this.#declined(error, state, context),
      }),
      ...((manner?.manners.length ?? 0) > 0 && {
        reconcile: (context: CallContext<Order>) => this.#reconcile(context),
      }),
    })
  }

  async #made({ key, fence }: CallContext<Order>): Promise<Deed> {
    const { wire, ledger, checks, chance } = this.#parts
    const call = ledger.begin({ key, fence, site: this.#site })
    const lateMs = this.#happens('callLate') ? chance.pick(300, 3000, 12_000, 40_000) : undefined
    const hangs = lateMs === undefined && this.#happens('callHang')
    if (lateMs !== undefined) checks.note('call late')
    if (hangs) checks.note('call hung')
    try {
      return await wire.ask({
        ...{ label: `call ${this.#site.id}`, hangs, lateMs },
        apply: () => ledger.carryOut(call),
      })
    } catch (error) {
      if (error instanceof ProviderError && error.status < 500) call.isRefused = true
      throw error
    }
  }

  async #declined(error: unknown, state: Progress | undefined, context: Given): Promise<Step> {
    const { key, body } = context.input
    const by = state?.by ?? this.#named()
    if (!isDeclined(error)) return retryLater()
    if (this.#site.call?.declined === 'answers') {
      return respond(402, `"${key} ${body}" ${by} is declined`)
    }
    return this.#onward(context, { by, done: state?.done ?? [] })
  }

  async #reconcile({ key, fence }: CallContext<Order>): Promise<Reconciled<Deed>> {
    const { chance, ledger, wire, checks, outside } = this.#parts
    const [first = 'honest', ...others] = this.#site.call?.manners ?? []
    const manner = outside.isHealed ? 'honest' : chance.pick(first, ...others)
    checks.note(`reconcile ${manner}`)
    switch (manner) {
      case 'silent':
        return unknown
      case 'throws':
        throw new Error('The provider has no such page.')
      case 'garbage': {
        const said = [true, 'happened', {}, undefined, null, 0, { certainty: 'happened' }, [true]]
        return said[Math.floor(chance.fraction() * said.length)] as Reconciled<Deed>
      }
      case 'honest':
      case 'voids':
      case 'hangs': {
        const isVoiding = manner === 'voids'
        const found = await wire.ask({
          ...{ label: `look up ${key}`, hangs: manner === 'hangs' },
          apply: () => {
            const deed = ledger.find({ key, site: this.#site })
            if (deed === undefined && isVoiding) ledger.void(key, fence)
            if (deed === undefined && !isVoiding) ledger.deny(key)
            return deed
          },
        })
        if (found !== undefined) return happened(found)
        if (!isVoiding) return didNotHappen
        ledger.heardVoid(key)
        return willNotHappen
      }
    }
  }

  async #onward({ input, tx, stage }: Given, { by, done }: Progress): Promise<Step> {
    const { id } = this.#site
    if (id === 'end') {
      await tx.write(idOf('phases', input.key), 'receipt', by)
      await stage('receipt', { ride: by })
      return respond(201, `"${input.key} ${input.body}" ${by} "done"`)
    }
    const next = [...done, id]
    return advance(pointAfter(this.#version, next, input), { by, done: next })
  }

  /** A phase never comes back: it waits for nothing, or for a statement that is never answered. */
  async #hang({ tx }: Given): Promise<void> {
    const { checks, chance } = this.#parts
    if (!this.#happens('phaseHang')) return
    checks.note(this.#site.timeoutMs === undefined ? 'phase hung without a limit' : 'phase hung')
    if (chance.happens(0.5)) await tx.hang?.()
    await new Promise(() => {})
  }

  #named(): string {
    return `run-${this.#parts.number()}`
  }

  #happens(rate: 'callLate' | 'callHang' | 'phaseHang' | 'handler'): boolean {
    const { chance, options, outside } = this.#parts
    return !outside.isHealed && chance.happens(options.rates[rate] / 2)
  }
}
