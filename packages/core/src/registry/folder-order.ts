import { compareText } from '../skill/compare.ts'
import { normalizeName } from '../skill/skill-name.ts'
import type { SourceEntry } from '../skill/source-contents.ts'

interface Rule {
  /** The folder with the smaller number comes first. */
  readonly measure: (entry: SourceEntry, name: string) => number
  /** What the first folder has over the other one, as the end of a sentence. */
  readonly reason: string
}

/**
 * The rules that order folders of one source whose skills have the same name. A link, a backup, an example or another
 * spelling must not take the place of the skill itself.
 */
const RULES: readonly Rule[] = [
  { measure: ({ isLinked }) => Number(isLinked ?? false), reason: 'is a folder and not a link' },
  { measure: countLevels, reason: 'is nearer to the root of the same source' },
  {
    measure: (entry, name) => Number(folderNameOf(entry) !== name),
    reason: 'is called like its skill in the same source',
  },
]

/** Orders two folders of one source whose skills have the given name. If no rule decides, the path decides. */
export function compareFolders(a: SourceEntry, b: SourceEntry, name: string): number {
  for (const { measure } of RULES) {
    const difference = measure(a, name) - measure(b, name)
    if (difference !== 0) return difference
  }
  return compareText(a.location, b.location)
}

/** Says why a folder comes before another folder of the same source, as the end of a sentence. */
export function describeFolderOrder(first: SourceEntry, second: SourceEntry, name: string): string {
  if (compareFolders(first, second, name) > 0) return 'was chosen over it'
  const rule = RULES.find(({ measure }) => measure(first, name) !== measure(second, name))
  return rule?.reason ?? 'comes first by path in the same source'
}

function countLevels({ location }: SourceEntry): number {
  return location === '' ? 0 : location.split('/').length
}

/** Returns the name of the folder, or the name of a single-file skill without its extension. */
function folderNameOf({ location, skillFile }: SourceEntry): string {
  const last = location.slice(location.lastIndexOf('/') + 1)
  return normalizeName(location === skillFile ? last.replace(/\.md$/i, '') : last)
}
