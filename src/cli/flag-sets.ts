/**
 * The flags that many commands share.
 *
 * @module
 */

import { userInfo } from 'node:os'
import type { Flag } from './command.ts'

/** Every command has these. */
export const GLOBAL_FLAGS: readonly Flag[] = [
  { name: 'help', short: 'h', type: 'switch', summary: 'Show this help' },
  {
    ...{ name: 'json', type: 'switch', summary: 'Print one JSON document' },
    env: ['REPRISE_JSON'],
  },
  {
    ...{ name: 'config', type: 'text', value: '<file>', env: ['REPRISE_CONFIG'] },
    summary: 'Configuration file',
  },
  {
    ...{ name: 'no-input', type: 'switch', summary: 'Never ask; fail instead' },
    env: ['REPRISE_NO_INPUT', 'CI'],
  },
  {
    ...{ name: 'color', type: 'choice', choices: ['auto', 'always', 'never'], default: 'auto' },
    ...{ value: '<when>', summary: 'Colours: auto, always, never', env: ['REPRISE_COLOR'] },
  },
  {
    ...{ name: 'verbose', type: 'switch', summary: 'Show stacks of errors' },
    env: ['REPRISE_VERBOSE'],
  },
]

/** How the database is reached. */
export const DATABASE_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'database-url', type: 'text', value: '<url>', config: 'databaseUrl' },
    ...{ summary: 'PostgreSQL to use', env: ['REPRISE_DATABASE_URL', 'DATABASE_URL'] },
    isSecret: true,
  },
  {
    ...{ name: 'schema', type: 'text', value: '<name>', config: 'schema', default: 'reprise' },
    ...{ summary: 'Schema of the tables', env: ['REPRISE_SCHEMA'] },
  },
  {
    ...{ name: 'driver', type: 'choice', choices: ['pg', 'postgres'], value: '<name>' },
    ...{ config: 'driver', summary: 'pg or postgres', env: ['REPRISE_DRIVER'] },
  },
  {
    ...{ name: 'connect-timeout', type: 'duration', value: '<time>', default: '10s' },
    ...{ config: 'connectTimeout', summary: 'Give up connecting after' },
    env: ['REPRISE_CONNECT_TIMEOUT'],
  },
]

/** How lists are printed. */
export const FORMAT_FLAG: Flag = {
  ...{ name: 'output', short: 'o', type: 'choice', choices: ['table', 'json', 'ids'] },
  ...{ value: '<format>', default: 'table', summary: 'table, json or ids (for xargs)' },
  env: ['REPRISE_OUTPUT'],
}

/** Who acts, why, and that it is meant. */
export const ORDER_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'reason', short: 'm', type: 'text', value: '<text>' },
    ...{ summary: 'Why; kept in the audit', env: ['REPRISE_REASON'] },
  },
  {
    ...{ name: 'author', type: 'text', value: '<name>', env: ['REPRISE_AUTHOR'] },
    ...{ summary: 'Who; kept in the audit', config: 'author', default: userName() },
  },
  { name: 'yes', short: 'y', type: 'switch', summary: 'Do it without asking' },
]

/** Where a server listens. */
export const SERVER_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'host', type: 'text', value: '<address>', default: '127.0.0.1', config: 'host' },
    ...{ summary: 'Address to listen on', env: ['REPRISE_HOST'] },
  },
  {
    ...{ name: 'no-retry', type: 'switch', env: ['REPRISE_NO_RETRY'] },
    summary: 'End with 5 when the store is down',
  },
]

/** Who may see a dashboard, and what they may do. */
export const DASHBOARD_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'token', type: 'text', value: '<password>', isSecret: true },
    ...{ summary: 'Ask for this password, 8 characters or more', env: ['REPRISE_TOKEN'] },
  },
  { name: 'read-only', type: 'switch', summary: 'Nobody can change anything' },
  { name: 'open', type: 'switch', summary: 'Open it in the browser' },
]

/** The flag for a port. */
export function portFlag(port: number): Flag {
  return {
    ...{ name: 'port', short: 'p', type: 'whole', value: '<port>', default: String(port) },
    ...{ summary: 'Port; the next free one if not given', env: ['REPRISE_PORT'], config: 'port' },
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that has no name.
    return 'cli'
  }
}
