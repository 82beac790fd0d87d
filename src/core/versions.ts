/**
 * The versions of other packages that Reprise works with: the one table of them. `docs/versions.md`
 * shows it, and a test holds the two together.
 *
 * The manifest asks for no version, so that the package can be installed beside any. Whoever is handed
 * a client, an app or a queue tells by what it has whether it can work, and refuses it if not. Each row
 * stands for itself, so that a bundle has the rows of what it uses and no others.
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

/** `express` */
export const EXPRESS: SupportedPackage = { name: 'express', least: '3.21', use: 'reprise/express' }
/** `fastify` */
export const FASTIFY: SupportedPackage = { name: 'fastify', least: '3.29', use: 'reprise/fastify' }
/** `hono` */
export const HONO: SupportedPackage = { name: 'hono', least: '3.12', use: 'reprise/hono' }
/** `koa` */
export const KOA: SupportedPackage = { name: 'koa', least: '2.16', use: 'reprise/koa' }
/** `@nestjs/common` */
export const NEST: SupportedPackage = { name: '@nestjs/common', least: '8.4', use: 'reprise/nest' }
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
/** `drizzle-orm` */
export const DRIZZLE: SupportedPackage = {
  name: 'drizzle-orm',
  least: '0.28',
  use: 'reprise/postgres/drizzle',
}
/** `knex` */
export const KNEX: SupportedPackage = { name: 'knex', least: '1.0', use: 'reprise/postgres/knex' }
/** `kysely` */
export const KYSELY: SupportedPackage = {
  name: 'kysely',
  least: '0.24',
  use: 'reprise/postgres/kysely',
}
/** `@prisma/client` */
export const PRISMA: SupportedPackage = {
  name: '@prisma/client',
  least: '7.10',
  use: 'reprise/postgres/prisma',
}
/** `typeorm` */
export const TYPEORM: SupportedPackage = {
  name: 'typeorm',
  least: '0.3',
  use: 'reprise/postgres/typeorm',
}
/** `redis` */
export const NODE_REDIS: SupportedPackage = { name: 'redis', least: '4.7', use: 'reprise/redis' }
/** `ioredis` */
export const IOREDIS: SupportedPackage = { name: 'ioredis', least: '3.2', use: 'reprise/redis' }
/** `better-sqlite3` */
export const BETTER_SQLITE: SupportedPackage = {
  name: 'better-sqlite3',
  least: '8.4',
  use: 'reprise/sqlite',
}
/** `libsql` */
export const LIBSQL: SupportedPackage = { name: 'libsql', least: '0.3', use: 'reprise/sqlite' }
/** `bullmq` */
export const BULLMQ: SupportedPackage = {
  name: 'bullmq',
  least: '3.16',
  use: 'reprise/sinks/bullmq',
}
/** `pg-boss` */
export const PG_BOSS: SupportedPackage = {
  name: 'pg-boss',
  least: '10.4',
  use: 'reprise/sinks/pg-boss',
}
/** `graphile-worker` */
export const GRAPHILE_WORKER: SupportedPackage = {
  name: 'graphile-worker',
  least: '0.12',
  use: 'reprise/sinks/graphile-worker',
}
/** `amqplib` */
export const AMQPLIB: SupportedPackage = {
  name: 'amqplib',
  least: '0.5',
  use: 'reprise/sinks/rabbitmq',
}
/** `@nats-io/jetstream` */
export const JETSTREAM: SupportedPackage = {
  name: '@nats-io/jetstream',
  least: '3.4',
  use: 'reprise/sinks/nats',
}
/** `axios` */
export const AXIOS: SupportedPackage = {
  name: 'axios',
  least: '0.27',
  use: 'reprise/client/axios',
}
/** `ky` */
export const KY: SupportedPackage = { name: 'ky', least: '0.28', use: 'reprise/client/ky' }
/** `@opentelemetry/api` */
export const OPENTELEMETRY: SupportedPackage = {
  name: '@opentelemetry/api',
  least: '1.0',
  use: 'reprise/telemetry',
}

/** Every package there is, in the order of the page. */
export const SUPPORTED: readonly SupportedPackage[] = [
  ...[EXPRESS, FASTIFY, HONO, KOA, NEST],
  ...[PG, POSTGRES_JS, PGLITE, DRIZZLE, KNEX, KYSELY, PRISMA, TYPEORM],
  ...[NODE_REDIS, IOREDIS, BETTER_SQLITE, LIBSQL],
  ...[BULLMQ, PG_BOSS, GRAPHILE_WORKER, AMQPLIB, JETSTREAM],
  ...[AXIOS, KY, OPENTELEMETRY],
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
