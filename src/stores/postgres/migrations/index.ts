import type { Migration } from '../../migration.ts'
import { channelOf, quoted } from '../queries.ts'
import { records } from './0001-records.ts'
import { transactions } from './0002-transactions.ts'
import { work } from './0003-work.ts'
import { letters } from './0004-letters.ts'
import { stats } from './0005-stats.ts'
import { admin } from './0006-admin.ts'
import { fewerIndexes } from './0007-fewer-indexes.ts'
import { quota } from './0008-quota.ts'
import { firstStatement } from './0009-first-statement.ts'
import { cheaperBegin } from './0010-cheaper-begin.ts'
import { outlasted } from './0011-outlasted.ts'
import { cheaperEnds } from './0012-cheaper-ends.ts'
import { editions } from './0013-editions.ts'
import { keptAnswers } from './0014-kept-answers.ts'
import { lookAfterLocks } from './0015-look-after-locks.ts'
import { noJson } from './0016-no-json.ts'

/** Every step of the schema, in order. */
export function migrations(schema: string): readonly Migration[] {
  const first = [records, transactions, work, letters, stats, admin]
  const later = [fewerIndexes, quota, firstStatement, cheaperBegin, outlasted, cheaperEnds]
  const latest = [editions, keptAnswers, lookAfterLocks, noJson]
  return [...first, ...later, ...latest].map((step) => ({ ...step, sql: placed(step.sql, schema) }))
}

/** The steps are written for the schema `reprise`, so that they read as what they do. */
function placed(sql: string, schema: string): string {
  return sql
    .replaceAll(/\breprise\./g, () => `${quoted(schema)}.`)
    .replaceAll('reprise_channel', channelOf(schema))
}
