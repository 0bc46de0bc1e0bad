import { unlessFailed } from '../errors.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReader } from './skill-reader.ts'

/**
 * Returns the newest generation, or the known generation if the wait would take longer than `maxWaitMs`. Only lists may
 * use this function, because a notification follows when the list changes. The text of a skill must come from a barrier.
 */
export async function freshOrKnown(
  reader: Pick<SkillReader, 'fresh' | 'current'>,
  maxWaitMs: number,
): Promise<Generation> {
  return (await unlessFailed(() => reader.fresh({ maxWaitMs }), 'TIMED_OUT')) ?? reader.current
}
