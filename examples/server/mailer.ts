/**
 * Sends mail over SMTP.
 *
 * @module
 */

import { createTransport } from 'nodemailer'

/** A message. */
export interface Message {
  /** The same whenever the message is sent again, so that whoever keeps it can tell. */
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends messages. */
export interface Mailer {
  send(message: Message): Promise<void>
  close(): void
}

const FROM = 'Rocket Rides <receipts@rides.example>'

/** How long a mail server may take, in milliseconds. */
const TIMEOUT_MS = 10_000

/** A mailer for the server that a URL names. */
export function createMailer(smtpUrl: string): Mailer {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const transport = createTransport({
    ...{ host: hostname, port: Number(port) || (secure ? 465 : 587), secure },
    ...{ connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS },
    ...(username && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
  })
  return {
    async send({ id, ...message }) {
      await transport.sendMail({ from: FROM, ...message, messageId: `<${id}@rides.example>` })
    },
    close: () => transport.close(),
  }
}
