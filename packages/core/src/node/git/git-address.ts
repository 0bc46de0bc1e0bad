import { isIP } from 'node:net'
import { SkillError } from '../../index.ts'
import { resolveAllowed } from '../http/address-guard.ts'
import { runGit } from './git-command.ts'
import { hostOfScp } from './git-url.ts'

/**
 * Checks where a remote leads before git is started, and makes git connect to the addresses that were checked, where it looks
 * the name up itself. What ssh makes of a name by its configuration, and what a proxy does, is theirs: then the name alone is checked.
 * Returns settings for git.
 * @throws {SkillError} INVALID_OPTION for a private network that is not in `privateHosts`, IO_FAILED for an unknown name
 */
export async function findRemoteSettings(
  remote: string,
  privateHosts: readonly string[],
): Promise<readonly string[]> {
  const url = toUrl(remote)
  if (url.protocol === 'file:') return []
  // An address needs no looking up, by anybody.
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

/** `user@host:path` is ssh, too. */
function toUrl(remote: string): URL {
  const host = hostOfScp(remote)
  return host === undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(remote)
    ? new URL(remote)
    : new URL(`ssh://${host}`)
}

/** As the environment says, or the configuration of git. */
async function usesProxy({ protocol, href }: URL): Promise<boolean> {
  const names = protocol === 'http:' ? ['http_proxy'] : ['https_proxy', 'HTTPS_PROXY']
  if ([...names, 'all_proxy', 'ALL_PROXY'].some(name => (process.env[name] ?? '') !== '')) return true
  const { stdout } = await runGit(['config', '--get-urlmatch', 'http.proxy', href], { answers: [0, 1] })
  return stdout.toString('utf8').trim() !== ''
}
