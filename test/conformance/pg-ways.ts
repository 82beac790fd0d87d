/**
 * What a handler may keep of a connection of `pg`, and use later.
 *
 * @module
 */

import pg from 'pg'
import type { KeptWay } from '../../src/testing/harness.ts'

const EFFECT = 'insert into effects default values'

type Way = (tx: pg.PoolClient) => () => unknown

/** Each adds one effect, on a connection that is not guarded. */
const WAYS: Readonly<Record<string, Way>> = {
  text: (tx) => () => tx.query(EFFECT),
  'a function that was taken from it': (tx) => {
    const { query } = tx
    return () => Reflect.apply(query, tx, [EFFECT])
  },
  values: (tx) => () => tx.query(`${EFFECT} returning $1::int`, [1]),
  config: (tx) => () => tx.query({ text: EFFECT }),
  'a prepared statement': (tx) => () => tx.query({ name: 'kept', text: EFFECT }),
  'a callback': (tx) => () => called((done) => tx.query(EFFECT, done)),
  'a callback after values': (tx) => () =>
    called((done) => tx.query(`${EFFECT} returning $1::int`, [1], done)),
  'a callback in the config': (tx) => () =>
    called((callback) => tx.query({ text: EFFECT, callback } as pg.QueryConfig)),
  'a query object': (tx) => () => {
    const query = tx.query(new pg.Query(EFFECT))
    return new Promise((resolve, reject) => query.on('end', resolve).on('error', reject))
  },
  'the protocol': (tx) => {
    const { connection } = tx as unknown as { connection: { query(text: string): void } }
    return () => connection.query(EFFECT)
  },
  'the socket': (tx) => {
    const { connection } = tx as unknown as { connection: pg.Connection }
    const message = Buffer.from(`Q\0\0\0\0${EFFECT}\0`)
    message.writeInt32BE(message.length - 1, 1)
    return () => connection.stream.write(message)
  },
  'the socket of a property descriptor': (tx) => {
    const found = Object.getOwnPropertyDescriptor(tx, 'connection')?.value as pg.Connection
    return () => found.stream.write(Buffer.from('X\0\0\0\x04'))
  },
  'what a listener is called on': (tx) => {
    let kept = tx
    tx.once(
      'kept' as 'notice',
      function (this: pg.PoolClient) {
        kept = this
      } as never,
    )
    tx.emit('kept')
    return () => kept.query(EFFECT)
  },
  'what adding a listener gives': (tx) => {
    const kept = tx.on('notice', () => {})
    return () => kept.query(EFFECT)
  },
  'its end': (tx) => () => (tx as unknown as pg.Client).end(),
}

/** The ways that are left of a handler's `tx`. */
export async function keepWaysOfPg(tx: pg.PoolClient): Promise<readonly KeptWay[]> {
  return Object.entries(WAYS).map(([name, keep]) => {
    const use = keep(tx)
    return { name, addEffect: async () => use() }
  })
}

function called(issue: (done: (error: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    issue((error) => (error ? reject(error) : resolve()))
  })
}
