/**
 * The adapter sets metadata of NestJS without loading it: what it sets has to be what Nest's own decorators set.
 *
 * @module
 */

import {
  applyDecorators,
  type DynamicModule,
  Inject,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common'
import { expect, expectTypeOf, test } from 'vitest'
import {
  IdempotencyInterceptor,
  type IdempotencyModule,
  Idempotent,
} from '../../src/adapters/nest.ts'
import { ROUTE, SETTINGS } from '../../src/adapters/nest-interceptor.ts'
import { injectFirst, setMetadata, useInterceptor } from '../../src/adapters/nest-metadata.ts'

class Interceptor {
  readonly name = 'interceptor'
}

class Another {
  readonly name = 'another'
}

/** All metadata of a class or method, by its keys. */
function allOf(target: object): Record<string, unknown> {
  // Nest has loaded reflect-metadata, whose types are not loaded here.
  const { getMetadataKeys, getMetadata } = Reflect as unknown as {
    getMetadataKeys(target: object): string[]
    getMetadata(key: string, target: object): unknown
  }
  return Object.fromEntries(getMetadataKeys(target).map((key) => [key, getMetadata(key, target)]))
}

function aClass(): new () => object {
  return class {
    readonly name = 'a class'
  }
}

test('a provider for the constructor is what @Inject() sets', () => {
  const [ours, nests] = [aClass(), aClass()]
  injectFirst(SETTINGS, ours)
  Inject(SETTINGS)(nests, undefined, 0)
  expect(allOf(nests)).not.toEqual({})
  expect(allOf(ours)).toEqual(allOf(nests))
})

test.each(['class', 'method'] as const)(
  'a route of a %s is what @SetMetadata() and @UseInterceptors() set',
  (kind) => {
    const handlers = [() => 'ours', () => 'nests'] as const
    const classes = [aClass(), aClass()] as const
    const [ours, nests] = kind === 'class' ? classes : handlers
    const decorator = applyDecorators(
      SetMetadata(ROUTE, { required: true }),
      UseInterceptors(Another, Interceptor),
    )
    if (kind === 'class') decorator(nests)
    else decorator({}, 'create', { value: nests })

    setMetadata(ROUTE, { required: true }, ours)
    useInterceptor(Another, ours)
    useInterceptor(Interceptor, ours)
    expect(allOf(ours)).toEqual(allOf(nests))
  },
)

test('Idempotent() keeps the interceptors that are there', () => {
  const target = aClass()
  UseInterceptors(Interceptor)(target)
  Idempotent()(target)
  const [first, second] = allOf(target)['__interceptors__'] as (typeof IdempotencyInterceptor)[]
  expect(first).toBe(Interceptor)
  expect(second?.prototype).toBeInstanceOf(IdempotencyInterceptor)
})

test('without reflect-metadata the decorator says what is missing', () => {
  const descriptor = Object.getOwnPropertyDescriptor(Reflect, 'defineMetadata')
  if (descriptor === undefined) throw new Error('Nest has not loaded reflect-metadata.')
  Reflect.deleteProperty(Reflect, 'defineMetadata')
  try {
    expect(() => Idempotent()(aClass())).toThrow('import @nestjs/common before')
  } finally {
    Object.defineProperty(Reflect, 'defineMetadata', descriptor)
  }
})

test('the types are those of Nest', () => {
  expectTypeOf<IdempotencyInterceptor>().toExtend<NestInterceptor>()
  expectTypeOf<ReturnType<typeof IdempotencyModule.forRoot>>().toExtend<DynamicModule>()
})
