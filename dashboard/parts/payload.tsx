/**
 * Input, state and answer of a request: hidden until somebody asks, which is audited.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import { ApiError, newKey, order } from '../api.ts'
import { type Node, parseExact } from '../exact-json.ts'
import { may } from '../session.ts'
import { t } from '../strings.ts'

interface Texts {
  readonly input: string | null
  readonly state: string | null
  readonly response: {
    readonly status: number
    readonly headers: readonly (readonly [string, string])[]
    readonly body: string | null
  } | null
}

/** The payload, or the button that reveals it. */
export function PayloadPanel({ id }: { id: string }) {
  const [texts, setTexts] = useState<Texts>()
  const [problem, setProblem] = useState('')
  const reveal = async () => {
    try {
      setTexts(await order<Texts>(`requests/${encodeURIComponent(id)}/reveal`, {}, newKey()))
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error))
    }
  }
  if (!may('payload.read')) return <p class="soft">{t.detail.mayNotReveal}</p>
  if (texts === undefined) {
    return (
      <>
        <p class="soft">{t.detail.revealHint}</p>
        <button type="button" onClick={() => void reveal()}>
          {t.detail.reveal}
        </button>
        <p class="problem" role="alert">
          {problem}
        </p>
      </>
    )
  }
  const { response } = texts
  return (
    <div class="payload">
      <h3>{t.detail.input}</h3>
      <Tree json={texts.input} />
      <h3>{t.detail.state}</h3>
      <Tree json={texts.state} />
      <h3>
        {t.detail.response} {response?.status}
      </h3>
      {response !== null && response.headers.length > 0 && (
        <pre>{response.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      )}
      <Tree json={response?.body ?? null} />
    </div>
  )
}

function Tree({ json }: { json: string | null }) {
  if (json === null) return <p class="soft">{t.detail.nothing}</p>
  return (
    <div class="tree">
      <Branch node={parseExact(json)} />
    </div>
  )
}

function Branch({ node }: { node: Node }) {
  switch (node.kind) {
    case 'plain':
      return <code class="plain">{node.text}</code>
    case 'text':
      return <code class="text">{JSON.stringify(node.text)}</code>
    case 'list':
      return (
        <details open>
          <summary>[{node.items.length}]</summary>
          <ol start={0}>
            {node.items.map((item) => (
              <li>
                <Branch node={item} />
              </li>
            ))}
          </ol>
        </details>
      )
    case 'object':
      return (
        <details open>
          <summary>{`{${node.members.length}}`}</summary>
          <ul>
            {node.members.map(([name, value]) => (
              <li>
                <b>{name}</b>: <Branch node={value} />
              </li>
            ))}
          </ul>
        </details>
      )
  }
}
