/**
 * Workflows, on NestJS: a run and its entry in the organisation's usage commit together, once.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import {
  All,
  Body,
  Controller,
  type DynamicModule,
  Get,
  Header,
  Inject,
  MethodNotAllowedException,
  Module,
  NotFoundException,
  Param,
  Post,
  Req,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Request } from 'express'
import { workflows } from 'reprise/dialects'
import { IdempotencyModule, Idempotent } from 'reprise/nest'
import { queriesOf } from '../common/queries.ts'
import type { ExampleContext } from '../server/context.ts'
import { errorPagesUrl } from '../server/error-pages.ts'
import {
  Authentication,
  ErrorFilter,
  nameRequest,
  ObjectPipe,
  organisationOf,
  requestIdOf,
} from './http.ts'

export { workflowsSchema } from './schema.ts'

/** How runs are protected. */
export const workflowsPolicy = {
  ...{ dialect: workflows, transaction: true, required: false },
  ...{ caller: organisationOf, requestId: requestIdOf },
} as const

/** Token of what the server gives. */
const CONTEXT = Symbol('context')

/** A run as clients see it. */
const RUN = 'id, workflow_id, status, input, created_at'

@Controller('api/workflows/:id')
@UseGuards(Authentication)
class Runs {
  readonly #context: ExampleContext

  constructor(@Inject(CONTEXT) context: ExampleContext) {
    this.#context = context
  }

  @Post('start')
  @Idempotent()
  async start(@Req() req: Request, @Param('id') id: string, @Body(ObjectPipe) input: object) {
    const { faults, pool } = this.#context
    faults.reach('after-claim')
    await faults.before()
    const sql = `
      with billed as (
        insert into organisations (name, runs) values ($1, 1)
        on conflict (name) do update set runs = organisations.runs + 1
        returning name)
      insert into runs (organisation, workflow_id, input) select name, $2, $3 from billed
      returning ${RUN}`
    const values = [organisationOf(req), workflowId(id), JSON.stringify(input)]
    const { rows } = await queriesOf(req, pool).query(sql, values)
    faults.after()
    faults.reach('before-commit')
    return rows[0]
  }

  @Get('runs')
  async list(@Req() req: Request, @Param('id') id: string) {
    const sql = `
      select ${RUN} from runs where organisation = $1 and workflow_id = $2
      order by created_at, id`
    const { rows } = await this.#context.pool.query(sql, [organisationOf(req), workflowId(id)])
    return { results: rows }
  }

  @All('start')
  @Header('Allow', 'POST')
  notStarted() {
    throw new MethodNotAllowedException('Possible here: POST.')
  }

  @All('runs')
  @Header('Allow', 'GET')
  notListed() {
    throw new MethodNotAllowedException('Possible here: GET.')
  }
}

@Controller('api/usage')
@UseGuards(Authentication)
class Usage {
  readonly #context: ExampleContext

  constructor(@Inject(CONTEXT) context: ExampleContext) {
    this.#context = context
  }

  @Get()
  async read(@Req() req: Request) {
    const sql = 'select runs::float8 from organisations where name = $1'
    const { rows } = await this.#context.pool.query(sql, [organisationOf(req)])
    return { runs: rows[0]?.runs ?? 0 }
  }

  @All()
  @Header('Allow', 'GET')
  notRead() {
    throw new MethodNotAllowedException('Possible here: GET.')
  }
}

@Module({ controllers: [Runs, Usage] })
class App {
  static with(context: ExampleContext): DynamicModule {
    const { reprise } = context
    const docsUrl = errorPagesUrl(context.url, 'workflows')
    const idempotency = IdempotencyModule.forRoot<Request>({ reprise, ...workflowsPolicy, docsUrl })
    const providers = [{ provide: CONTEXT, useValue: context }]
    return { module: App, imports: [idempotency], providers }
  }
}

/** Serves `/api/workflows` and `/api/usage`. */
export async function createWorkflows(context: ExampleContext): Promise<RequestListener> {
  const app = await NestFactory.create(App.with(context), { logger: false, abortOnError: false })
  app.use(nameRequest)
  app.useGlobalFilters(new ErrorFilter(context))
  await app.init()
  return app.getHttpAdapter().getInstance()
}

/** Any name will do; what can be none is no workflow. */
function workflowId(id: string): string {
  if (/^[\w.:-]{1,100}$/.test(id)) return id
  throw new NotFoundException(`There is no workflow ${id}.`)
}
