import { expect, it } from 'vitest'
import { type AxiosRequest, axiosAdapter } from '../../src/client/axios-adapter.ts'
import { createClient } from '../../src/client/index.ts'

/** What a server says, and what it was sent. */
function world(status = 201) {
  const sent: Request[] = []
  const client = createClient({
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      sent.push(new Request(input, init))
      return new Response('{"id":1}', { status, headers: { 'X-Made': 'yes' } })
    },
    attemptsMax: 1,
  })
  const adapter = axiosAdapter({ getUri: () => 'https://api.test/a' }, client)
  const ask = (config: AxiosRequest) =>
    adapter({ url: 'https://api.test/a', method: 'post', ...config })
  return { ask, sent }
}

it.each([
  [undefined, async (data: unknown) => data],
  ['text', async (data: unknown) => data],
  ['json', async (data: unknown) => data],
  [
    'arraybuffer',
    async (data: unknown) => (data instanceof ArrayBuffer ? Buffer.from(data).toString() : data),
  ],
  ['blob', async (data: unknown) => (data instanceof Blob ? data.text() : 'no blob')],
  [
    'stream',
    async (data: unknown) =>
      data instanceof ReadableStream ? new Response(data).text() : 'no stream',
  ],
])('an answer is read as axios asks for it: %s', async (responseType, textOf) => {
  const { data, status, headers } = await world().ask({ ...(responseType && { responseType }) })
  expect([await textOf(data), status, headers['x-made']]).toEqual(['{"id":1}', 201, 'yes'])
})

it('headers that have no value are not sent', async () => {
  const { ask, sent } = world()
  const headers = { 'X-A': 'a', 'X-B': null, 'X-C': undefined, 'X-D': false, 'X-E': 0 }
  await ask({ headers })
  const given = Object.fromEntries(sent[0]?.headers ?? [])
  expect(given).toMatchObject({ 'x-a': 'a', 'x-e': '0' })
  for (const name of ['x-b', 'x-c', 'x-d']) expect(given).not.toHaveProperty(name)
})

it('a form names its boundary itself, and any other body has the type that axios gives it', async () => {
  const { ask, sent } = world()
  const headers = { 'Content-Type': 'text/plain' }
  const form = new FormData()
  form.set('a', '1')
  await ask({ headers, data: form })
  await ask({ headers, data: 'a' })
  const types = sent.map((request) => request.headers.get('Content-Type'))
  expect(types).toEqual([expect.stringMatching(/^multipart\/form-data; boundary=/), 'text/plain'])
})

it('a name and a password are sent as UTF-8, also where one is missing', async () => {
  const { ask, sent } = world()
  await ask({ auth: { username: 'ü', password: 'p' } })
  await ask({ auth: { username: 'a' } })
  await ask({ auth: { password: 'b' } })
  const names = sent.map((request) => {
    const [, text = ''] = (request.headers.get('Authorization') ?? '').split(' ')
    return Buffer.from(text, 'base64').toString()
  })
  expect(names).toEqual(['ü:p', 'a:', ':b'])
})

it.each([
  [404, 'ERR_BAD_REQUEST'],
  [500, 'ERR_BAD_RESPONSE'],
])(
  'an answer of %i that the app does not accept is an error of axios: %s',
  async (status, code) => {
    const { ask } = world(status)
    expect(await ask({ method: 'get', validateStatus: null })).toMatchObject({ status })
    expect(await ask({ method: 'get', validateStatus: () => true })).toMatchObject({ status })
    await expect(
      ask({ method: 'get', validateStatus: (given) => given < 300 }),
    ).rejects.toMatchObject({
      ...{ isAxiosError: true, code, status, message: `Request failed with status code ${status}` },
      response: { status },
    })
  },
)
