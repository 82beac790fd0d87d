/**
 * The shape of JSON values, found from examples: error bodies of dialects are written by functions,
 * and what they write is the only thing that is sure to be true of them.
 *
 * @module
 */

/** A JSON Schema, as far as it is used here. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly minLength?: number
  readonly maxLength?: number
}

/** The narrowest schema of types and members that fits every sample. */
export function inferSchema(samples: readonly unknown[]): JsonSchema {
  const types = [...new Set(samples.map(typeOf))].sort()
  const [type] = types
  const objects = samples.filter(isObject)
  const items = samples.filter(Array.isArray).flat()
  return {
    ...(type === undefined ? {} : { type: types.length === 1 ? type : types }),
    ...(objects.length === 0 ? {} : membersOf(objects)),
    ...(items.length === 0 ? {} : { items: inferSchema(items) }),
  }
}

type JsonObject = Readonly<Record<string, unknown>>

function membersOf(objects: readonly JsonObject[]): Pick<JsonSchema, 'properties' | 'required'> {
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))]
  const having = (name: string) => objects.filter((object) => Object.hasOwn(object, name))
  return {
    properties: Object.fromEntries(
      names.map((name) => [name, inferSchema(having(name).map((object) => object[name]))]),
    ),
    required: names.filter((name) => having(name).length === objects.length),
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
