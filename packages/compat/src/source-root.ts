import { findPathFault, isInside, pathInside } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'

/** The folder or URL under which a source was registered. Finds out whether a path is below the folder or URL. */
export class SourceRoot {
  /** Absolute path, or URL. */
  readonly origin: string
  readonly #registered: string

  constructor(origin: string, registered: string) {
    this.origin = origin
    this.#registered = trim(registered)
  }

  get isUrl(): boolean {
    return isUrl(this.origin)
  }

  /** Returns a path relative to the root, empty for the root itself, or `undefined` if the path is outside. */
  within(path: string): string | undefined {
    const text = trim(path)
    if (text === this.origin || text === this.#registered) return ''
    // A longer URL that begins with the URL of this root names another branch or folder. Such a URL needs its own
    // source.
    if (this.isUrl || isUrl(text)) return undefined
    const { origin } = directory(text || '.')
    return origin === this.origin ? '' : pathInside(this.origin, origin)
  }

  /** Whether this root contains `origin`, or `origin` contains this root. */
  overlaps(origin: string): boolean {
    return this.within(origin) !== undefined || (!this.isUrl && isInside(this.origin, trim(origin)))
  }
}

/** Returns the folder of a skill, given the path of its SKILL.md or of its folder. Returns `undefined` for an unsafe path. */
export function toLocation(path: string): string | undefined {
  const folder = /\.md$/i.test(path) ? path.replace(/\/?[^/]*$/, '') : path
  return folder === '' || findPathFault(folder) === undefined ? folder : undefined
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}

function trim(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path
}
