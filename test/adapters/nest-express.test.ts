import { describeAdapter } from './describe.ts'
import { describeBroken, describeDifferential } from './differential.ts'
import { nestHarness, serveShapes } from './nest-app.ts'
import { nestBroken, nestShapes } from './nest-shapes.ts'

describeAdapter('NestJS on Express', nestHarness('express'))

describeDifferential('NestJS on Express', {
  shapes: nestShapes,
  serve: (isProtected) => serveShapes('express', nestShapes, isProtected),
})

describeBroken('NestJS on Express', {
  shapes: nestBroken,
  serve: () => serveShapes('express', nestBroken, true),
})
