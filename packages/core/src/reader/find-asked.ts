import type { Generation } from '../registry/generation.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import type { SkillSource } from '../source/skill-source.ts'

/** A folder that the caller may have asked about. */
export interface AskedPlace {
  /** The label of the source; absent if the folder may be in any source. */
  readonly source?: string
  readonly location: string
}

/** The skill that the caller asked about, by its name or by a path in its folder. */
export interface AskedSkill {
  readonly report: SkillReport
  /** Path within the folder of the skill; absent if the caller asked about the whole folder or its SKILL.md. */
  readonly inside?: string
}

type Place = Pick<SkillSource, 'label' | 'origin'>

/**
 * Returns the folders that `asked` may refer to. `asked` is an absolute path, a path within a source, or `source/path`.
 */
export function toPlaces(asked: string, sources: readonly Place[]): readonly AskedPlace[] {
  const path = asked
    .normalize('NFC')
    .replace(/\/+$/, '')
    .replace(/^(?:\.\/)+/, '')
  const places: AskedPlace[] = []
  for (const { label, origin } of sources) {
    for (const start of [origin.replace(/\/$/, ''), label]) {
      if (path === start && start !== label) places.push({ source: label, location: '' })
      else if (path.startsWith(`${start}/`))
        places.push({ source: label, location: path.slice(start.length + 1) })
    }
  }
  if (path !== '' && !path.startsWith('/')) places.push({ location: path })
  return places
}

export function isAt(place: AskedPlace, source: string, location: string): boolean {
  return (place.source === undefined || place.source === source) && place.location === location
}

/**
 * Finds a skill by its name, by `source/name`, by its folder name, by the path of its folder, or by a path inside its
 * folder. A match by name is preferred to a match by folder. A match by folder is preferred to a match by a path inside
 * a folder. Served skills are preferred to skills that are not served.
 */
export function findAsked(
  asked: string,
  generation: Generation,
  sources: readonly Place[],
): AskedSkill | undefined {
  const reports = generation.reports()
  const pick = (found: readonly SkillReport[]): AskedSkill | undefined => {
    const report = found.find(({ serving }) => serving !== undefined) ?? found[0]
    return report === undefined ? undefined : { report }
  }
  const places = toPlaces(asked, sources)
  const isNamed = ({ name, source }: SkillReport): boolean => [name, `${source}/${name}`].includes(asked)
  const isPlaced = (report: SkillReport): boolean =>
    [report, ...(report.copies ?? [])].some(({ source, location }) =>
      places.some(place => isAt(place, source, location)),
    )
  return (
    pick(reports.filter(isNamed)) ??
    pick(reports.filter(isPlaced)) ??
    pick(reports.filter(report => folderOf(report) === asked.normalize('NFC'))) ??
    findAround(places, reports)
  )
}

/** Returns the folder name of a skill, or an empty text if the folder is unknown. */
export function folderOf({ location, directory }: SkillReport): string {
  const path = location === '' ? (directory ?? '') : location
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Finds the innermost skill whose folder contains the given path. */
function findAround(places: readonly AskedPlace[], reports: readonly SkillReport[]): AskedSkill | undefined {
  let best: AskedSkill | undefined
  for (const report of reports)
    for (const { source, location } of places) {
      const start = report.location === '' ? '' : `${report.location}/`
      const isInside = location.startsWith(start) && location.length > start.length
      // Skips a skill in the root folder if the question names no source, because every path would match that skill.
      if (!isInside || (source ?? (start === '' ? undefined : report.source)) !== report.source) continue
      if (best !== undefined && best.report.location.length >= report.location.length) continue
      best = { report, inside: location.slice(start.length) }
    }
  if (best?.inside === undefined || !/^skill\.md$/i.test(best.inside)) return best
  return { report: best.report }
}
