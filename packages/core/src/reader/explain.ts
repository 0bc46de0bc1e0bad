import { quote } from '../quote.ts'
import type { Generation } from '../registry/generation.ts'
import type { NotSkill } from '../source/not-skill.ts'
import type { SourceReaders } from '../sync/source-readers.ts'
import type { CommandOffers } from './command-offer.ts'
import { type ExplainedFor, explainSkill, type SkillExplanation } from './explain-skill.ts'
import { type AskedPlace, findAsked, isAt, toPlaces } from './find-asked.ts'

/** What an explanation reads. */
export interface Explained extends ExplainedFor {
  readonly sources: SourceReaders
  readonly commands: CommandOffers | undefined
}

/**
 * Explains from one generation why a skill is in a conversation, or why it is missing, without reading the sources. The
 * question may be a name, a folder or a path.
 */
export function explain(asked: string, from: Explained): SkillExplanation {
  const target = findAsked(asked, from.generation, from.sources.list())
  return explainSkill(asked, from, { target, offer: target && from.commands?.offer(target.report) })
}

/**
 * If a skill matches, returns the same explanation as `explain`. If no skill matches, searches the sources for the
 * reason.
 */
export async function explainFromSources(asked: string, from: Explained): Promise<SkillExplanation> {
  const { generation, sources } = from
  const target = findAsked(asked, generation, sources.list())
  if (target !== undefined && target.inside === undefined) return explain(asked, from)
  const notSkills = await findNotSkills(asked, sources)
  if (target !== undefined && notSkills.length === 0) return explain(asked, from)
  return explainSkill(asked, from, { notSkills, finding: describePart(asked, generation) })
}

async function findNotSkills(asked: string, sources: SourceReaders): Promise<readonly NotSkill[]> {
  const places = toPlaces(asked, sources.list())
  const { found } = await sources.findNotSkills({ withNames: true })
  const wanted = asked.normalize('NFC')
  const exact = found.filter(each => places.some(place => isAt(place, each.source, each.location)))
  if (exact.length > 0) return exact
  const named = found.filter(each => each.skillName === wanted || isCalled(each, wanted))
  if (named.length > 0) return named
  const around = found.filter(each => places.some(place => isBelow(place, each)))
  return around.sort((a, b) => b.location.length - a.location.length).slice(0, 1)
}

/** Returns whether the last part of a path equals the name. For a file, ignores the file extension. */
function isCalled({ location, reason }: NotSkill, name: string): boolean {
  const last = location.slice(location.lastIndexOf('/') + 1)
  return last === name || (reason === 'file' && last.replace(/\.[^.]*$/, '') === name)
}

function isBelow(place: AskedPlace, { source, location }: NotSkill): boolean {
  return (place.source ?? source) === source && place.location.startsWith(`${location}/`)
}

/**
 * If `asked` is a folder with its own SKILL.md inside a skill, returns a sentence that names the outer skill. Otherwise
 * returns `undefined`.
 */
function describePart(asked: string, generation: Generation): string | undefined {
  const end = `/${asked.normalize('NFC')}/skill.md`.toLowerCase()
  for (const skill of generation.list()) {
    const file = skill.files.find(
      ({ path }) => `/${path}`.toLowerCase().endsWith(end) && path !== skill.skillFile,
    )
    if (file === undefined) continue
    const folder = `${skill.directory ?? `${skill.source}:${skill.location}`}/${file.path}`
    return `${folder} is a part of the skill ${quote(skill.name)}, so it is not a skill of its own; move its folder out`
  }
  return undefined
}
