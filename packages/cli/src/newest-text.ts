import { join } from 'node:path'
import { SkillError, type SkillReport } from '@skillstoke/core'
import { decodeUnmarkedText } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'

/**
 * The SKILL.md of a folder as it is on the disk now, which for a broken one is not what is served. `undefined` when it
 * cannot be read, leads out of its folder, or is no regular file of a size that skills have.
 */
export async function readNewestText({ directory }: SkillReport): Promise<string | undefined> {
  if (directory === undefined) return undefined
  const fileSystem = new NodeFileSystem()
  for (const name of ['SKILL.md', 'skill.md']) {
    try {
      const { bytes } = await fileSystem.read(join(directory, name), {
        inside: [await fileSystem.resolve(directory)],
        maxBytes: DEFAULT_LIMITS.maxSkillFileBytes,
      })
      return decodeUnmarkedText(bytes)
    } catch (thrown) {
      if (!SkillError.isInstance(thrown)) throw thrown
    }
  }
  return undefined
}
