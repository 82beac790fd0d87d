/**
 * Bugs that hostile servers are there to find: those that the client once had, and those that they found.
 *
 * @module
 */

import type { Change } from '../../support/planted.ts'

/** A bug. */
export interface Planted {
  /** What is wrong, in words. */
  readonly what: string
  readonly changes: readonly Change[]
  /** It is found within so many seeds, from 1 on. */
  readonly seeds: number
}

const delivery = (find: string, replace: string): Change => ({
  file: 'client/delivery.ts',
  find,
  replace,
})

/** Every planted bug. */
export const PLANTED: readonly Planted[] = [
  {
    what: 'an operation of one user is sent with the token of the next',
    changes: [
      delivery(
        "life.reason ?? (entry.caller === context.caller() ? undefined : 'caller')",
        'life.reason',
      ),
    ],
    seeds: 200,
  },
  {
    what: 'resume() sends again what an origin without keys may have been sent',
    changes: [
      delivery("if (reason) return reason\n    if (!isTrusted()) return 'unprotected'", ''),
    ],
    seeds: 200,
  },
  {
    what: 'a redirect by 307 or 308 is not followed',
    changes: [
      {
        file: 'client/redirects.ts',
        find: '[301, 302, 303, 307, 308]',
        replace: '[301, 302, 303]',
      },
    ],
    seeds: 400,
  },
  {
    what: 'a redirect takes the key to another host',
    changes: [
      {
        file: 'client/redirects.ts',
        find: "redirects === 'any' ||",
        replace: 'true ||',
      },
    ],
    seeds: 200,
  },
  {
    what: 'a login page counts as the answer to attempts that may have counted',
    changes: [
      delivery("isAmbiguous && !isTheirs ? 'refused' : finish(response)", 'finish(response)'),
    ],
    seeds: 200,
  },
  {
    what: 'a redirect that is not followed counts as the answer to attempts that may have counted',
    changes: [
      {
        file: 'client/rules.ts',
        find: 'if (status >= 300 && status < 400 && status !== 304) return true',
        replace: '',
      },
    ],
    seeds: 1_000,
  },
  {
    what: 'a container takes the files of another for left behind',
    changes: [
      {
        file: 'client/journal-files.ts',
        find: '!isRunning(Number(pid)) : await this.#isOld(name, unixMs)',
        replace: '!isRunning(Number(pid)) : unixMs > LEFT_MS',
      },
    ],
    seeds: 200,
  },
  {
    what: 'a request without a key is sent again',
    changes: [
      {
        file: 'client/pass-through.ts',
        find: 'await fetch(request ?? url, { ...init, ...added(init, request, given) })',
        replace:
          'await fetch(request ?? url, { ...init, ...added(init, request, given) }).catch(() => fetch(request ?? url, { ...init, ...added(init, request, given) }))',
      },
    ],
    seeds: 400,
  },
  {
    what: 'the deadline does not cover the function for headers',
    changes: [
      delivery('await life.until(async () => more(attempts + 1))', 'await more(attempts + 1)'),
    ],
    seeds: 400,
  },
  {
    what: 'a damaged file stops the journal',
    changes: [
      {
        file: 'client/file-journal.ts',
        find: 'if (!warned.has(name)) process.emitWarning(messageOf(error), { code: DAMAGED })',
        replace: 'throw error',
      },
    ],
    seeds: 200,
  },
  {
    what: 'a journal that fails once in list is never read again',
    changes: [
      {
        file: 'client/journal.ts',
        find: 'const entries = await list()\n',
        replace: 'const entries = await (once ??= list())\n',
      },
      {
        file: 'client/journal.ts',
        find: 'const index = async () => {',
        replace: 'let once: ReturnType<typeof list> | undefined\n  const index = async () => {',
      },
    ],
    seeds: 1_000,
  },
  {
    what: 'an operation that failed before it was sent stays in the journal',
    changes: [delivery('if (isWanted) await journal.forget(entry.id)', '')],
    seeds: 1_000,
  },
  {
    what: 'an operation that did not leave is said to have been sent',
    changes: [delivery('const sent = leftAt !== null', 'const sent = true')],
    seeds: 400,
  },
  {
    what: 'the journal does not know of an operation before it is sent',
    changes: [delivery("if (entry.state !== 'sent') {", 'if (false) {')],
    seeds: 200,
  },
]
