import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'

/**
 * Runs work that replaces skill folders. The history gets the revisions that are there before and after the work, so
 * that `stoke rollback` can restore each of them.
 */
export async function keepHistory<T>(config: Config, work: () => Promise<T>): Promise<T> {
  // Remote sources are left out, because the work changes none of them and reading them takes long.
  const folders = { ...config, remotes: [] }
  await using skills = await openSkills(folders, { watching: 'off', acceptsMissing: true })
  await skills.delivered()
  const done = await work()
  await skills.reload()
  return done
}
