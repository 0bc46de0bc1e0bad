import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// Finds or fetches the NATS servers of the tests. The packages of Debian are unpacked into `.tmp`, and nothing is installed.

/** A server that the tests run. `newest` has all features. `oldest` is the oldest version that we support. */
export type NatsVersion = 'newest' | 'oldest'

/** The suite of Debian that has each server, and where the server is unpacked. */
const SUITES: Readonly<Record<NatsVersion, string>> = { newest: 'forky', oldest: 'bookworm' }
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const MIRROR = 'http://deb.debian.org/debian'

/**
 * Returns the path of a server, or `undefined` if it is not on this machine. For the newest server, the environment
 * variable `NATS_SERVER` and a server on the path come first.
 */
export function findNatsServer(version: NatsVersion): string | undefined {
  const named = process.env[version === 'newest' ? 'NATS_SERVER' : 'NATS_SERVER_OLDEST']
  if (named !== undefined && named !== '') return named
  const unpacked = toUnpacked(version)
  if (version === 'oldest') return existsSync(unpacked) ? unpacked : undefined
  return findOnPath() ?? (existsSync(unpacked) ? unpacked : undefined)
}

/** Fetches both servers that are missing. A server that cannot be fetched stays missing. */
export function fetchNatsServers(): void {
  for (const version of ['newest', 'oldest'] as const) {
    if (findNatsServer(version) !== undefined || !existsSync('/usr/bin/apt-get')) continue
    console.log(`fetching the ${version} nats-server for the tests of the fleet`)
    fetchFrom(SUITES[version], toUnpacked(version))
  }
}

function toUnpacked(version: NatsVersion): string {
  return resolve(ROOT, '.tmp/nats-server', version, 'usr/sbin/nats-server')
}

/** Servers before 2.12 lack features that the tests need. */
function findOnPath(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const file = join(folder, 'nats-server')
    if (!existsSync(file)) continue
    const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' })
    const [, major = 0, minor = 0] = /v(\d+)\.(\d+)/.exec(stdout) ?? []
    if (Number(major) * 1000 + Number(minor) >= 2012) return file
  }
  return undefined
}

/** Downloads a package of Debian with a private configuration of apt, which also checks its signature. */
function fetchFrom(suite: string, file: string): void {
  const apt = mkdtempSync(join(tmpdir(), 'nats-apt-'))
  try {
    const options: string[] = []
    for (const [key, name] of [
      ['Dir::State::lists', 'lists'],
      ['Dir::Cache', 'cache'],
      ['Dir::Etc::SourceParts', 'parts'],
    ] as const) {
      mkdirSync(join(apt, name, 'partial'), { recursive: true })
      options.push('-o', `${key}=${join(apt, name)}`)
    }
    const list = join(apt, 'sources.list')
    const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : ''
    writeFileSync(list, `deb ${signed}${MIRROR} ${suite} main\n`)
    options.push('-o', `Dir::Etc::SourceList=${list}`, '-o', 'APT::Sandbox::User=root')
    const run = (command: string, args: readonly string[]): boolean =>
      spawnSync(command, args, { cwd: apt, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
    const isFetched =
      run('apt-get', [...options, 'update']) && run('apt-get', [...options, 'download', 'nats-server'])
    const packed = readdirSync(apt).find(name => name.endsWith('.deb'))
    const target = resolve(file, '../../..')
    mkdirSync(target, { recursive: true })
    if (!isFetched || packed === undefined || !run('dpkg', ['-x', join(apt, packed), target]))
      console.log(`could not fetch nats-server of ${suite}; the tests that need it are skipped`)
  } finally {
    rmSync(apt, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  fetchNatsServers()
  for (const version of ['newest', 'oldest'] as const)
    console.log(version, findNatsServer(version) ?? 'is missing')
}
