import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'

/**
 * Puts the revisions of the folders into the history. A command that replaces skill folders does so before and after,
 * so that `stoke rollback` can restore each of them.
 */
export async function keepHistory(config: Config): Promise<void> {
  // Remote sources are left out, because the command changes none of them and reading them takes long.
  const folders = { ...config, remotes: [] }
  await using skills = await openSkills(folders, { watching: 'off', acceptsMissing: true })
  await skills.delivered()
}
