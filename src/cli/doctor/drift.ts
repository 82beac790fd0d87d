/**
 * Compares the schema with what the migrations make: these are run into a schema that is rolled back,
 * and the catalogues of both are held side by side.
 *
 * @module
 */

import type { Call, Session, Value } from '../../stores/postgres/client.ts'
import { migrations } from '../../stores/postgres/migrations/index.ts'
import { bookkeeping, statementsOf } from '../../stores/postgres/migrations/script.ts'
import { channelOf, quoted } from '../../stores/postgres/queries.ts'
import type { Database } from '../database.ts'
import { alterColumn, CATALOGUE, makeSchema, PLAIN_PATH, REPAIRS } from '../queries.ts'

/** Something that is not as the migrations make it. */
export interface Drift {
  readonly kind: string
  /** With the table that it belongs to, if any. */
  readonly name: string
  readonly is: 'missing' | 'changed' | 'extra'
  /** What mends it; nothing for what is merely there in addition. */
  readonly repair: readonly string[]
  /** Whether the repair can neither lose data nor fail on what is there. */
  readonly isSafe: boolean
}

interface Item {
  readonly kind: string
  readonly owner: string
  readonly name: string
  /** With `§` in the place of the schema. */
  readonly definition: string
}

/** In the order in which they can be mended. */
const KINDS = ['table', 'type', 'attribute', 'column', 'constraint', 'index', 'function', 'trigger']

/** Kinds that can be put in place without a look at the rows. */
const SAFE_KINDS = new Set(['function', 'trigger', 'table', 'type'])

/**
 * What is not as it should be, in the order in which it can be mended.
 *
 * @param version - the steps up to this one count
 * @throws whatever the database says, such as that the role may not make schemas
 */
export async function findDrift(
  { client, schema }: Database,
  version: number,
  token: string,
): Promise<readonly Drift[]> {
  const scratch = `reprise_doctor_${token.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}`
  const session = await client.begin({ first: call(PLAIN_PATH), isolation: 'read committed' })
  try {
    await session.script(makeSchema(scratch))
    await session.script(bookkeeping(scratch).makeTable)
    for (const { number, sql } of migrations(scratch)) {
      if (number <= version) await session.script(sql)
    }
    const wanted = await catalogue(session, scratch)
    const found = await catalogue(session, schema)
    return compare(wanted, found, schema)
  } finally {
    // The scratch schema was never anywhere but in this transaction.
    await session.rollback()
  }
}

function call(text: string, values: readonly Value[] = []): Call {
  return { statement: { name: '', text }, values }
}

async function catalogue(
  session: Session<unknown>,
  schema: string,
): Promise<ReadonlyMap<string, Item>> {
  const rows = await session.query(call(CATALOGUE, [quoted(schema)]))
  const items = rows.map((row): Item => {
    const [kind = '', owner = '', name = '', definition = ''] = row.map(String)
    return { kind, owner, name: placeless(name, schema), definition: placeless(definition, schema) }
  })
  return new Map(items.map((item) => [`${item.kind} ${item.owner}.${item.name}`, item]))
}

/** The text with `§` wherever the schema's name stands. */
function placeless(text: string, schema: string): string {
  const bare = new RegExp(`\\b${escaped(schema)}\\.`, 'gu')
  return text
    .replaceAll(`${quoted(schema)}.`, '§.')
    .replaceAll(bare, '§.')
    .replaceAll(channelOf(schema), '§channel')
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** The text with the schema's name in the place of `§`. */
function placed(text: string, schema: string): string {
  return text.replaceAll('§channel', channelOf(schema)).replaceAll('§.', `${quoted(schema)}.`)
}

function compare(
  wanted: ReadonlyMap<string, Item>,
  found: ReadonlyMap<string, Item>,
  schema: string,
): readonly Drift[] {
  const gone = new Set(
    [...wanted.values()]
      .filter(({ kind, name }) => kind === 'table' && !found.has(`table .${name}`))
      .map(({ name }) => name),
  )
  const drifts: Drift[] = []
  for (const [id, item] of wanted) {
    const own = found.get(id)
    // What stands in the statement that makes the table comes with the table.
    const comesWithTable = gone.has(item.owner) && ['column', 'constraint'].includes(item.kind)
    if (own?.definition === item.definition || comesWithTable) continue
    const repair = repairOf(item, own, schema).map((text) => placed(text, schema))
    const isIndexGone = item.kind === 'index' && own === undefined
    drifts.push({
      ...{ kind: item.kind, name: nameOf(item), is: own === undefined ? 'missing' : 'changed' },
      ...{ repair, isSafe: SAFE_KINDS.has(item.kind) || isIndexGone },
    })
  }
  for (const [id, item] of found) {
    if (wanted.has(id)) continue
    drifts.push({ kind: item.kind, name: nameOf(item), is: 'extra', repair: [], isSafe: false })
  }
  return drifts.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

function nameOf({ owner, name }: Item): string {
  return owner === '' ? name : `${owner}.${name}`
}

function repairOf(wanted: Item, found: Item | undefined, schema: string): readonly string[] {
  const { kind, owner, name, definition } = wanted
  const isChanged = found !== undefined
  if (kind === 'table' || kind === 'type') return madeBy(kind, name, schema)
  if (kind === 'function') return [definition.trim()]
  if (kind === 'index') return [...(isChanged ? [REPAIRS.dropIndex(name)] : []), definition]
  if (kind === 'trigger') {
    return [...(isChanged ? [REPAIRS.dropTrigger(name, owner)] : []), definition]
  }
  if (kind === 'constraint') {
    const room = isChanged ? [REPAIRS.dropConstraint(name, owner)] : []
    return [...room, REPAIRS.addConstraint(name, owner, definition)]
  }
  return kind === 'column' ? columnRepair(wanted, found) : []
}

/** The statement of the migrations that makes it. */
function madeBy(kind: 'table' | 'type', name: string, schema: string): readonly string[] {
  const made = new RegExp(`^create (unlogged )?${kind} ${escaped(`${quoted(schema)}.${name}`)}\\b`)
  const bare = (text: string) => text.replaceAll(/^\s*--.*\n/gm, '').trim()
  const all = migrations(schema).flatMap(({ sql }) => statementsOf(sql).map(bare))
  return all.filter((text) => made.test(text)).slice(0, 1)
}

interface Column {
  readonly type: string
  readonly isNeeded: boolean
  readonly default: string | null
  readonly identity: string | null
}

function columnRepair(wanted: Item, found: Item | undefined): readonly string[] {
  // As the catalogue's own statement makes it.
  const column = JSON.parse(wanted.definition) as Column
  const at = { table: wanted.owner, column: wanted.name }
  const preset = column.default === null ? '' : ` default ${column.default}`
  const identity = column.identity === null ? '' : ` generated ${column.identity} as identity`
  if (found === undefined) {
    const needed = column.isNeeded ? ' not null' : ''
    return [alterColumn(at, `add column §column ${column.type}${preset}${identity}${needed}`)]
  }
  // The same.
  const own = JSON.parse(found.definition) as Column
  const changes = [
    ...(own.type === column.type ? [] : [`type ${column.type}`]),
    ...(own.default === column.default ? [] : [preset === '' ? 'drop default' : `set${preset}`]),
    ...(own.isNeeded === column.isNeeded ? [] : [`${column.isNeeded ? 'set' : 'drop'} not null`]),
    ...(own.identity === column.identity
      ? []
      : [identity === '' ? 'drop identity' : `add${identity}`]),
  ]
  return changes.map((change) => alterColumn(at, `alter column §column ${change}`))
}
