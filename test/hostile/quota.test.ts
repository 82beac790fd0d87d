import { describe, expect, it } from 'vitest'
import { grounds } from '../holes/stores.ts'
import { floodQuota } from './quota.ts'

const KEYS = Number(process.env['REPRISE_FLOOD_KEYS'] ?? 600)
const FLOOD = { keys: KEYS, atOnce: 20, quota: Math.min(1000, KEYS / 10) }
/** A slow machine has a hundred answers in a second. */
const TIMEOUT_MS = 30_000 + KEYS * 10

describe.each(grounds())('a caller with very many keys, on $name', ({ name, make }) => {
  it(
    'has as many run as its quota allows, and nobody else notices',
    async () => {
      const ground = await make()
      try {
        const report = await floodQuota(ground, FLOOD)
        console.info(`quota of ${FLOOD.quota} on ${name}: ${JSON.stringify(report)}`)
        const { sent, ran, refused, records } = report
        expect([sent, ran + refused, records]).toEqual([KEYS, KEYS, ran])
      } finally {
        await ground.dispose?.()
      }
    },
    TIMEOUT_MS,
  )
})
