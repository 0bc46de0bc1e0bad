import { isIP } from 'node:net'
import { SkillError } from '@skillstoke/core'
import { resolveAllowed } from '../http/address-guard.ts'
import { runGit } from './git-command.ts'
import { hostOfScp } from './git-url.ts'

/**
 * Resolves and checks the address of a remote before git starts. Returns git settings that allow only the checked
 * addresses. If ssh or a proxy resolves the host name, returns an empty list.
 * @throws {SkillError} INVALID_OPTION for a private network that is not in `privateHosts`, IO_FAILED for an unknown
 * name
 */
export async function findRemoteSettings(
  remote: string,
  privateHosts: readonly string[],
): Promise<readonly string[]> {
  const url = toUrl(remote)
  if (url.protocol === 'file:') return []
  // An IP address needs no lookup.
  const isAddress = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0
  const isOthers = !isAddress && (url.protocol === 'ssh:' || (await usesProxy(url)))
  try {
    const addresses = await resolveAllowed(url, { privateHosts })
    if (isOthers || isAddress) return []
    const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port
    return [`http.curloptResolve=${url.hostname}:${port}:${addresses.join(',')}`]
  } catch (thrown) {
    if (isOthers && SkillError.isInstance(thrown, 'IO_FAILED')) return []
    throw thrown
  }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** Parses a remote. The form `user@host:path` counts as ssh. */
function toUrl(remote: string): URL {
  const host = hostOfScp(remote)
  return host === undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(remote)
    ? new URL(remote)
    : new URL(`ssh://${host}`)
}

/** Returns whether the environment or the git configuration sets a proxy. */
async function usesProxy({ protocol, href }: URL): Promise<boolean> {
  const names = protocol === 'http:' ? ['http_proxy'] : ['https_proxy', 'HTTPS_PROXY']
  if ([...names, 'all_proxy', 'ALL_PROXY'].some(name => (process.env[name] ?? '') !== '')) return true
  const { stdout } = await runGit(['config', '--get-urlmatch', 'http.proxy', href], { answers: [0, 1] })
  return stdout.toString('utf8').trim() !== ''
}
