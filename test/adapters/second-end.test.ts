import { expect, it } from 'vitest'
import { exchangeBytes } from './differential.ts'
import { CLOSE, guarded, post, serving } from './node-world.ts'

it('sends the status of the first end, whatever is assigned before a second one', async () => {
  const { port } = await serving(
    guarded((_, res) => {
      res.on('error', () => {})
      res.statusCode = 500
      res.end('first')
      res.statusCode = 201
      res.end('second')
    }),
  )
  const answer = await exchangeBytes(port, post({ lines: CLOSE }))
  expect(answer).toMatch(/^HTTP\/1.1 500 /)
  expect(answer).toMatch(/first$/)
})
