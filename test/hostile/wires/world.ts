/**
 * What programs on hostile wires share: a database with the effects of requests, which is asked past the
 * wire, and ways to reach the servers through it.
 *
 * @module
 */

import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

/** Where the servers are. */
export interface Servers {
  /** An empty database. */
  readonly postgres: string
  /** Absent where there is none: programs for it are not run. */
  readonly redis: string | undefined
}

/** The first half of an effect of a request. */
export interface EffectRow {
  readonly id: string
  readonly body: string
}

/** What stands in the database under a key. */
export interface Standing {
  readonly effects: readonly EffectRow[]
  /** Effects whose second half is there, each as often as it is. */
  readonly halves: readonly string[]
}

/** The world of programs. */
export class World {
  readonly servers: Servers
  /** Connections that no proxy is before. */
  readonly admin: pg.Pool

  private constructor(servers: Servers) {
    this.servers = servers
    this.admin = new pg.Pool({ connectionString: servers.postgres, max: 4 })
    this.admin.on('error', () => {})
  }

  static async open(servers: Servers): Promise<World> {
    const world = new World(servers)
    await postgresStore(world.admin).ready()
    await world.admin.query(`
      create table effects (id text primary key, key text not null, body text not null);
      create table halves (id text not null, key text not null);
      create index on effects (key);
      create index on halves (key)`)
    return world
  }

  async standing(key: string): Promise<Standing> {
    const [effects, halves] = await Promise.all([
      this.admin.query<EffectRow>('select id, body from effects where key = $1', [key]),
      this.admin.query<{ id: string }>('select id from halves where key = $1', [key]),
    ])
    return { effects: effects.rows, halves: halves.rows.map(({ id }) => id) }
  }

  terminate(pid: number): Promise<unknown> {
    return this.admin.query('select pg_terminate_backend($1, 2000)', [pid])
  }

  async close(): Promise<void> {
    await this.admin.end()
  }
}
