/**
 * A RabbitMQ server, from the first of these that there is: the one that `RABBITMQ_URL` names, one
 * that runs on this machine, one that is installed. No npm package brings one.
 *
 * @module
 */

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { connect } from 'amqplib'
import { freePort, type Server, startGuarded } from './guarded.ts'
import { installedProgram, type NoServer } from './installed.ts'

const RUNNING = 'amqp://127.0.0.1:5672'

/** Where Debian and Ubuntu have the program itself; the one on the PATH changes the user. */
const INSTALLED = '/usr/lib/rabbitmq/bin'

/**
 * Finds or starts a server.
 *
 * @param env - `RABBITMQ_URL` names a server to use. `REPRISE_RABBITMQ` names which other sources to
 *   try, in order: `running,installed` unless set; `none` for none.
 */
export async function startRabbitmq(
  env: NodeJS.ProcessEnv = process.env,
): Promise<Server | NoServer> {
  const { RABBITMQ_URL: url, REPRISE_RABBITMQ: order = 'running,installed', PATH = '' } = env
  if (url) return { url, origin: 'named by RABBITMQ_URL', stop: async () => {} }

  const sources = order.split(',')
  if (sources.includes('running') && (await answers(RUNNING))) {
    return { url: RUNNING, origin: 'running on 127.0.0.1:5672', stop: async () => {} }
  }
  const path = PATH === '' ? '' : [INSTALLED, PATH].join(delimiter)
  const isAllowed = sources.includes('installed')
  const program = isAllowed ? await installedProgram(path, ['rabbitmq-server']) : undefined
  if (program !== undefined) return ownServer(program)
  return { missing: `no RabbitMQ server was found (tried: RABBITMQ_URL, ${sources.join(', ')})` }
}

/** Whether a server lets guests in. */
async function answers(url: string): Promise<boolean> {
  return probe(url).then(
    () => true,
    () => false,
  )
}

async function probe(url: string): Promise<void> {
  const connection = await connect(url, { timeout: 2_000 })
  // The error reaches us through close; without a listener it would end the process.
  connection.on('error', () => {})
  await connection.close()
}

async function ownServer(program: string): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-rabbitmq-'))
  const [port, distributionPort] = [await freePort(), await freePort()]
  const url = `amqp://127.0.0.1:${port}`
  const settings = {
    HOME: directory,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `${basename(directory)}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: `${port}`,
    RABBITMQ_DIST_PORT: `${distributionPort}`,
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'logs'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(directory, 'none'),
  }
  const assignments = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const stop = await startGuarded({
    commands: [['env', ...assignments, program]],
    directory,
    user: {},
    stopSignal: 'SIGTERM',
    probe: () => probe(url),
  })
  return { url, origin: 'installed', stop }
}
