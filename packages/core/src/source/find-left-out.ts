import { unlessFailed } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import { compareText } from '../skill/compare.ts'
import { pathsAbove } from '../skill/left-out.ts'
import type { Skill } from '../skill/skill.ts'

/** Maximum number of folders that one search lists. */
const MAX_LISTED = 2_000

/**
 * Returns the paths in the folder of a skill that are not part of the skill, sorted. If no file of a folder is part of
 * the skill, returns the path of the folder with a slash at its end.
 * @param list lists a folder inside the folder of the skill
 */
export async function findLeftOut(
  { files }: Pick<Skill, 'files'>,
  list: (path: string) => Promise<readonly DirectoryEntry[]>,
): Promise<readonly string[]> {
  const known = new Set(files.flatMap(({ path }) => pathsAbove(path)))
  const found: string[] = []
  const waiting = ['']
  for (let listed = 0; waiting.length > 0 && listed < MAX_LISTED; listed++) {
    const within = waiting.shift() as string
    for (const { name, kind } of (await unlessFailed(() => list(within))) ?? []) {
      const path = within === '' ? name : `${within}/${name}`
      if (known.has(path.normalize('NFC'))) {
        if (kind !== 'file') waiting.push(path)
      } else if (kind !== 'directory') found.push(path)
      else if ((await unlessFailed(() => list(path)))?.length !== 0) found.push(`${path}/`)
    }
  }
  return found.sort(compareText)
}
