import { SkillError } from '../../index.ts'
import { resolveAllowed } from '../http/address-guard.ts'

/**
 * Checks where a remote leads before git is started, and makes git connect to the addresses that were checked. Returns settings
 * for git. A host that only a proxy, or the configuration of ssh, can find is left to them.
 * @throws {SkillError} INVALID_OPTION for a private network that is not in `privateHosts`, IO_FAILED for an unknown name
 */
export async function findRemoteSettings(
  remote: string,
  privateHosts: readonly string[],
): Promise<readonly string[]> {
  const url = toUrl(remote)
  if (url.protocol === 'file:') return []
  try {
    const addresses = await resolveAllowed(url, { privateHosts })
    const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port
    const isPinned = url.protocol !== 'ssh:' && !usesProxy(url)
    return isPinned ? [`http.curloptResolve=${url.hostname}:${port}:${addresses.join(',')}`] : []
  } catch (thrown) {
    const isOthers = url.protocol === 'ssh:' || usesProxy(url)
    if (isOthers && SkillError.isInstance(thrown, 'IO_FAILED')) return []
    throw thrown
  }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** `user@host:path` is ssh, too. */
function toUrl(remote: string): URL {
  if (/^[a-z]+:\/\//.test(remote)) return new URL(remote)
  return new URL(`ssh://${remote.slice(remote.indexOf('@') + 1, remote.indexOf(':'))}`)
}

function usesProxy({ protocol }: URL): boolean {
  const names = protocol === 'http:' ? ['http_proxy'] : ['https_proxy', 'HTTPS_PROXY']
  return [...names, 'all_proxy', 'ALL_PROXY'].some(name => (process.env[name] ?? '') !== '')
}
