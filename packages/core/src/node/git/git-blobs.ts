import { statSync } from 'node:fs'
import { join } from 'node:path'
import { BlobReader } from './blob-reader.ts'

const LOCATOR = /^git:(?<mirror>.+)[/\\](?<folder>[0-9a-f]{32})[/\\]mirror\.git:(?<id>[0-9a-f]{40,64})$/
const PLACE = /^git:(?<folder>[0-9a-f]{32}):(?<id>[0-9a-f]{40,64})$/

/** Reads bytes from a git mirror in the same state directory, because the store does not copy these bytes. */
export class GitBlobs {
  readonly #root: string
  readonly #readers = new Map<string, BlobReader>()

  constructor(stateDirectory: string) {
    this.#root = join(stateDirectory, 'git')
  }

  /**
   * Returns the locator of an object in a git mirror. The source passes the locator to the store together with the
   * bytes.
   */
  static locatorOf(mirrorDirectory: string, id: string): string {
    return `git:${mirrorDirectory}:${id}`
  }

  /**
   * Returns the text that the index stores for a locator; `undefined` if the locator points outside the state
   * directory.
   */
  toPlace(locator: string): string | undefined {
    const { mirror, folder, id } = LOCATOR.exec(locator)?.groups ?? {}
    return mirror === this.#root ? `git:${folder}:${id}` : undefined
  }

  /** Returns whether a stored text refers to a git mirror. */
  isPlace(text: string): boolean {
    return PLACE.test(text)
  }

  /** Returns whether the mirror exists. Only `read` finds out whether the mirror has the object. */
  isThere(place: string): boolean {
    return statSync(this.#directoryOf(place), { throwIfNoEntry: false })?.isDirectory() === true
  }

  /** Returns the bytes, or `undefined` if the bytes no longer exist. */
  async read(place: string): Promise<Uint8Array | undefined> {
    if (!this.isThere(place)) return undefined
    const directory = this.#directoryOf(place)
    const reader = this.#readers.get(directory) ?? new BlobReader(directory)
    this.#readers.set(directory, reader)
    return await reader.read(PLACE.exec(place)?.groups?.['id'] as string)
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close()
  }

  #directoryOf(place: string): string {
    return join(this.#root, PLACE.exec(place)?.groups?.['folder'] as string, 'mirror.git')
  }
}
