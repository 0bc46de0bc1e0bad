import type { Digest } from '@skillstoke/core'
import { type Piece, piecesOf, type StoredPieces, splitFile } from './blobs.ts'
import { CHUNK_BYTES, type ManifestFile } from './manifest.ts'
import type { PublishableSkill } from './publishable.ts'

/** Collects the pieces of files that the servers do not have, or may not keep. */
export class FilesToUpload {
  readonly #stored: StoredPieces
  readonly #pieces = new Map<Digest, Piece>()

  constructor(stored: StoredPieces) {
    this.#stored = stored
  }

  get pieces(): readonly Piece[] {
    return [...this.#pieces.values()]
  }

  /**
   * Adds the files of a new version. The servers keep the files of the head, because the commit fails if another one replaces
   * it.
   * @param kept files of the head
   */
  async add(skill: PublishableSkill, kept: readonly ManifestFile[]): Promise<readonly ManifestFile[]> {
    const known = new Map(kept.map(file => [file.digest, file]))
    const files: ManifestFile[] = []
    for (const { path, digest, size, isExecutable } of skill.files) {
      const file = { path, digest, size, isExecutable }
      const before = known.get(digest)
      if (before !== undefined && !this.#isLost(before)) {
        files.push(before.chunks === undefined ? file : { ...file, chunks: before.chunks })
        continue
      }
      const pieces = splitFile(await skill.readFile(path))
      for (const piece of pieces) this.#pieces.set(piece.digest, piece)
      files.push(size <= CHUNK_BYTES ? file : { ...file, chunks: pieces.map(piece => piece.digest) })
    }
    return files
  }

  /** Adds the files that a skill has in common with its current version, if the servers have lost them. */
  async addLost(skill: PublishableSkill, current: readonly ManifestFile[]): Promise<void> {
    const lost = new Set(current.filter(file => this.#isLost(file)).map(({ digest }) => digest))
    if (lost.size > 0)
      await this.add({ ...skill, files: skill.files.filter(each => lost.has(each.digest)) }, [])
  }

  #isLost(file: ManifestFile): boolean {
    return !piecesOf(file).every(digest => this.#stored.has(digest))
  }
}
