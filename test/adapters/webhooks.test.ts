import { expect, it } from 'vitest'
import type { KeySource } from '../../src/adapters/options.ts'
import { Guard } from '../../src/adapters/protect.ts'
import { githubDelivery, stripeEvent, svixId } from '../../src/adapters/webhooks.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { type Asked, created, exchangeOf } from './exchange-stub.ts'

const WEBHOOKS: readonly (readonly [
  name: string,
  source: KeySource<unknown>,
  first: Asked,
  again: Asked,
])[] = [
  [
    'Svix',
    svixId,
    { headers: [['svix-id', 'msg_1']] },
    {
      headers: [
        ['svix-id', 'msg_1'],
        ['svix-timestamp', '2'],
      ],
    },
  ],
  [
    'GitHub',
    githubDelivery,
    { headers: [['x-github-delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958']] },
    { headers: [['x-github-delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958']] },
  ],
  [
    'Stripe',
    stripeEvent,
    stripe('{"id":"evt_1","type":"charge.succeeded","pending_webhooks":2}'),
    stripe('{"id":"evt_1","type":"charge.succeeded","pending_webhooks":1}'),
  ],
]

function stripe(body: string): Asked {
  return { headers: [['content-type', 'application/json']], body }
}

for (const [name, key, first, again] of WEBHOOKS) {
  it(`an event of ${name} that is delivered twice has one effect`, async () => {
    const fingerprint = { exclude: ['pending_webhooks'] }
    const guard = new Guard(createReprise({ store: memoryStore() }), {
      ...{ caller: () => name, key, required: true, fingerprint },
    })

    expect(await guard.protect({}, exchangeOf(first), created)).toMatchObject({ kind: 'executed' })
    const result = await guard.protect({}, exchangeOf(again), created)

    expect(result).toMatchObject({ kind: 'answered', response: { status: 201 } })
  })

  it(`a delivery of ${name} without its id is refused`, async () => {
    const guard = new Guard(createReprise({ store: memoryStore() }), {
      ...{ caller: () => name, key, required: true },
    })

    const result = await guard.protect({}, exchangeOf({ headers: [], body: '{}' }), created)

    expect(result).toMatchObject({ kind: 'answered', response: { status: 400 } })
  })
}
