/**
 * What an adapter's own test hands to the contract: how its framework is served, and how it answers.
 *
 * @module
 */

import type { HttpOptions } from '../../adapters/options.ts'
import type { HttpRun } from '../../adapters/watched-handler.ts'
import type { Header } from '../../core/response.ts'
import type { Reprise } from '../../engine/reprise.ts'
import type { Store } from '../../engine/store.ts'

/** Whether the app's body parser stands before the protection, after it, or is not there. */
export type ParserPlace = 'before' | 'after' | 'none'

/** What a handler is asked, free of any framework. */
export interface DeedRequest {
  /** The last part of the path: `7` of `/items/7`. */
  readonly id: string
  /**
   * What the framework's parser made of the body (JSON and forms); without a parser the bytes, which
   * the handler reads from the request itself.
   */
  readonly body: unknown
  /** The handler's side of the run, as the adapter gives it. */
  readonly run: HttpRun<unknown> | undefined
}

/** What a handler answers, and by which of the framework's ways. */
export type Deed = DeedHead & DeedBody

/** Status and headers of an answer. */
export interface DeedHead {
  readonly status: number
  /** In this order; a name may come twice and is then two field lines. */
  readonly headers?: readonly Header[]
}

/**
 * How the body is sent. A framework that lacks a way uses the nearest it has.
 * - `send`: the usual call for a text or bytes.
 * - `json`: the usual call for a value.
 * - `end`: without a body.
 * - `write`: piece by piece.
 * - `stream`: from a stream that the framework reads.
 * - `file`: from the file system.
 * - `redirect`: by the framework's call for it.
 */
export type DeedBody =
  | { readonly how: 'send'; readonly body: string | Uint8Array }
  | { readonly how: 'json'; readonly body: unknown }
  | { readonly how: 'end' }
  | { readonly how: 'write'; readonly body: readonly (string | Uint8Array)[] }
  | { readonly how: 'stream'; readonly body: AsyncIterable<Uint8Array> }
  | { readonly how: 'file'; readonly path: string }
  | { readonly how: 'redirect'; readonly location: string }

/** A handler, free of any framework. What it throws goes to the framework's error handling. */
export type DeedHandler = (request: DeedRequest) => Promise<Deed>

/** The routes that are served, each for every method, all with the same handler. */
export const ROUTES = ['/items/:id', '/others/:id'] as const

/** An app to serve. */
export interface AdapterSpec {
  readonly deed: DeedHandler
  /** The engine. Whether it has transactions is for the adapter to look at. */
  readonly reprise: Reprise<unknown>
  /**
   * Settings of the routes; `null` serves them without protection. An adapter that does not know the
   * template of a route names it by `operation`, unless the settings do.
   */
  readonly options: HttpOptions<unknown> | null
  readonly parser: ParserPlace
  /** Whether the protection is mounted twice, by mistake. */
  readonly isMountedTwice: boolean
  /**
   * Asked for each request by a middleware in front of the protection: what it comes to is answered
   * at once, while the handler goes on.
   *
   * @default there is no such middleware
   */
  readonly early?: (() => Promise<Deed>) | undefined
}

/** An app that listens on 127.0.0.1. */
export interface Served {
  readonly port: number
  /** What reached the framework's error handling, in order. */
  readonly errors: readonly unknown[]
  /** Stops listening and cuts what is open. */
  close(): Promise<void>
}

/** A store with transactions, and an effect of the app's own to commit with them. */
export interface TransactionalStore {
  readonly store: Store<unknown>
  /** Adds one row of the app's own inside the transaction. */
  addEffect(tx: unknown): Promise<void>
  /** How many such rows are committed. */
  countEffects(): Promise<number>
  /** Drops what was made. */
  dispose(): Promise<void>
}

/** An adapter under test. */
export interface AdapterHarness {
  /** Serves an app; each check has its own. */
  serve(spec: AdapterSpec): Promise<Served>
  /** A header of the framework's own request object, such as the options' functions are given. */
  header(request: unknown, name: string): string | undefined
  /**
   * Where a body parser can stand.
   *
   * @default all three places
   */
  readonly parserPlaces?: readonly ParserPlace[]
  /**
   * Whether the framework itself makes an answer of what a handler throws; where it does not, the
   * adapter throws it on.
   *
   * @default true
   */
  readonly rendersErrors?: boolean
  /**
   * Whether the adapter knows when a handler is over, and so tells what a middleware in front answers
   * from what the handler does.
   *
   * @default true
   */
  readonly knowsHandlerEnd?: boolean
  /** Opens a fresh store with transactions. */
  readonly openTransactional: () => Promise<TransactionalStore>
}

/** One check of the contract. It throws when the adapter breaks it. */
export interface AdapterCheck {
  /** The behaviour, as a statement. */
  readonly name: string
  /** Whether it can be asked of this adapter at all; of every one, when absent. */
  appliesTo?(harness: AdapterHarness): boolean
  check(harness: AdapterHarness): Promise<void>
}
