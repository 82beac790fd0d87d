import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Stripe } from 'stripe'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMailer } from '../../examples/server/mailer.ts'
import { createStripe } from '../../examples/server/payments.ts'
import { controlListener } from '../../examples/server/provider/control.ts'
import { Ledger } from '../../examples/server/provider/ledger.ts'
import { Mailbox } from '../../examples/server/provider/mailbox.ts'
import { Provider } from '../../examples/server/provider/provider.ts'
import { freePort } from '../../scripts/servers/guarded.ts'
import { temporaryData } from './reference-server.ts'

const CHARGE = { amount: 2000, currency: 'usd', source: 'tok_visa' } as const

/** The provider and the mailbox, with the official clients. */
async function world(directory?: string) {
  const folder = directory ?? (await temporaryData())
  const [port, smtpPort] = await Promise.all([freePort(), freePort()])
  const host = '127.0.0.1'
  const ledger = await Ledger.open(join(folder, 'ledger.jsonl'))
  const mailbox = await Mailbox.open(join(folder, 'mailbox.jsonl'), { host, port: smtpPort })
  const provider = new Provider(ledger, { host, port })
  await provider.open()
  const close = async () => {
    await provider.close()
    await mailbox.close()
    await ledger.close()
  }
  onTestFinished(() => close().catch(() => {}))
  const stripe = createStripe({ base: `http://${host}:${port}`, key: 'sk_test_1' })
  const mailer = createMailer(`smtp://${host}:${smtpPort}`)
  onTestFinished(() => mailer.close())
  return { folder, ledger, mailbox, provider, stripe, mailer, port, close }
}

const under = (idempotencyKey: string) => ({ idempotencyKey })
const failing = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('It should have failed.'),
    (error: unknown) => error,
  )

describe('the payment provider, through the official SDK', () => {
  test('charges once for a key, and answers the same again', async () => {
    const { stripe, ledger } = await world()
    const first = await stripe.charges.create(CHARGE, under('a'))
    const again = await stripe.charges.create(CHARGE, under('a'))
    expect(again.id).toBe(first.id)
    expect(first.lastResponse.headers['idempotent-replayed']).toBeUndefined()
    expect(again.lastResponse.headers['idempotent-replayed']).toBe('true')
    expect(again.lastResponse.headers['original-request']).toBe(first.lastResponse.requestId)
    expect(ledger.charges).toMatchObject([{ id: first.id, amount: 2000, idempotency_key: 'a' }])
  })

  test('refuses a key that comes with other parameters, or from elsewhere takes it', async () => {
    const { stripe, ledger, port } = await world()
    await stripe.charges.create(CHARGE, under('a'))
    const error = await failing(stripe.charges.create({ ...CHARGE, amount: 1 }, under('a')))
    expect(error).toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
    expect(error).toMatchObject({ statusCode: 400 })
    const other = createStripe({ base: `http://127.0.0.1:${port}`, key: 'sk_test_2' })
    await other.charges.create(CHARGE, under('a'))
    expect(ledger.charges).toHaveLength(2)
  })

  test('refuses a key that is in use', async () => {
    const { stripe, provider, ledger } = await world()
    await provider.turn({ mode: 'slow', slow_ms: 500 })
    // On a busy machine the second may come when the first is done; then it gets the same charge.
    for (let tries = 1; tries <= 20; tries++) {
      const send = () => stripe.charges.create(CHARGE, under(`key ${tries}`))
      const both = await Promise.allSettled([send(), send()])
      expect(ledger.charges).toHaveLength(tries)
      const refused = both.find(({ status }) => status === 'rejected')
      if (refused === undefined) continue
      const reason = { statusCode: 409, code: 'idempotency_key_in_use' }
      expect(refused).toMatchObject({ reason })
      return
    }
    expect.fail('The two never met.')
  })

  test('declines the bad source, and says the same again', async () => {
    const { stripe, ledger } = await world()
    const { id: customer } = await stripe.customers.create({ source: 'tok_chargeCustomerFail' })
    const charge = { amount: 2000, currency: 'usd', customer }
    for (const replayed of [undefined, 'true']) {
      const error = await failing(stripe.charges.create(charge, under('a')))
      expect(error).toBeInstanceOf(Stripe.errors.StripeCardError)
      expect(error).toMatchObject({ statusCode: 402, code: 'card_declined' })
      expect(Object(error).headers['idempotent-replayed']).toBe(replayed)
    }
    expect(ledger.charges).toEqual([])
  })

  test('leaves the key free after a request that is not valid', async () => {
    const { stripe } = await world()
    const error = await failing(stripe.charges.create({ ...CHARGE, amount: -1 }, under('a')))
    expect(error).toMatchObject({ statusCode: 400, param: 'amount' })
    expect((await stripe.charges.create(CHARGE, under('a'))).status).toBe('succeeded')
  })

  test('lists what it charged, in pages, newest first', async () => {
    const { stripe } = await world()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await stripe.charges.create(CHARGE)).id)
    const all = await stripe.charges.list({ limit: 2 }).autoPagingToArray({ limit: 10 })
    expect(all.map(({ id }) => id)).toEqual(ids.reverse())
  })

  test('knows its charges and keys again after it was started again', async () => {
    const before = await world()
    const { id } = await before.stripe.charges.create(CHARGE, under('a'))
    await before.close()
    const after = await world(before.folder)
    const again = await after.stripe.charges.create(CHARGE, under('a'))
    expect(again.id).toBe(id)
    expect(after.ledger.charges).toHaveLength(1)
  })

  test('forgets a line that it could not finish writing', async () => {
    const before = await world()
    await before.stripe.charges.create(CHARGE, under('a'))
    await before.close()
    const file = join(before.folder, 'ledger.jsonl')
    const whole = await readFile(file, 'utf8')
    await writeFile(file, `${whole}{"charge":{"id":"ch_torn"`)
    const after = await world(before.folder)
    expect(after.ledger.charges).toHaveLength(1)
    await after.stripe.charges.create(CHARGE, under('b'))
    await after.close()
    expect((await world(before.folder)).ledger.charges).toHaveLength(2)
  })
})

