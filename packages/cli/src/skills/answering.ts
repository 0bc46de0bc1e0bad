import { join } from 'node:path'
import { SkillError, type SkillReport, type SkillRuntime } from '@skillstoke/core'
import { type Answering, decodeUnmarkedText, defined } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'
import { createTwoFilesPatch } from 'diff'
import type { Config } from '../config/config.ts'
import { measureQuickly } from './tokens.ts'

/**
 * Lets a runtime answer questions about its skills, which are on the disk of this machine.
 * @param measure returns the size of a catalog that the runtime rendered
 */
export function toAnswering(
  skills: SkillRuntime,
  { scope, catalog }: Pick<Config, 'scope' | 'catalog'>,
  measure: Answering['catalog']['measure'] = each => measureQuickly(each, catalog.maxTokens),
): Answering {
  return {
    skills,
    ...defined({ scope }),
    catalog: { ...catalog, measure },
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
