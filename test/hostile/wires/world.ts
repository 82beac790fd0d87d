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

/** One effect of a request, and whether it is whole. */
export interface EffectRow {
  readonly id: string
  readonly body: string
  /** Rows of its second half. */
  readonly halves: number
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
      create table halves (id text not null);
      create index on effects (key)`)
    return world
  }

  /** The effects that stand under a key. */
  async effects(key: string): Promise<readonly EffectRow[]> {
    const { rows } = await this.admin.query<EffectRow>(
      `select e.id, e.body, (select count(*)::integer from halves h where h.id = e.id) as halves
         from effects e where e.key = $1`,
      [key],
    )
    return rows
  }

  terminate(pid: number): Promise<unknown> {
    return this.admin.query('select pg_terminate_backend($1, 2000)', [pid])
  }

  async close(): Promise<void> {
    await this.admin.end()
  }
}
