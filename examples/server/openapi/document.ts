/**
 * The OpenAPI document of all APIs.
 *
 * @module
 */

import type { ApiSpec } from '../apis.ts'
import { errorPagesUrl } from '../error-pages.ts'
import { agents } from './agents.ts'
import { charges } from './charges.ts'
import type { ApiDescription, Paths, Schema } from './parts.ts'
import { rides } from './rides.ts'
import { tasks } from './tasks.ts'
import { workflows } from './workflows.ts'

/** How each API is described, given where the pages of its errors are. */
const DESCRIPTIONS: Readonly<Record<string, (docsUrl: string) => ApiDescription>> = {
  ...{ tasks, rides, workflows, charges, agents },
}

/** An OpenAPI document, as far as it is used here. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly ApiDescription['tag'][]
  readonly paths: Paths
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, Schema>>
  }
}

/** Describes the APIs that are served at `url`. */
export function documentApis(apis: readonly Pick<ApiSpec, 'name'>[], url: string): OpenApiDocument {
  const described = apis.flatMap(({ name }) => {
    return DESCRIPTIONS[name]?.(errorPagesUrl(url, name)) ?? []
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reprise: the reference server',
      version: '1.0.0',
      description:
        'Five APIs whose requests are safe to send again. Each speaks another dialect of idempotency keys.',
    },
    tags: described.map(({ tag }) => tag),
    paths: Object.assign({}, ...described.map(({ paths }) => paths)),
    components: {
      schemas: Object.assign({}, ...described.map(({ schemas }) => schemas)),
      securitySchemes: Object.assign({}, ...described.map((api) => api.securitySchemes)),
    },
  }
}
