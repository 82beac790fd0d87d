/**
 * The API documentation for people, made from the OpenAPI document: no script, nothing from outside.
 *
 * @module
 */

import type { OpenApiDocument } from '../openapi/document.ts'
import type { OperationSpec } from '../openapi/parts.ts'
import { escape } from './reply.ts'

/** All APIs on one page. */
export function docsPage(document: OpenApiDocument): string {
  const sections = document.tags.map((tag) => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.tags.includes(tag.name))
        .map(([method, operation]) => operationOf(method, path, operation)),
    )
    return `<h2 id="${tag.name}">${tag.name}</h2>
<p>${escape(tag.description)} <a href="/errors/${tag.name}">Errors of its keys</a>.</p>
${operations.join('\n')}`
  })
  return `<main>
<h1>The APIs</h1>
<p>${escape(document.info.description)} The same as <a href="/openapi.json">OpenAPI document</a>.</p>
${sections.join('\n')}
</main>`
}

function operationOf(method: string, path: string, operation: OperationSpec): string {
  const { parameters = [], responses, requestBody } = operation
  const inputs = parameters.map((parameter) => {
    const { name, in: place, required, description = '' } = Object(parameter)
    const need = required ? 'required' : 'optional'
    return row([`<code>${escape(name)}</code>`, `${place}, ${need}`, escape(description)])
  })
  const answers = Object.entries(responses).map(([status, response]) => {
    const headers = Object.keys(Object(Object(response).headers))
    const list = headers.map((name) => `<code>${escape(name)}</code>`).join(' ')
    return row([status, escape(response.description), list])
  })
  const body =
    requestBody === undefined
      ? ''
      : `<h4>Body</h4>${code(Object.values(Object(requestBody['content']))[0])}`
  return `<details>
<summary><span class="method">${method.toUpperCase()}</span> <code>${escape(path)}</code> <span class="soft">${escape(operation.summary)}</span></summary>
${inputs.length === 0 ? '' : table(['parameter', 'where', ''], inputs)}
${body}
${table(['status', 'meaning', 'headers'], answers)}
${errorsOf(responses)}
</details>`
}

/** Examples of the errors that the key may bring. */
function errorsOf(responses: OperationSpec['responses']): string {
  const examples = Object.entries(responses).flatMap(([status, response]) =>
    Object.values(Object(response.content)).flatMap((content) =>
      Object.entries(Object(Object(content).examples)).map(
        ([name, example]) =>
          `<h4>${status} <code>${escape(name)}</code></h4>${code(Object(example).value)}`,
      ),
    ),
  )
  return examples.join('\n')
}

function code(value: unknown): string {
  return `<pre><code>${escape(JSON.stringify(value, null, 2))}</code></pre>`
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function table(heads: readonly string[], rows: readonly string[]): string {
  const head = heads.map((name) => `<th scope="col">${name}</th>`).join('')
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}
