import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote, toMessage } from '@skillstoke/core/internal'

/** Returns the addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

export interface HostAccess {
  /**
   * Allowed hosts in a private network or on this machine, as `name` or `name:port`. Connections to hosts on
   * this machine may be unencrypted.
   */
  readonly privateHosts: readonly string[]
  /** @default the resolver of this machine */
  readonly resolve?: ResolveHost
}

const KNOWN: KnownOptions<HostAccess> = { privateHosts: true, resolve: true }

const PRIVATE_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
// In IPv6, globally routed addresses are public, except ranges that embed other addresses or are reserved for examples.
const PUBLIC_V6 = ['2000::', 3] as const
const PRIVATE_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const privateV4 = new BlockList()
for (const [address, prefix] of PRIVATE_V4) privateV4.addSubnet(address, prefix, 'ipv4')
const publicV6 = new BlockList()
publicV6.addSubnet(PUBLIC_V6[0], PUBLIC_V6[1], 'ipv6')
const privateV6 = new BlockList()
for (const [address, prefix] of PRIVATE_V6) privateV6.addSubnet(address, prefix, 'ipv6')
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Returns whether an IP address is public, so that it can be reached from the whole internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !privateV4.check(address, 'ipv4')
  return version === 6 && publicV6.check(address, 'ipv6') && !privateV6.check(address, 'ipv6')
}

/**
 * Checks a URL before any request to it.
 * @throws {SkillError} INVALID_OPTION when the URL is not allowed
 *
 * @example
 * ```ts
 * import { SkillError } from '@skillstoke/core'
 * import { checkUrl } from '@skillstoke/sources'
 *
 * checkUrl(new URL('https://example.com/skills'), { privateHosts: [] })
 * try {
 *   checkUrl(new URL('https://10.0.0.1/skills'), { privateHosts: [] })
 * } catch (error) {
 *   console.log(SkillError.isInstance(error, 'INVALID_OPTION')) // prints true
 * }
 * ```
 */
export function checkUrl(url: URL, access: HostAccess): void {
  checkOptions('checkUrl()', access, KNOWN)
  const isAllowed = isPrivateHostAllowed(url, access.privateHosts)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.username !== '' || url.password !== '')
    throw new SkillError(
      'INVALID_OPTION',
      `the URL of ${url.host} has credentials in it, which would end up in logs; remove them`,
    )
  if (url.protocol === 'http:' && isAllowed && isLoopbackName(host)) return
  if (url.protocol !== 'https:') {
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(url.href)} is not encrypted; use https, or allow ${quote(url.host)} as a private host (privateHosts, --private-host) if it is a server on this machine`,
    )
  }
  if (isIP(host) !== 0 && !isAllowed && !isPublicAddress(host)) throw refused(url.host, host)
}

/**
 * Returns the checked addresses of a host. Refuses the host if any of its addresses is in a private network.
 * @throws {SkillError} INVALID_OPTION when the host is not allowed, IO_FAILED when the name is unknown
 */
export async function resolveAllowed(url: URL, access: HostAccess): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) === 0 ? await resolveName(host, access.resolve) : [host]
  if (!isPrivateHostAllowed(url, access.privateHosts)) {
    const inside = addresses.find(address => !isPublicAddress(address))
    if (inside !== undefined) throw refused(url.host, inside)
  } else if (url.protocol === 'http:' && !addresses.every(isLoopbackAddress)) {
    throw new SkillError('INVALID_OPTION', `${url.host} is not on this machine; use https`)
  }
  return addresses
}

async function resolveName(
  host: string,
  resolve: ResolveHost = resolveByMachine,
): Promise<readonly string[]> {
  try {
    const addresses = await resolve(host)
    if (addresses.length > 0) return addresses
  } catch (thrown) {
    throw new SkillError('IO_FAILED', `the name ${quote(host)} cannot be resolved: ${toMessage(thrown)}`, {
      cause: thrown,
    })
  }
  throw new SkillError('IO_FAILED', `the name ${quote(host)} has no address`)
}

async function resolveByMachine(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

function isPrivateHostAllowed(url: URL, privateHosts: readonly string[]): boolean {
  return privateHosts.includes(url.host) || privateHosts.includes(url.hostname)
}

function isLoopbackName(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host)
}

function isLoopbackAddress(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

function refused(host: string, address: string): SkillError {
  return new SkillError(
    'INVALID_OPTION',
    `${host} is at ${address}, in a private network or on this machine; allow it as a private host (privateHosts, --private-host) if you trust it`,
  )
}
