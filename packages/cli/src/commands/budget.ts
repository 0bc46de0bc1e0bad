import { createScopeTest, type SkillRuntime } from '@skillstoke/core'
import { computeBudget, type SkillBudget, toGenerationId } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatCatalog, formatCount } from '../terminal/format-catalog.ts'
import { formatTable, paint, toTerminalLine } from '../terminal/output.ts'

/** Width of a number of tokens. */
const COLUMN = 'LISTED'.length

type Cost = SkillBudget['skills'][number] & {
  /** Null if the instructions cannot be read. */
  readonly body: number | null
}

/** Implements `stoke budget`: prints what each skill costs, and how much of each limit the skills use. */
export async function budget(config: Config): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off' })
  const isInScope = createScopeTest(config.scope)
  const served = skills.current.list().filter(({ name }) => isInScope(name))
  const found = computeBudget(served, { ...config.catalog, countTokens })
  const costs = (await countBodies(found, skills)).toSorted((a, b) => b.listed - a.listed)
  return {
    json: { generation: toGenerationId(skills.current), ...found, skills: costs },
    text: () => (costs.length === 0 ? ['no skills in scope'] : describe(found, costs)),
  }
}

async function countBodies({ skills: costs }: SkillBudget, skills: SkillRuntime): Promise<readonly Cost[]> {
  const found: Cost[] = []
  for (const cost of costs) {
    const skill = skills.current.get(cost.name)
    // Counting must not retrieve the files of a skill that was not loaded yet.
    const body = skills.isStored(skill) ? countTokens(await skills.readBody(skill)) : null
    found.push({ ...cost, body })
  }
  return found
}

function* describe(
  { catalog, limits, neededTokens, skills }: SkillBudget,
  costs: readonly Cost[],
): Generator<string> {
  const rows = costs.map(({ name, visibility, listed, body }) => [
    paint('bold', toTerminalLine(name)),
    visibility,
    formatCount(listed).padStart(COLUMN),
    (body === null ? '-' : formatCount(body)).padStart(COLUMN),
  ])
  yield formatTable([['NAME', 'VISIBILITY', 'LISTED', 'BODY'.padStart(COLUMN)], ...rows])
  yield `\n${formatCatalog(catalog)}`
  yield `${describeCut(skills)}; all skills need ${formatCount(neededTokens)} tokens`
  const uses = limits.map(({ client, what, unit, limit, used, cut: over }) => [
    client,
    what,
    `${formatCount(used)} of ${formatCount(limit)} ${unit}`,
    used <= limit ? 'fits' : paint('yellow', `over ${toTerminalLine(over.join(', '))}`),
  ])
  yield `\n${formatTable([['CLIENT', 'LIMIT', 'USED', ''], ...uses])}`
  yield paint(
    'dim',
    'The limits of a client apply if it reads the folders itself. Tokens are estimates for models with another vocabulary.',
  )
  if (catalog.unlisted > 0)
    yield 'to list more skills: shorten descriptions, leave skills out with --exclude or "scope" in skillstoke.json, or raise --max-tokens or "catalog.maxTokens"'
}

/** Says which skill the catalog leaves out first, and by which rule. */
function describeCut(skills: SkillBudget['skills']): string {
  const rule = 'the catalog is sorted by name and leaves out skills at its end'
  const first = skills.find(({ visibility }) => visibility === 'unlisted')
  if (first !== undefined) return `${rule}, from ${toTerminalLine(first.name)} on`
  const next = skills.findLast(({ visibility }) => visibility === 'listed')
  return next === undefined ? rule : `${rule}, ${toTerminalLine(next.name)} first`
}
