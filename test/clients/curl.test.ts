import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Charges, serveCharges } from '../behaviour/api.ts'
import { Gate } from '../behaviour/gate.ts'
import { notRun } from '../support/not-run.ts'

const isMissing = !(process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'curl')))

/** What curl prints: `-v` shows the request with `>` and the answer with `<`. */
async function curl({ port }: Charges, ...args: readonly string[]) {
  const own = ['--no-progress-meter', '--verbose', '--noproxy', '*', '--max-time', '20']
  const url = `http://127.0.0.1:${port}/charges`
  const { stdout, stderr } = await promisify(execFile)('curl', [...own, ...args, url])
  const lines = stderr.split(/\r?\n/).filter((line) => line.startsWith('< '))
  const headers = new Map(
    lines.slice(1).map((line): [string, string] => {
      const [name = '', value = ''] = line.slice(2).split(/: (.*)/, 2)
      return [name.toLowerCase(), value]
    }),
  )
  return { status: Number(lines[0]?.split(' ')[2]), headers, body: stdout }
}

const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const charge = (amount: number, key = KEY) => [
  ...['--header', `Idempotency-Key: ${key}`],
  ...['--json', JSON.stringify({ amount })],
]

const suite = { suite: 'test/clients/curl.test.ts', reason: 'curl is not installed' }
describe.skipIf(isMissing && notRun(suite))('curl', () => {
  it('gets the answer, and the same bytes again with the mark of a replay', async () => {
    const charges = await serveCharges()
    const first = await curl(charges, ...charge(100))
    const again = await curl(charges, ...charge(100))

    expect([first.status, first.body]).toEqual([201, '{"id":"ch_1"}'])
    expect(first.headers.get('idempotency-key')).toBe(KEY)
    expect(first.headers.get('idempotent-replayed')).toBeUndefined()
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(charges.runs()).toBe(1)
  })

  it('gets 422 with a problem body for another payload, and can replay the first after it', async () => {
    const charges = await serveCharges()
    await curl(charges, ...charge(100))
    const mismatch = await curl(charges, ...charge(200))

    expect(mismatch.status).toBe(422)
    expect(mismatch.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(mismatch.body)).toMatchObject({
      type: 'urn:reprise:error:idempotency-key-reused',
      code: 'idempotency-key-reused',
    })
    expect((await curl(charges, ...charge(100))).body).toBe('{"id":"ch_1"}')
  })

  it('takes a quoted key for the same as a bare one, and its form data for a body', async () => {
    const charges = await serveCharges()
    const form = ['--data', 'amount=100', '--data', 'currency=chf']
    const header = (key: string) => ['--header', `Idempotency-Key: ${key}`]
    await curl(charges, ...form, ...header('k'))
    const again = await curl(charges, ...form, ...header('"k"'))
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  it('sends it again by itself with --retry until the first is done', async () => {
    const gate = new Gate()
    const charges = await serveCharges({
      async handle(_, response) {
        await gate.pass()
        response.status(201).json('done')
      },
    })
    const first = curl(charges, ...charge(100))
    await gate.reached()
    // Obeys Retry-After; of its own accord it would not retry a 409.
    const second = curl(charges, '--fail', '--retry', '20', '--retry-all-errors', ...charge(100))
    await charges.happened('in_progress')
    gate.open()
    expect((await first).body).toBe('"done"')
    expect((await second).body).toBe('"done"')
    expect(charges.runs()).toBe(1)
  })
})
