import type { CommandOffer } from '../activation/skill-access.ts'
import type { Catalog } from '../catalog/render-catalog.ts'
import type { Scope } from '../catalog/scope.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillSession } from '../session/skill-session.ts'
import type { NotSkill } from '../source/not-skill.ts'
import { type Explanation, explainSkill } from './explain-skill.ts'
import { type AskedPlace, findAsked, isAt, toPlaces } from './find-asked.ts'
import type { SourceReaders } from './source-readers.ts'

/** For whom something is explained. */
export interface ExplainWithin {
  readonly scope?: Scope
  readonly session?: SkillSession
}

export interface SkillExplainerHost {
  readonly current: () => Generation
  readonly sources: Pick<SourceReaders, 'list' | 'findNotSkills'>
  readonly renderCatalog: (scope: Scope | undefined) => Catalog
  /** What can be called of a skill. */
  readonly offer: (name: string) => CommandOffer
}

/** What holds of a folder with one of these reasons holds of everything in it. */
const ENCLOSING: readonly NotSkill['reason'][] = ['misnamed', 'skipped', 'too-deep', 'ignored', 'link']

/** Answers why a skill is in a conversation, or is not, however it is asked for. */
export class SkillExplainer {
  readonly #host: SkillExplainerHost

  constructor(host: SkillExplainerHost) {
    this.#host = host
  }

  /** Answers from the newest generation. */
  explain(asked: string, within: ExplainWithin): Explanation {
    const { current, sources, renderCatalog, offer } = this.#host
    const generation = current()
    const target = findAsked(asked, generation, sources.list())
    return explainSkill(asked, generation, renderCatalog, {
      ...within,
      ...(target === undefined ? {} : { target, offer: offer(target.report.name) }),
    })
  }

  /** Answers like `explain`; for what is not a skill it looks at the sources. */
  async why(asked: string, within: ExplainWithin): Promise<Explanation> {
    const { current, sources, renderCatalog } = this.#host
    const generation = current()
    const target = findAsked(asked, generation, sources.list())
    if (target !== undefined && target.inside === undefined) return this.explain(asked, within)
    const notSkills = await this.#findNotSkills(asked)
    if (target !== undefined && notSkills.length === 0) return this.explain(asked, within)
    const answer = describePart(asked, generation)
    const other = answer === undefined ? {} : { answer }
    return explainSkill(asked, generation, renderCatalog, { ...within, notSkills, ...other })
  }

  async #findNotSkills(asked: string): Promise<readonly NotSkill[]> {
    const { sources } = this.#host
    const places = toPlaces(asked, sources.list())
    const { found } = await sources.findNotSkills(({ label }) => {
      const location = places.find(({ source }) => (source ?? label) === label)?.location
      return { withNames: true, ...(location === undefined ? {} : { location }) }
    })
    const wanted = asked.normalize('NFC')
    const exact = found.filter(each => places.some(place => isAt(place, each.source, each.location)))
    if (exact.length > 0) return exact
    const named = found.filter(each => each.skillName === wanted || isCalled(each, wanted))
    if (named.length > 0) return named
    const around = found.filter(
      each => ENCLOSING.includes(each.reason) && places.some(place => isBelow(place, each)),
    )
    return around.sort((a, b) => b.location.length - a.location.length).slice(0, 1)
  }
}

/** Whether the last part of a path is this name, with or without the ending of a file. */
function isCalled({ location, reason }: NotSkill, name: string): boolean {
  const last = location.slice(location.lastIndexOf('/') + 1)
  return last === name || (reason === 'file' && last.replace(/\.[^.]*$/, '') === name)
}

function isBelow(place: AskedPlace, { source, location }: NotSkill): boolean {
  return (place.source ?? source) === source && place.location.startsWith(`${location}/`)
}

/** Says that a folder with a SKILL.md is a part of another skill; `undefined` if there is no such folder. */
function describePart(asked: string, generation: Generation): string | undefined {
  const end = `/${asked.normalize('NFC')}/skill.md`.toLowerCase()
  for (const skill of generation.list()) {
    const file = skill.files.find(
      ({ path }) => `/${path}`.toLowerCase().endsWith(end) && path !== skill.skillFile,
    )
    if (file === undefined) continue
    const folder = `${skill.directory ?? `${skill.source}:${skill.location}`}/${file.path}`
    return `${folder} is a part of the skill ${JSON.stringify(skill.name)}, so it is not a skill of its own; move its folder out`
  }
  return undefined
}
