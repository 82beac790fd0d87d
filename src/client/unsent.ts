/**
 * Failures of `fetch` after which nothing can have left this machine.
 *
 * @module
 */

/** Calls to the system that come before the first byte of a request. */
const BEFORE_SENDING = ['getaddrinfo', 'connect']

/**
 * Codes of failures before the first byte: there was no connection in time, this side does not trust the
 * certificate, or the server refused the hello of TLS. Alerts that TLS 1.3 sends after the handshake are
 * not among them.
 */
const UNSENT =
  /^(UND_ERR_CONNECT_TIMEOUT|ERR_TLS_CERT_ALTNAME_INVALID|CERT_\w+|UNABLE_TO_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION|ERR_SSL_(SSL\/TLS|SSLV3)_ALERT_HANDSHAKE_FAILURE|ERR_SSL_TLSV1_UNRECOGNIZED_NAME|ERR_SSL_UNSUPPORTED_PROTOCOL)$/

/** What Node says of a connection that ends during the handshake; its code is that of any broken connection. */
const BEFORE_TLS = /before secure TLS connection was established$/

/** How deep causes are looked at. */
const CAUSES_MAX = 5

/**
 * Whether a request whose `fetch` threw this certainly did not leave: the connection was refused, the host
 * has no address, or TLS failed. Browsers do not say, so there it may always have left.
 */
export function isUnsent(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > CAUSES_MAX) return false
  // One for each address of the host.
  const each: unknown = Reflect.get(error, 'errors')
  if (Array.isArray(each) && each.length > 0) return each.every((one) => isUnsent(one, depth + 1))
  const [code, call]: unknown[] = ['code', 'syscall'].map((name) => Reflect.get(error, name))
  if (typeof call === 'string' && BEFORE_SENDING.includes(call)) return true
  if (typeof code === 'string' && UNSENT.test(code)) return true
  return BEFORE_TLS.test(error.message) || isUnsent(error.cause, depth + 1)
}
