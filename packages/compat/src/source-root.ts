import { findPathFault } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'

/** The folder or URL under which a source was registered. Finds out whether a path is below the folder or URL. */
export class SourceRoot {
  /** Absolute path, or URL. */
  readonly origin: string
  /** All spellings of the root, without a trailing slash. */
  readonly #names: readonly string[]

  constructor(origin: string, registered: string) {
    this.origin = origin
    const name = trim(registered)
    this.#names = [...new Set([origin, name, ...(isUrl(name) ? [] : [name.replace(/^\.\//, '')])])]
  }

  get isUrl(): boolean {
    return isUrl(this.origin)
  }

  /** Returns a path relative to the root, empty for the root itself, or `undefined` if the path is outside. */
  within(path: string): string | undefined {
    const text = trim(path)
    if (this.#names.includes(text)) return ''
    // A longer URL that begins with the URL of this root names another branch or folder. Such a URL needs its own
    // source.
    if (this.isUrl || isUrl(text)) return undefined
    return this.#below(text) ?? (isPlain(text) ? undefined : this.#below(directory(text || '.').origin))
  }

  /** Whether this root contains `origin`, or `origin` contains this root. */
  overlaps(origin: string): boolean {
    if (this.within(origin) !== undefined) return true
    return !this.isUrl && this.origin.startsWith(origin === '/' ? '/' : `${trim(origin)}/`)
  }

  #below(path: string): string | undefined {
    if (path === this.origin) return ''
    const root = this.#names.find(name => path.startsWith(name === '/' ? '/' : `${name}/`))
    return root === undefined ? undefined : path.slice(root === '/' ? 1 : root.length + 1)
  }
}

/** Returns the folder of a skill, given the path of its SKILL.md or of its folder. Returns `undefined` for an unsafe path. */
export function toLocation(path: string): string | undefined {
  const folder = /\.md$/i.test(path) ? path.replace(/\/?[^/]*$/, '') : path
  return folder === '' || findPathFault(folder) === undefined ? folder : undefined
}

/** Whether a path is absolute and normalised, so that it can be compared directly. */
function isPlain(path: string): boolean {
  return path.startsWith('/') && !/\/\.{0,2}(\/|$)/.test(path)
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}

function trim(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path
}
