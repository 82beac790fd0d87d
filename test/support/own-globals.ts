/**
 * Gives each test file the `Request` and `Response` of the runtime. Test files share a process, and
 * `@hono/node-server` replaces both for the whole process as soon as a server is made with it.
 *
 * @module
 */

const ORIGINALS = Symbol.for('reprise.test.originals')

type Globals = Pick<typeof globalThis, 'Request' | 'Response'>
const holder: typeof globalThis & { [ORIGINALS]?: Globals } = globalThis

holder[ORIGINALS] ??= { Request: globalThis.Request, Response: globalThis.Response }
Object.assign(globalThis, holder[ORIGINALS])
