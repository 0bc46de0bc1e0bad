import { SkillError } from '@skillstoke/core'
import { quote, showValue } from '@skillstoke/core/internal'
import type { GitOptions } from './git-source.ts'

export type GitProtocol = 'https' | 'ssh' | 'file' | 'http'

/** A repository, with the ref and folder to read. */
export interface GitPlace {
  readonly protocol: GitProtocol
  /** The URL for git. The URL is absolute, contains no credentials and does not start with a dash. */
  readonly url: string
  /** The URL in the usual notation, including the ref and the folder. The state directory uses this text as a key. */
  readonly origin: string
  /** The last part of the repository's name. */
  readonly name: string
  /** A branch, a tag or a full commit id; absent for the default branch. */
  readonly ref?: string
  /** Folder within the repository, `/`-separated; empty for the whole repository. */
  readonly path: string
  /**
   * The part `ref/path` of a tree URL. Only the refs of the repository show where the branch name ends, because branch
   * names may contain `/`.
   */
  readonly refAndPath?: string
}

export type GitUrlOptions = Pick<GitOptions, 'ref' | 'path' | 'baseUrl' | 'allowFile' | 'privateHosts'>

const GITHUB = 'https://github.com'
const NAME = /^[A-Za-z0-9_.-]+$/
const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/
const SCP_LIKE =
  /^(?:(?<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@)?(?<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?<path>[^:\s][^\s]*)$/
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/

/**
 * Parses the usual notations of a repository: `https`, `ssh` and scp-like URLs, `owner/repository`, and the URL of a
 * folder on GitHub (`.../tree/<branch>/<folder>`).
 * @throws {SkillError} INVALID_OPTION with the accepted notations
 */
export function parseGitUrl(text: string, options: GitUrlOptions = {}): GitPlace {
  const input = text.trim()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not reach a command line
  if (input === '' || input.startsWith('-') || /[\s\u0000-\u001f\u007f]/.test(input)) throw invalid(text)
  const base = parseBase(options.baseUrl)
  const short = /^(github\.com\/)?([^/:@]+)\/([^/:@]+?)(?:\.git)?\/?$/.exec(input)
  if (short !== null && !/^\.{1,2}$/.test(short[2] ?? '')) {
    const at = short[1] === undefined ? base : new URL(GITHUB)
    return finish(hosted(at, short[2] ?? '', short[3] ?? '', text), options)
  }
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(input)) {
    const scp = SCP_LIKE.exec(input)?.groups
    const path = scp?.['path'] ?? ''
    // Git interprets brackets anywhere in a URL, so git could connect to another host than the host parsed here.
    if (scp === undefined || path.startsWith('-') || isUnsafePath(path) || /[[\]]/.test(path))
      throw invalid(text)
    return finish({ protocol: 'ssh', url: input, origin: input, name: lastOf(path), path: '' }, options)
  }
  return finish(parseUrl(input, text, base, options), options)
}

/** Returns the host of a remote that is written as `user@host:path`. */
export function hostOfScp(url: string): string | undefined {
  return SCP_LIKE.exec(url)?.groups?.['host']
}

/** Returns whether a ref is a full commit id. Unlike a branch, a full commit id always names the same commit. */
export function isCommit(ref: string): boolean {
  return COMMIT.test(ref)
}

/** @throws {SkillError} INVALID_OPTION */
export function checkRef(ref: string): void {
  const isSafe = REF.test(ref) && !/\.\.|\/\/|\/$|\.$|\.lock(\/|$)|\/\./.test(ref)
  if (!isSafe)
    throw new SkillError(
      'INVALID_OPTION',
      `ref is ${quote(ref)}; use the name of a branch or tag, or a whole commit`,
    )
}

