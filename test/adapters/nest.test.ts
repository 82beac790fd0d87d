import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  type NestInterceptor,
  ParseIntPipe,
  Post,
  Req,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { map, Observable } from 'rxjs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  IdempotencyInterceptor,
  IdempotencyModule,
  Idempotent,
  type NestOptions,
  runOf,
} from '../../src/adapters/nest.ts'
import { keyAge } from '../../src/engine/key-age.ts'
import { createReprise, type Reprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { appModule, createApp, decorate, listen, type NestApp, type Platform } from './nest-app.ts'

let reprise: Reprise
let app: NestApp
let port: number
let runs: number

beforeEach(() => {
  reprise = createReprise({ store: memoryStore() })
  runs = 0
})

afterEach(async () => {
  await app.close()
  await reprise.close({ graceMs: 0 })
})

/** A controller of one route, `POST /orders`. */
function orders(
  handler: (...args: never[]) => unknown,
  decorators: Parameters<typeof decorate>[2],
  ofClass: readonly ClassDecorator[] = [],
): Type {
  class Orders {
    create(...args: never[]): unknown {
      runs++
      return handler(...args)
    }
  }
  decorate(Orders, 'create', [Post('orders'), ...decorators])
  for (const decorator of [Controller(), ...ofClass]) decorator(Orders)
  return Orders
}

async function serve(
  platform: Platform,
  controller: Type,
  options: Partial<NestOptions<unknown>> = {},
): Promise<void> {
  const module = IdempotencyModule.forRoot({ reprise, caller: () => 'acct_1', ...options })
  app = await createApp(platform, appModule([controller], [module]))
  port = await listen(app)
}

function post(body: unknown = {}, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'key-1', ...headers },
    body: JSON.stringify(body),
  })
}

const isReplay = ({ headers }: Response) => headers.get('idempotent-replayed') === 'true'

describe.each(['express', 'fastify'] as const)('@Idempotent() on %s', (platform) => {
  test('lets guards refuse first, which leaves the key free', async () => {
    const guard: CanActivate = {
      canActivate: (context: ExecutionContext) =>
        context.switchToHttp().getRequest().headers.authorization === 'me',
    }
    await serve(
      platform,
      orders(() => 'made', [Idempotent(), UseGuards(guard)]),
    )
    expect((await post({ a: 1 })).status).toBe(403)
    const allowed = await post({ a: 2 }, { authorization: 'me' })
    expect([allowed.status, isReplay(allowed)]).toEqual([201, false])
    expect((await post({ a: 2 })).status).toBe(403)
    expect(runs).toBe(1)
  })

  test('frees the key of a body that a pipe refuses', async () => {
    const handler = (amount: number) => ({ amount })
    await serve(platform, orders(handler, [Idempotent(), [Body('amount', ParseIntPipe)]]))
    expect((await post({ amount: 'much' })).status).toBe(400)
    expect(await (await post({ amount: '5' })).json()).toEqual({ amount: 5 })
    expect(runs).toBe(1)
  })

  test('keeps what interceptors made of the value, and does not ask them again', async () => {
    let calls = 0
    const wrapping: NestInterceptor = {
      intercept: (_context, next) =>
        next.handle().pipe(map((data: unknown) => ({ data, call: ++calls }))),
    }
    const decorators = [UseInterceptors(wrapping), Idempotent(), UseInterceptors(wrapping)]
    await serve(
      platform,
      orders(() => 1, decorators),
    )
    const first = await post()
    const again = await post()
    expect(isReplay(again)).toBe(true)
    expect(await again.json()).toEqual(await first.json())
    expect(calls).toBe(2)
  })

  test('takes what the method says over what its class says, and protects once', async () => {
    const method = Idempotent({ methods: ['POST'] })
    const ofClass = Idempotent({ required: true, methods: ['PUT'] })
    await serve(
      platform,
      orders(() => 'made', [method], [ofClass]),
    )
    const keyless = await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST' })
    expect([keyless.status, runs]).toEqual([400, 0])
    expect((await post()).status).toBe(201)
    expect(isReplay(await post())).toBe(true)
  })

  test('takes settings that other providers make, for modules that do not import it', async () => {
    const module = IdempotencyModule.forRootAsync({
      useFactory: async () => ({ reprise, caller: () => 'acct_1' }),
    })
    const feature = appModule([orders(() => 'made', [Idempotent()])], [])
    app = await createApp(platform, appModule([], [module, feature]))
    port = await listen(app)
    await post()
    expect(isReplay(await post())).toBe(true)
    expect(runs).toBe(1)
  })

  test('gives the handler its run', async () => {
    const handler = (request: object) => runOf(request)?.release()
    await serve(platform, orders(handler, [Idempotent(), [Req()]]))
    await post()
    expect(isReplay(await post())).toBe(false)
    expect(runs).toBe(2)
  })

  test('has an observable go on when its client has gone', async () => {
    let give: (value: string) => void = () => {}
    let begun: () => void = () => {}
    const began = new Promise<void>((resolve) => {
      begun = resolve
    })
    const handler = () =>
      new Observable<string>((subscriber) => {
        give = (value) => {
          subscriber.next(value)
          subscriber.complete()
        }
        begun()
      })
    await serve(platform, orders(handler, [Idempotent()]))
    const socket = connect(port, '127.0.0.1')
    const head = 'POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: key-1\r\n'
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`)
    await began
    socket.resetAndDestroy()
    // The reset is there; after some turns the server has seen it.
    for (let turn = 0; turn < 8; turn++) await nextTurn()
    give('made')
    const again = await post({}, { prefer: 'wait=10' })
    expect([isReplay(again), await again.text()]).toEqual([true, 'made'])
    expect(runs).toBe(1)
  })

  test.each([
    ['a method', [Idempotent({ methods: [] })], [], /methods is empty/],
    [
      'a typing mistake',
      [Idempotent({ requred: true } as object)],
      [],
      /did you mean `required`\?/,
    ],
    ['a class', [], [Idempotent({ transaction: true })], /the store has no transactions/],
    [
      'both',
      [Idempotent({ keyAge: keyAge({ ageMsMax: 60_001 }) })],
      [Idempotent({ retentionMs: 60_000 })],
      /ageMsMax/,
    ],
  ] as const)(
    'tells at start what %s says that can not work',
    async (_, own, ofClass, sentence) => {
      app = await createApp(platform, appModule([], []))
      const module = IdempotencyModule.forRoot({ reprise, caller: () => 'acct_1' })
      const controller = orders(() => 'made', own, ofClass)
      const broken = async () => {
        await (await createApp(platform, appModule([controller], [module]))).init()
      }
      await expect(broken()).rejects.toThrow(sentence)
    },
  )

  test('tells at start that the module is missing', async () => {
    const module = appModule([orders(() => 'made', [Idempotent()])], [])
    app = await createApp(platform, appModule([], []))
    const broken = async () => {
      await (await createApp(platform, module)).init()
    }
    await expect(broken()).rejects.toThrow(/IdempotencyInterceptor/)
  })
})

test('@Idempotent() tells that it is for HTTP', async () => {
  app = await createApp('express', appModule([], []))
  const interceptor = new IdempotencyInterceptor({ reprise, caller: () => 'acct_1' })
  // Only what is looked at first.
  const context = { getType: () => 'rpc' } as ExecutionContext
  await expect(interceptor.intercept(context, { handle: () => new Observable() })).rejects.toThrow(
    /for HTTP only/,
  )
})
