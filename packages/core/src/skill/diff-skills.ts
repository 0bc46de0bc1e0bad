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
  const changed = before.revision === after.revision ? [] : changedPaths(before.files, after.files)
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

/**
 * Compares two sorted manifests. Returns every path that only one manifest contains, and every path whose bytes or mode
 * differ.
 */
export function changedPaths(before: readonly SkillFile[], after: readonly SkillFile[]): string[] {
  const paths: string[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const a = before[i]
    const b = after[j]
    const order = a === undefined ? 1 : b === undefined ? -1 : compareText(a.path, b.path)
    if (order < 0) paths.push((a as SkillFile).path)
    else if (order > 0) paths.push((b as SkillFile).path)
    else if (a?.digest !== b?.digest || a?.isExecutable !== b?.isExecutable) paths.push((a as SkillFile).path)
    if (order <= 0) i++
    if (order >= 0) j++
  }
  return paths
}
