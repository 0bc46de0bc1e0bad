import { join } from 'node:path'
import { SkillError, type SkillReport } from '@skillstoke/core'
import { NodeFileSystem } from '@skillstoke/core/node'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'

/**
 * Returns the SKILL.md of a folder as it is on disk now, which may differ from the served text. Returns `undefined` if
 * the file cannot be read, is a link to a file outside its folder, is too large, or is not a regular file.
 */
export async function readNewestBytes({
  directory,
}: Pick<SkillReport, 'directory'>): Promise<Uint8Array | undefined> {
  if (directory === undefined) return undefined
  const fileSystem = new NodeFileSystem()
  for (const name of ['SKILL.md', 'skill.md']) {
    try {
      const { bytes } = await fileSystem.read(join(directory, name), {
        inside: [await fileSystem.resolve(directory)],
        maxBytes: DEFAULT_LIMITS.maxSkillFileBytes,
      })
      return bytes
    } catch (thrown) {
      if (!SkillError.isInstance(thrown)) throw thrown
    }
  }
  return undefined
}
