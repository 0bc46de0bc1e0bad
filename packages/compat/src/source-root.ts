import { findPathFault } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'

/** The folder or URL that a source was registered with, and which paths are below it. */
export class SourceRoot {
  /** Absolute path, or URL. */
  readonly origin: string
  /** Every way in which it is written, without a slash at the end. */
  readonly #names: readonly string[]

  constructor(origin: string, registered: string) {
    this.origin = origin
    const name = trim(registered)
    this.#names = [...new Set([origin, name, ...(isUrl(name) ? [] : [name.replace(/^\.\//, '')])])]
  }

  get isUrl(): boolean {
    return isUrl(this.origin)
  }

  /** What follows the root in a path, empty for the root itself; `undefined` when the path is elsewhere. */
  within(path: string): string | undefined {
    const text = trim(path)
    if (this.#names.includes(text)) return ''
    // A URL below another one is another branch or folder, read in its own way.
    if (this.isUrl || isUrl(text)) return undefined
    return this.#below(text) ?? (isPlain(text) ? undefined : this.#below(directory(text || '.').origin))
  }

  /** Whether one of two roots is in the other. */
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

/** The folder of a skill, from its text or from itself; `undefined` when it leads elsewhere. */
export function toLocation(path: string): string | undefined {
  const folder = /\.md$/i.test(path) ? path.replace(/\/?[^/]*$/, '') : path
  return folder === '' || findPathFault(folder) === undefined ? folder : undefined
}

/** Absolute and without dots, so that it can be compared as it is. */
function isPlain(path: string): boolean {
  return path.startsWith('/') && !/\/\.{0,2}(\/|$)/.test(path)
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}

function trim(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path
}
