/**
 * A charges API on Express, on a real socket, whose effects are counted.
 *
 * @module
 */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { onTestFinished } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import type { HttpOptions } from '../../src/adapters/options.ts'
import type { EventType, RepriseEvent } from '../../src/engine/events.ts'
import { createReprise, type Reprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import type { KeyRecord } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { type RawRequest, type RawResponse, sendRaw } from './raw-http.ts'

export type { Request, Response }
export type RouteOptions = Partial<HttpOptions<Request, never>>

/** The account that a request names. */
export function caller(request: Request): string {
  return request.get('X-Account') ?? 'acct_1'
}

/** A server that is up. */
export interface Server {
  readonly port: number
  send(request: RawRequest): Promise<RawResponse>
  /** Takes no more connections and closes those that are idle, as on SIGTERM. */
  stop(): void
}

/** Has an app listen until the test is over. */
export async function serve(mount: (app: Express) => void): Promise<Server> {
  const app = express()
  mount(app)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo
  return {
    port,
    send: (request) => sendRaw(port, request),
    stop: () => void server.close(),
  }
}

/** What a charge is answered with. */
export type Handle = (request: Request, response: Response) => unknown

/** Settings of {@link serveCharges}. */
export interface ChargesOptions extends RouteOptions {
  /**
   * The protection, where it is not the one made here of the other options.
   *
   * @default over a memory store
   */
  readonly protect?: RequestHandler
  /** Settings of the engine made here. */
  readonly engine?: Partial<RepriseOptions>
  /**
   * Does the charge.
   *
   * @default counts it and answers 201 with its number
   */
  readonly handle?: Handle
  /**
   * What the paths begin with.
   *
   * @default ''
   */
  readonly prefix?: string
  /** What stands before the protection, and between it and the handler. */
  readonly before?: readonly RequestHandler[]
  readonly after?: readonly RequestHandler[]
}

/** The API with what the test can see of it. */
export interface Charges extends Server {
  readonly reprise: Reprise
  /** Resolves when the engine has told of such an event. */
  happened(type: EventType): Promise<void>
  /** How often the handler ran. */
  runs(): number
  /** What is stored. */
  records(): Promise<readonly KeyRecord[]>
}

/** Serves `/charges`, `/charges/:id` and `/refunds`, for every method. */
export async function serveCharges(options: ChargesOptions = {}): Promise<Charges> {
  const { engine, handle, prefix = '', before = [], after = [], protect: _, ...route } = options
  const store = engine?.store ?? memoryStore()
  const happened = new Set<EventType>()
  let wake = () => {}
  const onEvent = ({ type }: RepriseEvent) => {
    happened.add(type)
    wake()
  }
  const reprise = createReprise({ onEvent, ...engine, store })
  const protect = options.protect ?? idempotent(reprise, { caller, ...route })
  let runs = 0

  const charge = async (request: Request, response: Response) => {
    runs++
    if (handle === undefined) response.status(201).json({ id: `ch_${runs}` })
    else await handle(request, response)
  }
  // Express 5 takes care of a promise that is rejected.
  const handlers = [...before, protect, ...after, charge]
  const server = await serve((app) => {
    for (const path of ['/charges', '/charges/:id', '/refunds']) {
      app.all(prefix + path, ...handlers)
    }
  })
  return {
    ...server,
    ...{ reprise, runs: () => runs },
    async happened(type) {
      while (!happened.has(type)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    async records() {
      const { records } = await store.list({ limit: 1000 })
      return records.map(({ record }) => record)
    },
  }
}

/** The first answer, then the answer to the same request again. */
export async function twice(charges: Charges): Promise<readonly [RawResponse, RawResponse]> {
  const first = await charges.send({ key: 'k' })
  return [first, await charges.send({ key: 'k' })]
}
