import { join } from 'node:path'
import { SkillError, type SkillReport } from '@skillstoke/core'
import { type Answering, decodeUnmarkedText } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'
import { createTwoFilesPatch } from 'diff'
import { toViewing } from './viewing.ts'

/** Lets a runtime answer questions about its skills, which are on the disk of this machine. */
export function toAnswering(...viewed: Parameters<typeof toViewing>): Answering {
  return {
    ...toViewing(...viewed),
    readNewest,
    toPatch: ({ path, before, after, from, to }) =>
      createTwoFilesPatch(path, path, before, after, from, to, { context: 2 }),
  }
}

async function readNewest(report: SkillReport): Promise<string | undefined> {
  const bytes = await readNewestBytes(report)
  return bytes === undefined ? undefined : decodeUnmarkedText(bytes)
}

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
