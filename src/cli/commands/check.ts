/**
 * `reprise check`: does a server keep its promises?
 *
 * @module
 */

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from '../command.ts'
import { EXIT } from '../errors.ts'
import { conformance, type Verdict } from '../http/conformance.ts'
import { REQUEST_FLAGS, readHeaders, readRequest } from '../http/request-flags.ts'
import { type Color, printable } from '../output.ts'
import { plural } from '../words.ts'

const COLORS: Readonly<Record<Verdict['level'], Color>> = {
  ...{ ok: 'green', warn: 'yellow', FAIL: 'red', skip: 'dim' },
}

/** `reprise check`. */
export const check: Command = {
  ...{ name: 'check', summary: 'Check any server against the IETF draft, from outside' },
  ...{ args: '<url>', config: 'ignored' },
  details: [
    'Sends about twenty requests that take effect: use a server for tests. Ends with 3 if a rule is broken.',
  ],
  flags: [
    ...REQUEST_FLAGS,
    {
      ...{ name: 'other', type: 'text', value: '<line>', isMany: true },
      summary: 'Header of a second caller, to check that keys are apart',
    },
    { name: 'required', type: 'switch', summary: 'The key is required here: a missing one is 400' },
    { name: 'junit', type: 'text', value: '<file>', summary: 'Write a JUnit report' },
  ],
  examples: [
    [
      `npx reprise check http://127.0.0.1:4400/charges -d '{"amount":1200}'`,
      'The sample of reprise dev',
    ],
    [
      'npx reprise check https://api.test/v1/orders -H "Authorization: Bearer a" --other "Authorization: Bearer b"',
      'With two callers',
    ],
  ],
  async run(context) {
    const { io, out, flags } = context
    const { keyHeader, ...asked } = await readRequest(context)
    const others = flags.many('other')
    const verdicts = await conformance({
      ...{ io, asked, keyHeader, isKeyRequired: flags.isOn('required') },
      otherCaller: others.length === 0 ? undefined : readHeaders(others),
    })
    const junit = flags.text('junit')
    if (junit !== undefined) writeFileSync(resolve(io.cwd, junit), toJunit(verdicts))
    const failures = verdicts.filter(({ level }) => level === 'FAIL').length
    const width = Math.max(...verdicts.map(({ rule }) => rule.length))
    const lines = verdicts.map(
      ({ rule, level, text }) =>
        `${out.paint(COLORS[level], level.padEnd(4))}  ${rule.padEnd(width)}  ${printable(text)}`,
    )
    return {
      exit: failures > 0 ? EXIT.problems : EXIT.ok,
      document: { url: asked.url.href, failures, verdicts },
      text: [...lines, '', `${plural(failures, 'rule')} broken`].join('\n'),
    }
  },
}

function toJunit(verdicts: readonly Verdict[]): string {
  const escaped = (text: string) =>
    text.replaceAll(/[<>&"']/g, (char) => `&#${char.codePointAt(0) ?? 0};`)
  const cases = verdicts.map(({ rule, level, text }) => {
    const inner =
      level === 'FAIL'
        ? `<failure message="${escaped(text)}"/>`
        : level === 'skip'
          ? '<skipped/>'
          : ''
    return `  <testcase classname="reprise.check" name="${escaped(rule)}">${inner}</testcase>`
  })
  const failures = verdicts.filter(({ level }) => level === 'FAIL').length
  const head = `<testsuite name="reprise check" tests="${verdicts.length}" failures="${failures}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...cases, '</testsuite>', ''].join('\n')
}