function parseUrl(input: string, text: string, base: URL, options: GitUrlOptions): GitPlace {
  // Refuses dot segments, because parsing removes dot segments. The parsed URL would name another branch or folder than
  // the given text.
  if (!URL.canParse(input) || /[/\\](\.|%2e){1,2}([/\\]|$)/i.test(input)) throw invalid(text)
  const url = new URL(input)
  // Links to GitHub sometimes use http, but the same address also works with https.
  if (url.host === 'github.com' && url.protocol === 'http:') url.protocol = 'https:'
  const protocol = url.protocol.slice(0, -1)
  if (protocol === 'file') return parseFile(url, text, options)
  if (protocol !== 'https' && protocol !== 'http' && protocol !== 'ssh') throw invalid(text)
  if (/[[\]]/.test(`${url.username}${decode(url.pathname, text)}`)) throw invalid(text)
  if (url.hostname === '' || url.hostname.startsWith('-') || url.search !== '' || url.hash !== '')
    throw invalid(text)
  if (url.password !== '' || (url.username !== '' && protocol !== 'ssh')) {
    // The message omits the URL, because the URL contains a secret.
    throw new SkillError(
      'INVALID_OPTION',
      `the URL of ${url.host} has credentials in it, which would end up in logs; use a git credential helper, or the option token in a program`,
    )
  }
  if (url.username.startsWith('-') || isUnsafePath(decode(url.pathname, text))) throw invalid(text)
  if (protocol === 'http' && !isAllowedHttp(url, options.privateHosts ?? [])) {
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(input)} is not encrypted; use https, or allow ${quote(url.host)} as a private host (privateHosts, --private-host) if it is a server on this machine`,
    )
  }
  const host = [new URL(GITHUB), base].find(each => each.host === url.host && each.protocol === url.protocol)
  if (host !== undefined && url.pathname.startsWith(host.pathname)) {
    const [owner = '', name = '', tree, ...rest] = url.pathname
      .slice(host.pathname.length)
      .split('/')
      .filter(Boolean)
    if (tree === 'tree' && rest.length > 0) {
      const place = hosted(host, owner, name.replace(/\.git$/, ''), text)
      const refAndPath = decode(rest.join('/'), text)
      return { ...place, refAndPath, origin: `${place.origin}/tree/${refAndPath}` }
    }
    if (tree === undefined) return hosted(host, owner, name.replace(/\.git$/, ''), text)
    throw new SkillError(
      'INVALID_OPTION',
      `Invalid GitHub URL: ${quote(input)}; use ${host.origin}/<owner>/<repository> or .../tree/<branch>/<folder>`,
    )
  }
  if (url.pathname.length < 2) throw invalid(text)
  const plain = url.href.replace(/\/+$/, '')
  return { protocol, url: plain, origin: plain, name: lastOf(url.pathname), path: '' }
}

function parseFile(url: URL, text: string, { allowFile }: GitUrlOptions): GitPlace {
  if (allowFile !== true)
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(text)} is a file URL, which is not allowed here; pass it with --source, or set allowFile: true in a program; for a folder of skills use a root`,
    )
  if (url.host !== '' || url.search !== '' || url.hash !== '') throw invalid(text)
  return { protocol: 'file', url: url.href, origin: url.href, name: lastOf(url.pathname), path: '' }
}

/** Returns the address of a repository on GitHub, or on a server with the same URL layout. */
function hosted(base: URL, owner: string, name: string, text: string): GitPlace {
  for (const part of [owner, name]) {
    if (!NAME.test(part) || /^\.+$/.test(part) || part.startsWith('-'))
      throw new SkillError(
        'INVALID_OPTION',
        `Invalid GitHub URL: ${quote(text)}; use https://github.com/<owner>/<repository> or .../tree/<branch>/<folder>`,
      )
  }
  const origin = `${base.href.replace(/\/$/, '')}/${owner}/${name}`
  return { protocol: base.protocol.slice(0, -1) as GitProtocol, url: `${origin}.git`, origin, name, path: '' }
}

function finish(place: GitPlace, { ref, path }: GitUrlOptions): GitPlace {
  if (place.refAndPath !== undefined && (ref !== undefined || path !== undefined)) {
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(place.origin)} already names a branch and a folder; remove ref and path`,
    )
  }
  if (ref !== undefined) checkRef(ref)
  if (place.refAndPath !== undefined && isUnsafePath(place.refAndPath)) throw invalid(place.origin)
  const folder = (path ?? '').replace(/\/+$/, '')
  if (isUnsafePath(folder) || folder.startsWith('/')) {
    throw new SkillError(
      'INVALID_OPTION',
      `path is ${showValue(path)}; use a folder of the repository such as "skills"`,
    )
  }
  const part = `${ref === undefined ? '' : `#${ref}`}${folder === '' ? '' : `:${folder}`}`
  return {
    ...place,
    origin: `${place.origin}${part}`,
    path: folder,
    ...(ref === undefined ? {} : { ref }),
  }
}

function parseBase(baseUrl: string | undefined): URL {
  if (baseUrl === undefined) return new URL(GITHUB)
  const isUsable = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)
  if (!isUsable)
    throw new SkillError(
      'INVALID_OPTION',
      `baseUrl is ${quote(baseUrl)}; use for example "https://github.example.com"`,
    )
  return new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`)
}

function isAllowedHttp(url: URL, privateHosts: readonly string[]): boolean {
  return (
    LOOPBACK.test(url.hostname) && (privateHosts.includes(url.host) || privateHosts.includes(url.hostname))
  )
}

function isUnsafePath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a path must not contain control characters
  return path.split('/').some(part => part === '..' || part === '.') || /[\\\u0000-\u001f\u007f]/.test(path)
}

function decode(path: string, text: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid(text)
  }
}

function lastOf(path: string): string {
  const last = path.replace(/\/+$/, '').split('/').at(-1) ?? ''
  return last.replace(/\.git$/, '') || 'git'
}

function invalid(text: string): SkillError {
  // The message leaves out every part of the URL that could be a secret.
  const shown = text.replace(/:\/\/.*@/, '://...@')
  return new SkillError(
    'INVALID_OPTION',
    `${quote(shown)} is not the URL of a repository; use https://host/owner/repository, git@host:owner/repository, owner/repository, or file:///folder for a repository on this machine`,
  )
}
