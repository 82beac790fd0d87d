/**
 * Compares what goes over the socket with and without protection.
 *
 * @module
 */

import { expect, test } from 'vitest'
import { createReprise, type Header, memoryStore, type Reprise } from '../../src/index.ts'
import { type Answer, bytesOf, Sending } from '../../src/testing/adapter/raw-client.ts'
import type { Served } from '../../src/testing/adapter-contract.ts'

/** What a shape says about itself, whatever its handler looks like. */
export interface ShapeFacts {
  readonly name: string
  readonly isStored?: boolean
  readonly isStreamed?: boolean
}

/** How an adapter is compared. */
export interface Comparison<Shape extends ShapeFacts> {
  readonly shapes: readonly Shape[]
  /** Serves a shape at any path; without protection where there is no engine. */
  readonly serve: (shape: Shape, reprise: Reprise | undefined) => Promise<Served>
  /**
   * What of a head is compared.
   *
   * @default all of it, line by line
   */
  readonly linesOf?: (headers: readonly Header[]) => readonly Header[]
}

const MARKS = /^(?:date|idempotency-key|idempotency-expires|idempotency-stored|idempotent-retry)$/i

/** One test for each shape. */
export function testDifferences<Shape extends ShapeFacts>({
  shapes,
  serve,
  linesOf = (headers) => headers,
}: Comparison<Shape>): void {
  const sent = (answer: Answer) => ({
    ...{
      statusLine: answer.statusLine,
      headers: linesOf(answer.headers.filter(([name]) => !MARKS.test(name))),
    },
    content: contentOf(answer),
  })

  test.each(shapes)('sends $name as without protection', async (shape) => {
    const plain = await asking(await serve(shape, undefined), 1)
    const reprise = createReprise({ store: memoryStore() })
    const [first, again] = await asking(await serve(shape, reprise), 2)

    expect(first && sent(first)).toEqual(plain[0] && sent(plain[0]))
    expect(again?.header('idempotent-replayed')).toBe(shape.isStored === false ? undefined : 'true')
    const isKept = shape.isStored !== false && shape.isStreamed !== true
    // What the server answers when it is given no response can not be marked.
    const isMarked = first?.header('idempotency-key') !== undefined
    expect(first?.header('idempotency-stored')).toBe(isKept || !isMarked ? undefined : 'false')
    if (shape.isStored === false) return
    expect(again?.status).toBe(first?.status)
    if (shape.isStreamed) expect(again?.header('idempotency-body-omitted')).toBeDefined()
    else expect(again && contentOf(again)).toBe(first && contentOf(first))
  })
}

/** The body as a text, because lists of two million numbers take long to compare. */
function contentOf({ body }: Answer): string {
  return body.toString('latin1')
}

async function asking(served: Served, times: number): Promise<readonly Answer[]> {
  const headers: Header[] = [
    ['Idempotency-Key', 'key-1'],
    ['Content-Type', 'text/plain'],
  ]
  const message = { method: 'POST', path: '/items/1', headers, body: 'hello' }
  const answers: Answer[] = []
  try {
    while (answers.length < times) {
      answers.push(await new Sending(served.port, bytesOf(message)).answer)
    }
    return answers
  } finally {
    await served.close()
  }
}
