import { renderCatalog, type Skill } from '@skillstoke/core'
import { checkOptions, isModelInvocable, type KnownOptions, quote, whole } from '@skillstoke/core/internal'
import { Likeness } from '../triggers/likeness.ts'
import { type CheckOptions, type Reported, toFindings } from './check-skill.ts'
import type { Finding } from './finding.ts'

/** Tokens of the catalog that clients list whole: two percent of a context of 200,000 tokens. */
const DEFAULT_BUDGET = 4000
/** Descriptions that are as alike as this were judged to be one text in all cases. */
const SIMILAR = 0.75
const MIN_WORDS = 6

/** How several skills are checked. */
export interface CheckSetOptions extends CheckOptions {
  /** Maximum size of the catalog in tokens. If it is given, a larger catalog is a warning. @default 4,000, as a remark */
  readonly budget?: number
}

const KNOWN: KnownOptions<CheckSetOptions> = {
  profiles: true,
  severities: true,
  countTokens: true,
  today: true,
  budget: whole(1),
}

/**
 * Checks what concerns several skills. A finding about one of them has the path of its SKILL.md, and a finding about all of them
 * has no path.
 *
 * @example
 * ```ts
 * import { checkSet } from '@skillstoke/author'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * console.log(checkSet(skills.current.list(), { budget: 10 }).map(({ code }) => code)) // prints [ 'CATALOG_TOO_LARGE' ]
 * ```
 */
export function checkSet(skills: readonly Skill[], options: CheckSetOptions = {}): readonly Finding[] {
  checkOptions('checkSet()', options, KNOWN)
  const listed = skills.filter(isModelInvocable)
  return toFindings([...findSimilar(listed), ...checkSize(listed, options)], options)
}

function findSimilar(skills: readonly Skill[]): readonly Reported[] {
  const wordy = skills.filter(({ description }) => description.split(/\s+/).length >= MIN_WORDS)
  // The names of two copies differ, so only the descriptions are compared.
  const byText = new Map(wordy.map(skill => [{ name: '', description: skill.description }, skill]))
  const alike = new Likeness([...byText.keys()])
    .findPairs(SIMILAR)
    .map(({ a, b }) => [byText.get(a), byText.get(b), 'description is nearly the same'] as const)
  const byBody = Map.groupBy(skills, ({ bodyDigest }) => bodyDigest)
  const copies = [...byBody.values()].flatMap(([first, ...others]) =>
    others.flatMap(other =>
      first === undefined ? [] : [[first, other, 'instructions are the same'] as const],
    ),
  )
  return [...alike, ...copies].flatMap(([a, b, reason]) =>
    a === undefined || b === undefined
      ? []
      : {
          ...{ code: 'DESCRIPTION_SIMILAR', severity: 'warning', line: 1, path: pathOf(b) },
          message: `the ${reason} as of ${quote(a.name)}, so a model cannot choose between the two`,
          fix: 'keep one of the two skills, or say in both descriptions what differs',
        },
  )
}

function pathOf({ directory, location, skillFile }: Skill): string {
  return `${directory ?? location}/${skillFile}`
}

function checkSize(
  listed: readonly Skill[],
  { budget, countTokens = text => Math.ceil(text.length / 4) }: CheckSetOptions,
): readonly Reported[] {
  const { tokens } = renderCatalog(listed, { countTokens, maxTokens: Number.MAX_SAFE_INTEGER })
  const most = budget ?? DEFAULT_BUDGET
  if (tokens <= most) return []
  return [
    {
      code: 'CATALOG_TOO_LARGE',
      severity: budget === undefined ? 'info' : 'warning',
      message: `the catalog of ${listed.length} skills has ${tokens.toLocaleString('en')} tokens; ${most.toLocaleString('en')} are listed whole`,
      fix: 'shorten the longest descriptions, or give each agent a scope; "stoke budget" shows the sizes',
    },
  ]
}
