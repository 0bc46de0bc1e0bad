import type { SkillReport, SkillRuntime } from '@skillstoke/core'
import { type Answering, decodeUnmarkedText, defined } from '@skillstoke/core/internal'
import { createTwoFilesPatch } from 'diff'
import type { Config } from '../config/config.ts'
import { readNewestBytes } from './read-newest.ts'
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
