/**
 * The first statement of a transaction of `pg`, with `begin` and the claim before it.
 *
 * The three go as one sequence of the extended protocol with one `Sync` at its end. PostgreSQL skips
 * what is left of a sequence once something in it has failed. So the statement is executed if and only
 * if the transaction was begun and the claim granted, whatever the statement is.
 *
 * To `pg` the sequence is one query, answered once. Nothing but the statement may be parsed in it:
 * `pg` would take that for the parsing of the statement. So `begin` and the claim have to be prepared
 * on the connection, and the statement as well if it has a name.
 *
 * @module
 */

import type { Call } from '../client.ts'
import {
  execute,
  isPrepared,
  type PgProtocol,
  type PgQueryClass,
  type PgQueryObject,
} from './pg-protocol.ts'

/** What `begin` and the claim come to. */
export interface Opening {
  readonly begin: Call
  readonly claim: Call
  /** Both succeeded; called before the statement is answered. */
  granted(row: readonly unknown[]): void
  /** One failed; gives what the statement is to reject with. */
  failed(error: unknown): unknown
}

/** A statement as `query()` was given it. */
export interface Given {
  readonly config: object | string
  readonly values: readonly unknown[] | undefined
}

/** Statements that change or read rows, and neither end nor begin anything. */
const TRAVELS = /^\s*(?:insert|update|delete|select|with|merge|values)\b/i

/**
 * The statement in the arguments of `query()`, if it may go with `begin` and the claim: one that reads
 * or changes rows, that is sent by the extended protocol and so stands alone, and that needs no more
 * than one answer. All others wait for the claim.
 */
export function travelling(args: readonly unknown[], protocol: PgProtocol): Given | undefined {
  const [config, second] = args
  if (args.length > 2 || typeof second === 'function') return undefined
  const given = typeof config === 'string' ? { text: config } : config
  if (typeof given !== 'object' || given === null) return undefined
  const values: unknown = second ?? read(given, 'values')
  const [text, name] = [read(given, 'text'), read(given, 'name')]
  if (values !== undefined && !Array.isArray(values)) return undefined
  if (typeof text !== 'string' || !TRAVELS.test(text)) return undefined
  if (UNUSUAL.some((member) => read(given, member) !== undefined)) return undefined
  if (name === undefined && (values === undefined || values.length === 0)) return undefined
  if (name !== undefined && (typeof name !== 'string' || !isPrepared(protocol, { name, text }))) {
    return undefined
  }
  return { config: given, values }
}

/** What makes more of a query than a statement with one answer. */
const UNUSUAL = ['submit', 'callback', 'rows', 'portal'] as const

function read(given: object, member: string): unknown {
  return Reflect.get(given, member)
}

/** Makes the query; it has to be handed to the connection that has all of it prepared. */
export function firstStatement(
  Query: PgQueryClass,
  { config, values }: Given,
  opening: Opening,
): { readonly query: PgQueryObject; readonly answer: Promise<unknown> } {
  const query = new (classOf(Query))(config, values)
  query.opening = opening
  query.query_timeout = timeoutOf(config)
  const answer = new Promise((resolve, reject) => {
    query.callback = (error, result) => (error ? reject(error) : resolve(result))
  })
  return { query, answer }
}

function timeoutOf(config: object | string): number | undefined {
  const timeout: unknown = typeof config === 'object' ? read(config, 'query_timeout') : undefined
  return typeof timeout === 'number' ? timeout : undefined
}

interface FirstStatement extends PgQueryObject {
  opening: Opening | undefined
}

type FirstStatementClass = new (config: object | string, values?: unknown) => FirstStatement

const classes = new WeakMap<PgQueryClass, FirstStatementClass>()

/** One class per class of the library, which is not ours to import. */
function classOf(Query: PgQueryClass): FirstStatementClass {
  const known = classes.get(Query)
  if (known !== undefined) return known
  const made = extend(Query)
  classes.set(Query, made)
  return made
}

function extend(Query: PgQueryClass): FirstStatementClass {
  return class extends Query implements FirstStatement {
    opening: Opening | undefined
    /** How many commands were completed: `begin`, the claim, then the statement's own. */
    #completed = 0
    #row: readonly unknown[] = []
    #isBeingSent = false

    override submit(protocol: PgProtocol): unknown {
      const { opening } = this
      protocol.stream?.cork?.()
      this.#isBeingSent = true
      try {
        if (opening !== undefined) execute(protocol, [opening.begin, opening.claim], false)
        // Parses if need be, binds, executes, and sends the one Sync.
        return super.submit(protocol)
      } finally {
        this.#isBeingSent = false
        protocol.stream?.uncork?.()
      }
    }

    override handleDataRow(message: { readonly fields: readonly unknown[] }): void {
      if (this.#completed < 2) this.#row = message.fields
      else super.handleDataRow(message)
    }

    override handleCommandComplete(message: object, protocol: PgProtocol): void {
      this.#completed++
      if (this.#completed === 2) this.opening?.granted(this.#row)
      else if (this.#completed > 2) super.handleCommandComplete(message, protocol)
    }

    override handleError(error: unknown, protocol: PgProtocol): void {
      // A value that can not be sent is the statement's own fault, and no answer to the claim.
      const isOurs = this.#completed < 2 && !this.#isBeingSent
      super.handleError(isOurs ? this.opening?.failed(error) : error, protocol)
    }
  }
}