describe('the switches of the provider', () => {
  test('down refuses connections, until it is up again', async () => {
    const { stripe, provider } = await world()
    await provider.turn({ mode: 'down' })
    const error = await failing(stripe.charges.create(CHARGE, under('a')))
    expect(Object(error).detail).toMatchObject({ code: 'ECONNREFUSED' })
    await provider.turn({ mode: 'fine' })
    expect((await stripe.charges.create(CHARGE, under('a'))).status).toBe('succeeded')
  })

  test.each([
    ['cut-before', 0],
    ['cut-after', 1],
  ])('%s leaves %i charges behind', async (mode, charges) => {
    const { stripe, provider, ledger } = await world()
    await provider.turn({ mode })
    const error = await failing(stripe.charges.create(CHARGE, under('a')))
    expect(error).toBeInstanceOf(Stripe.errors.StripeConnectionError)
    expect(ledger.charges).toHaveLength(charges)
    await provider.turn({ mode: 'fine' })
    await stripe.charges.create(CHARGE, under('a'))
    expect(ledger.charges).toHaveLength(1)
  })

  test('a provider that ignores keys charges twice', async () => {
    const { stripe, provider, ledger } = await world()
    await provider.turn({ honours_keys: false })
    await stripe.charges.create(CHARGE, under('a'))
    await stripe.charges.create(CHARGE, under('a'))
    expect(ledger.charges.map((charge) => charge.idempotency_key)).toEqual(['a', 'a'])
  })

  test('a mode for so many requests ends by itself', async () => {
    const { stripe, provider } = await world()
    await provider.turn({ mode: 'slow', slow_ms: 1, times: 2 })
    await stripe.charges.create(CHARGE)
    expect(provider.switches).toMatchObject({ mode: 'slow', times: 1 })
    await stripe.charges.create(CHARGE)
    expect(provider.switches).toMatchObject({ mode: 'fine', times: null })
  })

  test('are turned and read over the control port, which refuses nonsense', async () => {
    const { ledger, mailbox, provider } = await world()
    const server = createServer(controlListener({ ledger, mailbox, provider }))
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${Object(server.address()).port}`
    const put = (body: string) => fetch(`${url}/switches`, { method: 'PUT', body })

    expect(await (await put('{"mode":"slow","slow_ms":5}')).json()).toMatchObject({ slow_ms: 5 })
    for (const body of ['', '1', '{"mode":"gone"}', '{"slow_ms":-1}', '{"times":0}', '{"x":1}']) {
      expect((await put(body)).status, body).toBe(400)
    }
    expect(await (await fetch(`${url}/switches`)).json()).toMatchObject({ mode: 'slow' })
    expect(await (await fetch(`${url}/ledger`)).json()).toEqual({ charges: [] })
    expect((await fetch(`${url}/nothing`)).status).toBe(404)
  })
})

describe('the mailbox', () => {
  test('keeps what is sent to it, also when it is sent twice, also after a restart', async () => {
    const before = await world()
    const message = { id: 'job-1', to: 'user@example.com', subject: 'Receipt', text: 'Thank you.' }
    await before.mailer.send(message)
    await before.mailer.send(message)
    await before.close()
    const { mailbox } = await world(before.folder)
    const mail = {
      message_id: '<job-1@rides.example>',
      to: ['user@example.com'],
      subject: 'Receipt',
    }
    expect(mailbox.mails).toMatchObject([mail, mail])
    expect(mailbox.mails[0]?.body).toBe('Thank you.')
  })
})
