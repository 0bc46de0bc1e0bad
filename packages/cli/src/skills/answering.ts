import type { SkillReport } from '@skillstoke/core'
import { type Answering, decodeUnmarkedText } from '@skillstoke/core/internal'
import { createTwoFilesPatch } from 'diff'
import { readNewestBytes } from './read-newest.ts'
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
