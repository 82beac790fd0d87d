/**
 * What the pages of the errors say besides the table: what happened, and what to do about it. The texts
 * are those of `docs/errors.md`, in the notation of Markdown; a test holds both together. They stand
 * apart from the table, so that an app loads them only where it serves the pages.
 *
 * @module
 */

import type { ErrorCode } from '../core/error-code.ts'

/** What there is to say about a code. */
export interface Explanation {
  /** What happened, in sentences. */
  readonly happened: string
  /** What to do, for those who call the API; only for codes that clients see. */
  readonly client?: string
  /** What to do, for those who write the server. */
  readonly developer: string
  /** What to do, for those who run the server. */
  readonly operator: string
}

/** The explanation of every code. */
export const EXPLANATIONS: Readonly<Record<ErrorCode, Explanation>> = {
  'idempotency-key-missing': {
    happened: 'The route requires a key and the request has none. The handler did not run.',
    client:
      'Make a key (a UUID will do) before the first attempt, keep it with the request, and send it on every attempt.',
    developer:
      'If clients without keys are to be served, make the key optional on this route; their requests then run unprotected.',
    operator:
      'A burst after a deploy points at a client release that lost its header, or at a proxy that strips it.',
  },
  'idempotency-key-invalid': {
    happened:
      'The header is there but holds no usable key: it is empty, too short, too long or malformed, occurs twice, or is the text of a missing value such as `undefined`. The handler did not run: to ignore the header would leave a client unprotected that believes itself safe.',
    client:
      'Send the header once, with a key of 1 to 255 visible ASCII characters (some APIs ask for other lengths), bare or in double quotes. `detail` says which rule was broken.',
    developer: 'Lengths, format and strict parsing are options of the dialect.',
    operator:
      'Many of these from one client with the detail "text of a missing value" are one bug in that client.',
  },
  'idempotency-key-expired': {
    happened:
      'The key carries the time of its making (UUIDv7, ULID) and is older than the route allows. Its record may be gone, and to run the request could repeat its effect. The handler did not run.',
    client:
      'Find out first whether the request took effect, by reading the resource. Only then send it with a new key.',
    developer: 'The allowed age must not be longer than the retention.',
    operator:
      'Look for clients that retry from a queue older than the retention, or whose clocks are wrong.',
  },
  'idempotency-key-reused': {
    happened:
      'A record stands for this key and was made by a request that says something else. The handler did not run, and the stored answer is untouched. This comes before every other check, also while the first request is still running.',
    client:
      'Use a new key for a new request. To repeat the first request, send exactly what was sent before.',
    developer:
      'Where clients repeat a request with members that differ each time (a timestamp, a trace id), leave these members out of the fingerprint.',
    operator:
      'A steady rate means that a client derives its keys from too little, or shares one key between requests.',
  },
  'idempotency-in-progress': {
    happened: 'The first request with this key is still running, here or on another node.',
    client:
      'Wait for as long as `Retry-After` says, then send the same request with the same key. Never switch to a new key: that would run it twice.',
    developer: 'Let duplicates wait for the answer with the option `waitMs`.',
    operator:
      'If one key stays in progress for long, its handler hangs or its process died and the lease has not ended yet.',
  },
  'idempotency-outcome-unknown': {
    happened:
      "An earlier run stopped half way, by a crash or an error, and may have taken effect. It is not repeated, because the route says `afterCrash: 'refuse'`.",
    client:
      'Do not send it again, and do not send it with a new key. Read the resource, or ask support; after the request is settled, the same key gets its answer.',
    developer:
      'Use transaction mode or phases, so that there is no such state; or give `afterCrash` a function that looks at what happened.',
    operator: 'Settle the record: it happened, it did not happen, or give up.',
  },
  'idempotency-result-gone': {
    happened:
      "The request took effect, but its answer was not kept: it is sensitive, or it was too large. Or what is stored can not be opened, because it was damaged or its encryption key is missing; the operator's log then has `reprise-seal-broken`.",
    client: 'Read the resource. There is nothing to repeat.',
    developer:
      'Set a reference to the resource in the handler, so that replays can point at it; or store the answer encrypted.',
    operator: 'Nothing to do, unless the log says `reprise-seal-broken`.',
  },
  'idempotency-body-invalid': {
    happened:
      'The body can be read in more than one way (an object names a member twice), can not be read, or is nested too deeply, so that no fingerprint stands for it. The handler did not run.',
    client: 'Send well-formed JSON whose objects name each member once.',
    developer:
      'Bodies that are neither JSON nor a form are compared byte by byte: see that the content type says what the body is. Members that change with each attempt are left out with `fingerprint: { exclude }`.',
    operator: 'Nothing to do.',
  },
  'idempotency-body-too-large': {
    happened: 'The body is larger than the route takes in. The handler did not run.',
    client: 'Send less: upload large content by itself and refer to it.',
    developer: 'Raise the limit on request bodies for this route.',
    operator: 'Nothing to do.',
  },
  'idempotency-store-unavailable': {
    happened:
      'The store could not be reached, or took too long, before the request was started. The handler did not run.',
    client: 'Wait for as long as `Retry-After` says, then send the same request with the same key.',
    developer:
      'A route that would rather run unprotected than not at all can say so; its answers then carry `Idempotency-Degraded: true`.',
    operator:
      "See to the database: reachable, not full, connections left. The cause is in the server's log.",
  },
  'idempotency-shutting-down': {
    happened: 'The process is about to stop and takes on no new requests. The handler did not run.',
    client: 'Send the same request with the same key again; another node takes it.',
    developer: 'Stop the listener before you close Reprise, and few clients will see this.',
    operator: 'If it lasts, the load balancer still sends traffic to a node that is leaving.',
  },
  'idempotency-conflict': {
    happened:
      'The transaction was run several times and lost to others each time, or it was open for longer than its answer would be kept. All was rolled back; nothing took effect.',
    client: 'Send the same request with the same key again.',
    developer: 'Shorten the transaction, touch rows in one order, or choose a weaker isolation.',
    operator: 'Look for a row that all requests write, such as a counter.',
  },
  'idempotency-commit-unknown': {
    happened:
      'The connection to the database broke during the commit, and the store could not be asked what came of it. Effect and answer were committed together, or neither was.',
    client:
      'Send the same request with the same key again: it gets the answer if there is one, and runs if there is none.',
    developer: 'Nothing to do: the database settles it.',
    operator: 'Look for a restart or failover of the database, or a proxy that cuts connections.',
  },
  'idempotency-replay-forbidden': {
    happened:
      "The answer is stored, and the route's `authorizeReplay` said no: the caller has lost a permission since the first request. The handler did not run again.",
    client: 'The first request stands. Do not send it with a new key.',
    developer:
      '`authorizeReplay` is asked before every replay; keep it as quick as your authentication.',
    operator:
      'Expected after permissions were taken away; a burst of these points at a policy that became too strict.',
  },
  'idempotency-too-early': {
    happened:
      'The request travelled in TLS early data, which an attacker can send a second time, and has no key that would make that harmless. The handler did not run.',
    client:
      'Send the request again on the completed connection; most HTTP libraries do so by themselves.',
    developer:
      'A request with a key is served, early or not: the key is what makes early data safe.',
    operator: 'Seen only behind a proxy that accepts early data and says so with `Early-Data: 1`.',
  },
  'idempotency-retry-later': {
    happened:
      'The request was taken on and stopped half way: another system is down, or a phase asked for more time. Every phase that was done is kept, and nothing is done twice.',
    client:
      'Send the same request with the same key again, not before `Retry-After` is over. If you do not, it is finished without you, and a later request gets the answer.',
    developer:
      'A phase gave `retryLater()`, a foreign call failed without a final answer, or the database broke. The history of the record says which.',
    operator:
      'The completer takes it up again, further apart each time, until it is done or is put before a person as a dead letter.',
  },
  'idempotency-quota-exceeded': {
    happened:
      'The caller has brought as many fresh keys as its quota allows. Nothing was run and nothing stored. Keys that were used before are still answered: a repetition is never refused for this.',
    client:
      'Wait as long as `Retry-After` says, then send the same request with the same key. If you make a new key for each attempt, stop: a retry has the key of its first attempt.',
    developer:
      'The option `quota` of the route or of `createReprise` says how many keys count and for how long; a function gives each caller its own.',
    operator:
      'The event `over_quota` names the caller by its digest. Many of one caller are a client that makes a key for each attempt, or a flood; many of all callers, a quota that is too small.',
  },
  'idempotency-input-invalid': {
    happened:
      'The input is not what the operation takes. It was refused before anything was stored, so the key is still free; the member `errors` names each fault.',
    client:
      'Correct what `errors` names and send the request again, with the same key or a new one.',
    developer:
      'The schema given as `input` of the operation refused it. Only fresh requests are judged.',
    operator: 'Many of these point to a client of another version.',
  },
  'idempotency-identity-invalid': {
    happened:
      'A record names its caller, operation and key. One of these has a NUL character, which is refused with every store, or a character that the encoding of the database lacks, such as a Cyrillic letter in a PostgreSQL database with the encoding LATIN1. Nothing was stored. What a handler did in its transaction was undone.',
    client:
      'Do not retry: the answer will be the same. A name that you chose, such as that of an account, has to do without that character.',
    developer:
      'Give `caller` and `operation` as ids, or as digests of names (`hashSecret`), not as free text. In transaction mode PostgreSQL is told the caller at the end, so the handler has run before this answer.',
    operator:
      'The event `store_error` has the cause. Keep records in a database with the encoding UTF8: `show server_encoding` tells which it has.',
  },
  'reprise-options-invalid': {
    happened:
      'Thrown when Reprise, a store, a route or anything else is made with options that cannot be right: at start, never with a request. [Options and their mistakes](guides/options.md) lists what each mistake is told.',
    developer: 'The message names the option and what it may be.',
    operator: 'If the value comes from the environment, set it right and start again.',
  },
  'reprise-lease-lost': {
    happened:
      'The run was paused or cut off from the store for longer than its lease, and another run may have taken over. Its abort signal fires, and nothing that it does is stored any more.',
    developer:
      'Pass the abort signal on to whatever the handler waits for. Handlers that block the event loop need a longer lease.',
    operator: 'Look for long pauses: CPU starvation, swapping, a database that did not answer.',
  },
  'reprise-schema-missing': {
    happened:
      'The database does not have the tables, or has those of an older version, and the option `migrate` is off.',
    developer:
      'Leave `migrate` on, or take the migrations when you deploy: `npx reprise migrate up`, or `migratePostgres(pool)` from `reprise/postgres`.',
    operator: '`npx reprise migrate up`, with a role that may create tables.',
  },
  'reprise-schema-newer': {
    happened:
      'A later version of Reprise migrated the database in a way that this version can not work with.',
    developer: 'Use at least the version that made the schema.',
    operator: 'Finish the deploy that was begun; do not roll back past a migration.',
  },
  'reprise-store-unreachable': {
    happened:
      '`reprise.ready()` could not use the store. The message has the code of the cause, as the driver, the database or the system names it (`ECONNREFUSED`, `28000`, `WRONGPASS`), and what to do about it; `error.cause` has the whole error.',
    developer:
      'Call `ready()` before the server listens, so that a wrong address, role or password stops the start and not the first request.',
    operator:
      'Check host, port, role, password and TLS of the client that the store was given. `npx reprise doctor` looks at each.',
  },
  'reprise-store-unsafe': {
    happened:
      'The store found a setting under which a crash or a full memory would forget keys, for example eviction in Redis.',
    developer: 'Where that is acceptable, as in tests, allow it by option.',
    operator: 'Change the setting that the message names.',
  },
  'reprise-seal-broken': {
    happened:
      'A stored answer or input can not be opened: its encryption key is not in the ring, or the bytes were changed.',
    developer: 'When you rotate keys, keep the old ones in the ring for as long as records live.',
    operator:
      'Put the missing key back. If no key is missing, the row was damaged or moved: treat it as an incident.',
  },
  'reprise-transactions-unsupported': {
    happened: "Transaction mode was asked of a store that does not hold the app's own rows.",
    developer: 'Use the PostgreSQL or SQLite store, or another mode.',
    operator: 'Nothing to do.',
  },
  'reprise-duplicate-request': {
    happened:
      "With `claim: 'with-first-statement'` the handler runs before anybody knows whether the request is a duplicate. This one is, or its key is taken: the statement was not executed, and no other on this `tx` will be. What the handler returns or throws now is discarded; the client gets the stored answer, or the refusal that is due.",
    developer:
      'Let it pass, as any error of the database. An error handler that reports failures may leave out what is `instanceof DuplicateRequest`.',
    operator: 'Nothing to do. Clients never see it.',
  },
  'reprise-transaction-over': {
    happened:
      'Code of the app used its `tx` after the handler or the phase had answered or thrown: a branch of a `Promise.all` whose other branch failed, a statement that nobody awaits, a callback that kept `tx`. The statement was not sent. What had been sent before is part of the transaction, and was committed or rolled back with it.',
    developer:
      'Await every statement before you answer. In a `Promise.all`, use `Promise.allSettled` where a branch may fail while others still run. Work that goes on after the answer needs a connection of its own, or a staged job.',
    operator: 'Nothing to do. Clients never see it.',
  },
  'reprise-jobs-unsupported': {
    happened:
      'A handler staged a job in a transaction of a store that has no table for them. Nothing was staged.',
    developer:
      'Use the PostgreSQL store, or hand the job to your queue after the answer is stored.',
    operator: 'Nothing to do.',
  },
  'reprise-admin-unsupported': {
    happened:
      '`createAdmin` was given an engine whose store can not list by time, find by key or keep an audit.',
    developer: 'Use the PostgreSQL store, or the memory store for tests.',
    operator: 'Nothing to do.',
  },
  'reprise-query-invalid': {
    happened:
      'A list, a look-up or an order to the admin API has a value that can not be: a limit out of range, a cursor of another list, an order without a reason, a batch that is too large.',
    developer: 'Send what the message asks for.',
    operator: 'Correct the form, or narrow the filter.',
  },
  'reprise-query-timeout': {
    happened:
      'A statement of the admin API was ended after five seconds, so that looking does not hurt those who are served.',
    developer: 'Nothing to do.',
    operator: 'Narrow the filter; look at the load of the database.',
  },
  'reprise-version-unsupported': {
    happened:
      'A store, a sink, a plugin or a client was given something of a version that lacks what it needs. The message names the package, what was found, and from which version on it works. Nothing was started.',
    developer:
      'Install a version that works: [versions](versions.md) has the table. Or leave your version as it is and use another package for this part, such as another driver.',
    operator: 'Nothing to do: it is thrown at start, and a deploy that starts does not have it.',
  },
}
