import { statSync } from 'node:fs'
import { join } from 'node:path'
import { BlobReader } from './blob-reader.ts'

const LOCATOR = /^git:(?<mirror>.+)[/\\](?<folder>[0-9a-f]{32})[/\\]mirror\.git:(?<id>[0-9a-f]{40,64})$/
const PLACE = /^git:(?<folder>[0-9a-f]{32}):(?<id>[0-9a-f]{40,64})$/

/** Bytes that a store does not copy, because a mirror of the same state directory has them. */
export class GitBlobs {
  readonly #root: string
  readonly #readers = new Map<string, BlobReader>()

  constructor(stateDirectory: string) {
    this.#root = join(stateDirectory, 'git')
  }

  /** Where a mirror of git keeps an object; what a store is told with bytes that came from there. */
  static locatorOf(mirrorDirectory: string, id: string): string {
    return `git:${mirrorDirectory}:${id}`
  }

  /** What to write down for a locator; `undefined` when it leads elsewhere. */
  toPlace(locator: string): string | undefined {
    const { mirror, folder, id } = LOCATOR.exec(locator)?.groups ?? {}
    return mirror === this.#root ? `git:${folder}:${id}` : undefined
  }

  /** Whether something that was written down is such a place. */
  isPlace(text: string): boolean {
    return PLACE.test(text)
  }

  /** Whether the repository is there; whether it has the object is known when that is read. */
  isThere(place: string): boolean {
    return statSync(this.#directoryOf(place), { throwIfNoEntry: false })?.isDirectory() === true
  }

  /** The bytes, or `undefined` when they are not there any more. */
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
