/**
 * The versions of other packages that Reprise works with: the one table of them. `docs/versions.md`
 * shows it, and a test holds the two together.
 *
 * The manifest asks for no version, so that the package can be installed beside any. Whoever is handed
 * a client, an app or a queue tells by what it has whether it can work, and refuses it if not. A row that
 * something is refused by stands for itself, so that a bundle has the rows of what it uses and no others.
 *
 * @module
 */

import { VERSION_UNSUPPORTED } from './error-table.ts'
import { RepriseError } from './errors.ts'

/** A package, and the versions of it that work. */
export interface SupportedPackage {
  /** Its name on npm. */
  readonly name: string
  /** The oldest version that was seen to work; all later ones do, as far as they are known. */
  readonly least: string
  /** What of Reprise it is for. */
  readonly use: string
}

/** `fastify` */
export const FASTIFY: SupportedPackage = { name: 'fastify', least: '3.29', use: 'reprise/fastify' }
/** `hono` */
export const HONO: SupportedPackage = { name: 'hono', least: '3.12', use: 'reprise/hono' }
/** `pg` */
export const PG: SupportedPackage = { name: 'pg', least: '8.0.3', use: 'reprise/postgres' }
/** `postgres` */
export const POSTGRES_JS: SupportedPackage = {
  name: 'postgres',
  least: '3.0',
  use: 'reprise/postgres',
}
/** `@electric-sql/pglite` */
export const PGLITE: SupportedPackage = {
  name: '@electric-sql/pglite',
  least: '0.2',
  use: 'reprise/postgres',
}
/** `redis` */
export const NODE_REDIS: SupportedPackage = { name: 'redis', least: '4.7', use: 'reprise/redis' }
/** `pg-boss` */
export const PG_BOSS: SupportedPackage = {
  name: 'pg-boss',
  least: '10.4',
  use: 'reprise/sinks/pg-boss',
}
/** `axios` */
export const AXIOS: SupportedPackage = {
  name: 'axios',
  least: '0.27',
  use: 'reprise/client/axios',
}

/** Every package there is, in the order of the page. */
export const SUPPORTED: readonly SupportedPackage[] = [
  { name: 'express', least: '3.21', use: 'reprise/express' },
  FASTIFY,
  HONO,
  { name: 'koa', least: '2.16', use: 'reprise/koa' },
  { name: '@nestjs/common', least: '8.4', use: 'reprise/nest' },
  PG,
  POSTGRES_JS,
  PGLITE,
  { name: 'drizzle-orm', least: '0.28', use: 'reprise/postgres/drizzle' },
  { name: 'knex', least: '1.0', use: 'reprise/postgres/knex' },
  { name: 'kysely', least: '0.24', use: 'reprise/postgres/kysely' },
  { name: '@prisma/client', least: '7.10', use: 'reprise/postgres/prisma' },
  { name: 'typeorm', least: '0.3', use: 'reprise/postgres/typeorm' },
  NODE_REDIS,
  { name: 'ioredis', least: '3.2', use: 'reprise/redis' },
  { name: 'better-sqlite3', least: '8.4', use: 'reprise/sqlite' },
  { name: 'libsql', least: '0.3', use: 'reprise/sqlite' },
  { name: 'bullmq', least: '3.16', use: 'reprise/sinks/bullmq' },
  PG_BOSS,
  { name: 'graphile-worker', least: '0.12', use: 'reprise/sinks/graphile-worker' },
  { name: 'amqplib', least: '0.5', use: 'reprise/sinks/rabbitmq' },
  { name: '@nats-io/jetstream', least: '3.4', use: 'reprise/sinks/nats' },
  AXIOS,
  { name: 'ky', least: '0.28', use: 'reprise/client/ky' },
  { name: '@opentelemetry/api', least: '1.0', use: 'reprise/telemetry' },
]

/**
 * The error for a version that can not work.
 *
 * @param found - the version that is there: its number, or what it was told by
 */
export function unsupported({ name, least, use }: SupportedPackage, found: string): RepriseError {
  const detail = `${use} was given ${name} ${found}; it works with ${name} ${least} and later`
  return new RepriseError(VERSION_UNSUPPORTED, detail)
}
