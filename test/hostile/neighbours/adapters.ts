/**
 * The adapters that are tried. Bundled as one module when a mistake is planted in them.
 *
 * @module
 */

import { idempotent as onExpress } from '../../../src/adapters/express.ts'
import { idempotent as onFastify } from '../../../src/adapters/fastify.ts'
import { idempotent as onHono } from '../../../src/adapters/hono.ts'
import { idempotent as onKoa } from '../../../src/adapters/koa.ts'
import { IdempotencyModule, Idempotent } from '../../../src/adapters/nest.ts'

export const adapters = { onExpress, onFastify, onHono, onKoa, IdempotencyModule, Idempotent }
