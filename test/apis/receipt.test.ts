/** The receipt of a ride, from the request to the mailbox. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { createRides, ridesSchema } from '../../examples/rides/index.ts'
import type { Mailer } from '../../examples/rides/receipt.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { freshKey, serveApi } from './api.ts'
import { startProvider } from './provider.ts'

/** A mail server that keeps what it gets, and a mailer for it. */
async function startMail(): Promise<{
  readonly mailer: Mailer
  readonly mails: readonly string[]
}> {
  const mails: string[] = []
  const smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS'] },
    onData(stream, _, done) {
      let mail = ''
      stream.on('data', (chunk: Buffer) => {
        mail += chunk.toString()
      })
      stream.on('end', () => {
        mails.push(mail)
        done()
      })
    },
  })
  await once(smtp.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => new Promise<void>((resolve) => smtp.close(() => resolve())))
  // A server on a port has an address of this kind.
  const { port } = smtp.server.address() as AddressInfo
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
  onTestFinished(() => transport.close())
  const from = 'rides@example.com'
  const mailer: Mailer = {
    send: ({ id, ...message }) =>
      transport.sendMail({ from, ...message, messageId: `<${id}@rides.example>` }),
  }
  return { mailer, mails }
}

test('the receipt is sent over SMTP, under the id of its job however often', async () => {
  const { mailer, mails } = await startMail()
  const provider = await startProvider()
  onTestFinished(() => provider.close())
  const { stripe } = provider
  const api = await serveApi((context) => createRides(context, { stripe, mailer }), ridesSchema)
  onTestFinished(() => api.close())
  const { headers } = await api.send('/rides', {
    method: 'POST',
    headers: { authorization: 'user@example.com', 'idempotency-key': freshKey() },
    body: { origin_lat: 0, origin_lon: 0, target_lat: 1, target_lon: 1 },
  })
  const { rows } = await api.pool.query<{ id: string }>(
    'select job_id as id from reprise.staged_jobs',
  )

  const seen: string[] = []
  const workers = createWorkers(api.reprise, {
    sink: functionSink(async (job) => {
      seen.push(job.id)
      const send = api.created.jobs[job.name]
      // Twice, as a crash between the mail and the commit would have it.
      await send?.(job)
      await send?.(job)
    }),
  })
  await workers.enqueuer?.runOnce()

  expect(seen).toEqual([rows[0]?.id])
  expect(mails).toHaveLength(2)
  for (const mail of mails) {
    expect(mail).toContain(`Message-ID: <${rows[0]?.id}@rides.example>`)
    expect(mail).toContain('To: user@example.com')
    expect(mail).toContain(`ride ${headers.get('location')?.split('/')[2]}`)
    expect(mail).toContain('20.00 USD')
  }
  expect(await api.count('reprise.staged_jobs')).toBe(0)
})
