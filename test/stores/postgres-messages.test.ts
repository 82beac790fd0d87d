import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Call, Value } from '../../src/stores/postgres/client.ts'
import { executions } from '../../src/stores/postgres/clients/pg-messages.ts'

/** What `pg` itself writes for the statements. */
function writtenByPg(calls: readonly Call[], isLast: boolean): Buffer {
  const written: Buffer[] = []
  const stream = Object.assign(new EventEmitter(), {
    ...{ writable: true, write: (bytes: Buffer) => written.push(Buffer.from(bytes)) > 0 },
  })
  // It takes what it writes to, and needs no more of it here.
  const connection = new pg.Connection({ stream } as never)
  for (const { statement, values } of calls) {
    const texts = values.map((value) =>
      value === null || value instanceof Uint8Array ? value : String(value),
    )
    connection.bind({ statement: statement.name, values: texts } as never, false)
    connection.execute(undefined as never, false)
  }
  if (isLast) connection.sync()
  return Buffer.concat(written)
}

function call(name: string, values: readonly Value[]): Call {
  return { statement: { name, text: '' }, values }
}

const anyValue: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
)

const anyCalls = fc.array(
  fc
    .tuple(fc.string({ minLength: 1 }), fc.array(anyValue, { maxLength: 20 }))
    .map(([name, values]) => {
      return call(name.replaceAll('\0', '-'), values)
    }),
  { maxLength: 4 },
)

describe('messages to PostgreSQL', () => {
  it('are byte by byte what pg writes', () => {
    fc.assert(
      fc.property(anyCalls, fc.boolean(), (calls, isLast) => {
        expect(executions(calls, isLast).toString('hex')).toBe(
          writtenByPg(calls, isLast).toString('hex'),
        )
      }),
    )
  })

  it('hold values of any size, and nothing of the ones before', () => {
    const large = [call('large', ['ä'.repeat(2_000_000), Buffer.alloc(3_000_000, 7)])]
    const small = [call('small', ['x', null])]
    const before = executions(small, true)
    expect(executions(large, true).equals(writtenByPg(large, true))).toBe(true)
    expect(executions(small, true)).toEqual(before)
    expect(before.equals(writtenByPg(small, true))).toBe(true)
  })
})
