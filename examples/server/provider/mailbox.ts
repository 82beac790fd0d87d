/**
 * A mailbox of our own: takes whatever is sent to it over SMTP, and keeps it.
 *
 * @module
 */

import { text } from 'node:stream/consumers'
import { callbackify } from 'node:util'
import { SMTPServer } from 'smtp-server'
import { Journal } from './journal.ts'

/** A message that came. */
export interface Mail {
  readonly message_id: string | null
  readonly from: string | null
  readonly to: readonly string[]
  readonly subject: string | null
  /** When it came, in Unix seconds. */
  readonly received_at: number
  readonly body: string
}

/** The mailbox. */
export class Mailbox {
  readonly #journal: Journal
  readonly #mails: Mail[]
  readonly #server: SMTPServer

  private constructor(journal: Journal, mails: Mail[]) {
    this.#journal = journal
    this.#mails = mails
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        const to = session.envelope.rcptTo.map(({ address }) => address)
        // Taken when it is on the disk, and not before: its sender forgets it then.
        callbackify(async () => this.#keep(await text(stream), to))(done)
      },
    })
    // A client that hangs up in the middle of a message has not sent it.
    this.#server.on('error', () => {})
  }

  /** Opens the mailbox in a file, on a port. */
  static async open(path: string, address: { host: string; port: number }): Promise<Mailbox> {
    const { journal, lines } = await Journal.open(path)
    // Nobody but `#keep` writes to the file.
    const mailbox = new Mailbox(journal, lines as Mail[])
    await new Promise<void>((resolve, reject) => {
      mailbox.#server.once('error', reject)
      mailbox.#server.listen(address.port, address.host, resolve)
    })
    return mailbox
  }

  /** All messages, oldest first, with those that came twice. */
  get mails(): readonly Mail[] {
    return this.#mails
  }

  /** Closes port and file. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    await this.#journal.close()
  }

  async #keep(source: string, to: readonly string[]): Promise<void> {
    const [head = '', ...rest] = source.split('\r\n\r\n')
    const mail: Mail = {
      ...{ message_id: headerOf(head, 'Message-ID'), from: headerOf(head, 'From'), to },
      subject: headerOf(head, 'Subject'),
      received_at: Math.floor(Date.now() / 1000),
      body: rest.join('\r\n\r\n').trimEnd(),
    }
    await this.#journal.append(mail)
    this.#mails.push(mail)
  }
}

function headerOf(head: string, name: string): string | null {
  const unfolded = head.replace(/\r\n[ \t]+/g, ' ')
  return new RegExp(`^${name}: *(.*)$`, 'im').exec(unfolded)?.[1]?.trim() ?? null
}
