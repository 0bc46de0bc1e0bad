import { defined } from '../defined.ts'
import { compareText } from './compare.ts'
import type { SkillFile } from './manifest.ts'
import type { Skill } from './skill.ts'

/** The parts of a skill that can change. */
export const FACETS = ['frontmatter', 'body', 'files', 'scripts', 'location'] as const
export type SkillFacet = (typeof FACETS)[number]

/**
 * Returns the facets in which two revisions of a skill differ. The list is empty if the files and the location are
 * equal.
 */
export function diffSkills(before: Skill, after: Skill): readonly SkillFacet[] {
  const facets: SkillFacet[] = []
  const frontmatterChanged = before.frontmatterDigest !== after.frontmatterDigest
  if (frontmatterChanged) facets.push('frontmatter')
  const changed =
    before.revision === after.revision ? [] : diffFiles(before.files, after.files).map(({ path }) => path)
  const isSkillFile = (path: string): boolean => path === before.skillFile || path === after.skillFile
  // Blank lines around the instructions are part of neither the frontmatter digest nor the body digest. A change of
  // only these blank lines must be reported, too.
  const skillFileChanged = changed.some(isSkillFile)
  if (before.bodyDigest !== after.bodyDigest || (skillFileChanged && !frontmatterChanged)) facets.push('body')
  const others = changed.filter(path => !isSkillFile(path))
  if (others.some(path => !path.startsWith('scripts/'))) facets.push('files')
  if (others.some(path => path.startsWith('scripts/'))) facets.push('scripts')
  if (
    before.source !== after.source ||
    before.location !== after.location ||
    before.directory !== after.directory
  ) {
    facets.push('location')
  }
  return facets
}

/** A file that only one of two revisions has, or whose bytes or mode differ. */
export interface FileChange {
  readonly path: string
  readonly before?: SkillFile
  readonly after?: SkillFile
}

/** Compares the files of two revisions. Returns the differences, sorted by path. */
export function diffFiles(before: readonly SkillFile[], after: readonly SkillFile[]): readonly FileChange[] {
  const [old, now] = [before, after].map(files => new Map(files.map(file => [file.path, file])))
  const paths = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].sort(compareText)
  return paths.flatMap(path => {
    const [a, b] = [old?.get(path), now?.get(path)]
    if (a?.digest === b?.digest && a?.isExecutable === b?.isExecutable) return []
    return [{ path, ...defined({ before: a, after: b }) }]
  })
}
