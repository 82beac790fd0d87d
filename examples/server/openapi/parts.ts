/**
 * What the descriptions of the five APIs are put together from.
 *
 * @module
 */

import { describeOperation, openApiFragment } from 'reprise/openapi'
import { z } from 'zod'
import { ENGINE } from '../engine.ts'

/** JSON Schema, as far as it is used here. */
export type Schema = Readonly<Record<string, unknown>>

/** A response of an operation. */
export interface ResponseSpec {
  readonly description: string
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

/** An operation as OpenAPI has it. */
export interface OperationSpec {
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: readonly Schema[]
  readonly parameters?: readonly unknown[]
  readonly requestBody?: Schema
  readonly responses: Readonly<Record<string, ResponseSpec>>
}

/** Operations by path and method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, OperationSpec>>>>

/** What one API adds to the document. */
export interface ApiDescription {
  readonly tag: { readonly name: string; readonly description: string }
  readonly paths: Paths
  readonly securitySchemes: Readonly<Record<string, Schema>>
  readonly schemas: Readonly<Record<string, Schema>>
}

/** An object with these members, some of them required. */
export function object(properties: Schema, required: readonly string[] = []): Schema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/** Text of so many characters. */
export function textOf(maxLength: number): Schema {
  return { type: 'string', minLength: 1, maxLength }
}

/** A response with a JSON body. */
export function answer(description: string, schema: Schema): ResponseSpec {
  return { description, content: { 'application/json': { schema } } }
}

/** A request body, JSON unless other types are named. */
export function bodyOf(schema: Schema, types: readonly string[] = ['application/json']): Schema {
  return {
    required: true,
    content: Object.fromEntries(types.map((type) => [type, { schema }])),
  }
}

/** A part of the path. */
export function inPath(name: string): Schema {
  return { name, in: 'path', required: true, schema: { type: 'string' } }
}

/** What a request is checked by, as a schema. */
export function schemaOf(type: z.ZodType): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: 'input' })
  return schema
}

type Policy<Req> = Parameters<typeof openApiFragment<Req>>[0]

/**
 * Adds to operations what their idempotency brings: the header, the replay marker, the refusals; from
 * the very options that the API runs with.
 */
export function withKeys<Req>(policy: Policy<Req>) {
  const fragment = openApiFragment(policy, ENGINE)
  const schemas = Object.entries(fragment.components.schemas)
  return {
    schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, { ...schema }])),
    keyed: (operation: OperationSpec): OperationSpec => describeOperation(operation, fragment),
  }
}
