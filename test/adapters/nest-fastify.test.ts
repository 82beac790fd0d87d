import { describeAdapter } from './describe.ts'
import { describeBroken, describeDifferential } from './differential.ts'
import { nestHarness, serveShapes } from './nest-app.ts'
import { nestBroken, nestShapes } from './nest-shapes.ts'

describeAdapter('NestJS on Fastify', nestHarness('fastify'))

describeDifferential('NestJS on Fastify', {
  shapes: nestShapes,
  serve: (isProtected) => serveShapes('fastify', nestShapes, isProtected),
})

describeBroken('NestJS on Fastify', {
  shapes: nestBroken,
  serve: () => serveShapes('fastify', nestBroken, true),
})
