/**
 * A cursor that sends to `pg` what the package pg-cursor sends.
 *
 * @module
 */

/** What a cursor uses of the protocol below a connection. */
interface Protocol {
  parse(message: object): void
  bind(message: object): void
  describe(message: object): void
  execute(message: object): void
  close(message: object): void
  flush(): void
  sync(): void
}

type Read = (error: Error | undefined, rows: readonly (readonly unknown[])[]) => void

let last = 0

/** A cursor over the rows of one statement. */
export class Cursor {
  state: 'initialized' | 'idle' | 'busy' | 'error' | 'done' = 'initialized'
  readonly #text: string
  readonly #portal = `C_${++last}`
  #protocol: Protocol | undefined
  #rows: (readonly unknown[])[] = []
  #error: Error | undefined
  #read: Read | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** The next rows; none at the end. */
  async read(count: number): Promise<readonly (readonly unknown[])[]> {
    if (this.state === 'done') return []
    if (this.#error !== undefined) throw this.#error
    this.state = 'busy'
    this.#rows = []
    const rows = new Promise<readonly (readonly unknown[])[]>((resolve, reject) => {
      this.#read = (error, read) => (error ? reject(error) : resolve(read))
    })
    this.#protocol?.execute({ portal: this.#portal, rows: count })
    this.#protocol?.flush()
    return rows
  }

  submit(given: object): void {
    // The library's own, or what stands for it.
    const protocol = given as Protocol
    this.#protocol = protocol
    this.state = 'idle'
    protocol.parse({ text: this.#text })
    protocol.bind({ portal: this.#portal, values: null })
    protocol.describe({ type: 'P', name: this.#portal })
    protocol.flush()
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { readonly fields: readonly unknown[] }): void {
    this.#rows.push(fields)
  }

  handlePortalSuspended(): void {
    this.state = 'idle'
    this.#answer(undefined)
  }

  handleCommandComplete(): void {
    this.#protocol?.close({ type: 'P', name: this.#portal })
    this.#protocol?.sync()
    this.state = 'done'
  }

  handleReadyForQuery(): void {
    this.state = 'done'
    this.#answer(undefined)
  }

  handleError(error: Error): void {
    if (this.state === 'done') return
    if (this.state !== 'initialized') this.#protocol?.sync()
    this.state = 'error'
    this.#error = error
    this.#answer(error)
  }

  #answer(error: Error | undefined): void {
    const read = this.#read
    this.#read = undefined
    read?.(error, this.#rows)
  }
}
