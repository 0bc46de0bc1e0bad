import { SkillError } from '../errors.ts'
import type { Generation } from '../registry/generation.ts'

/**
 * Uses the skill with the given name of a generation. If its files are not stored and their origin no longer has them,
 * uses the newest generation once more, unless it serves the same revision.
 */
export async function useNewest<T>(
  reader: { readonly current: Generation },
  asked: { readonly generation: Generation; readonly name: string },
  use: (generation: Generation) => Promise<T>,
): Promise<T> {
  const { generation, name } = asked
  try {
    return await use(generation)
  } catch (thrown) {
    const newest = reader.current
    const isSame = newest.find(name)?.revision === generation.find(name)?.revision
    if (!SkillError.isInstance(thrown, 'REVISION_NOT_FOUND') || isSame) throw thrown
    return await use(newest)
  }
}
