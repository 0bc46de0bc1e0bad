import { type CommandOffer, NO_COMMANDS } from '../activation/skill-access.ts'
import type { Catalog } from '../catalog/render-catalog.ts'
import { createScopeTest, type Scope } from '../catalog/scope.ts'
import type { Generation, SkillReport } from '../registry/generation.ts'
import type { SkillSession } from '../session/skill-session.ts'
import { type Diagnostic, type DiagnosticCode, isAboutScripts, isError } from '../skill/diagnostic.ts'
import { shortDigest } from '../skill/digest.ts'
import { findNearNames } from '../skill/near-names.ts'

/** The way of a skill into a conversation, in order. */
export type ExplanationStep =
  | 'found'
  | 'parsed'
  | 'eligible'
  | 'commands'
  | 'scoped'
  | 'listed'
  | 'announced'
  | 'loaded'

export interface Explanation {
  readonly name: string
  /**
   * Up to and including the first step that failed; all of them otherwise. `commands` is there for a skill that has any,
   * and stops nothing: the text goes its way without them.
   */
  readonly steps: readonly { readonly step: ExplanationStep; readonly ok: boolean; readonly detail: string }[]
}

interface ExplainOptions {
  readonly scope?: Scope
  readonly session?: SkillSession
  /** What can be called of the skill, where scripts are run. */
  readonly offer?: CommandOffer
}

type Step = readonly [step: ExplanationStep, ok: boolean, detail: string]

/** Says where a skill stopped, and why. Steps of a conversation are only there when one is given. */
export function explainSkill(
  name: string,
  generation: Generation,
  renderCatalog: (scope: Scope | undefined) => Catalog,
  options: ExplainOptions,
): Explanation {
  const steps: { step: ExplanationStep; ok: boolean; detail: string }[] = []
  for (const [step, ok, detail] of walk(name, generation, renderCatalog, options)) {
    steps.push({ step, ok, detail })
    if (!ok && step !== 'commands') break
  }
  return { name, steps }
}

function* walk(
  name: string,
  generation: Generation,
  renderCatalog: (scope: Scope | undefined) => Catalog,
  { scope: given, session, offer = NO_COMMANDS }: ExplainOptions,
): Generator<Step, void, undefined> {
  const scope = session?.scope ?? given
  const reports = generation.reports().filter(each => each.name === name)
  const report = reports.find(each => each.serving !== undefined) ?? reports[0]
  if (report === undefined) {
    const near = findNearNames(
      name,
      generation.reports().map(each => each.name),
    )
    const hint =
      near.length === 0 ? '' : `; did you mean ${near.map(each => JSON.stringify(each)).join(' or ')}?`
    const refused = generation
      .sources()
      .flatMap(source => source.diagnostics.filter(each => isAbout(each, name)))
    if (refused.length > 0) {
      yield ['found', false, refused.map(each => `${each.path}: ${each.message}`).join('; ')]
      return
    }
    const sources = generation
      .sources()
      .map(source => source.label)
      .join(', ')
    yield ['found', false, `no folder with this name in ${sources === '' ? 'any source' : sources}${hint}`]
    return
  }
  yield ['found', true, reports.map(each => describePlace(each, reports.length > 1)).join('; ')]
  yield describeParsing(report)
  const serving = report.serving
  yield ['eligible', serving !== undefined, describeEligibility(report)]
  const { commands, problem } = offer
  if (commands.length > 0 || problem !== undefined)
    yield ['commands', problem === undefined, problem ?? commands.map(each => each.name).join(', ')]
  const isInScope = createScopeTest(scope)(name)
  yield ['scoped', isInScope, isInScope ? 'in scope' : `left out by the scope ${JSON.stringify(scope)}`]
  const catalog = session?.catalogDetails ?? renderCatalog(scope)
  const isListed = catalog.listed.includes(name)
  if (session === undefined) {
    const position = `${catalog.listed.indexOf(name) + 1} of ${catalog.listed.length} in a catalog of ${catalog.tokens} tokens`
    yield [
      'listed',
      isListed,
      isListed ? position : `over the budget; one of ${catalog.omitted.length} omitted`,
    ]
    return
  }
  if (catalog.omitted.includes(name)) {
    const count = catalog.omitted.length
    yield [
      'listed',
      false,
      `over the budget; one of ${count} omitted, which the skill tool finds all the same`,
    ]
    return
  }
  const isAnnounced = session.generation.find(name) !== undefined
  if (isListed || !isAnnounced) {
    yield [
      'listed',
      isListed,
      isListed ? 'in the catalog of the conversation' : 'not there when the conversation began',
    ]
  } else yield ['listed', true, 'not in the catalog of the conversation, told by a later message']
  yield ['announced', isAnnounced, `the conversation knows generation ${session.generation.number}`]
  const loaded = session.ledger.find(name)
  yield [
    'loaded',
    loaded !== undefined,
    loaded === undefined ? 'not loaded' : `loaded at ${shortDigest(loaded.revision)}`,
  ]
}

function describeParsing(report: SkillReport): Step {
  const found = report.diagnostics.filter(each => !isAboutScripts(each))
  const errors = found.filter(isError)
  if (errors.length === 0) {
    const warnings = found
      .filter(each => each.severity === 'warning' && !DECIDED.includes(each.code))
      .map(each => each.message)
    const revision = report.revision === undefined ? 'unknown' : shortDigest(report.revision)
    return ['parsed', true, [`revision ${revision}`, ...warnings].join('; ')]
  }
  const reasons = errors.map(
    ({ message, path, line }) =>
      `${path ?? report.location}${line === undefined ? '' : `:${line}`}: ${message}`,
  )
  const live = report.serving === undefined ? '' : `; ${shortDigest(report.serving)} stays live`
  return ['parsed', report.serving !== undefined, `${reasons.join('; ')}${live}`]
}

/** What was decided, or is still to be decided, about the newest text of a skill. */
const DECIDED: readonly DiagnosticCode[] = [
  'SKILL_SHADOWED',
  'SKILL_DISABLED',
  'REVISION_HELD',
  'REVISION_PINNED',
  'REVISION_LOST',
]

function describeEligibility({ serving, diagnostics }: SkillReport): string {
  const reasons = diagnostics.filter(each => DECIDED.includes(each.code)).map(each => each.message)
  if (serving !== undefined) return [`serving ${shortDigest(serving)}`, ...reasons].join('; ')
  return reasons.join('; ') || 'no revision can be served'
}

function describePlace(report: SkillReport, withStatus: boolean): string {
  const place = report.directory ?? `${report.source}:${report.location}`
  const copies = (report.copies ?? []).map(copy => copy.directory ?? `${copy.source}:${copy.location}`)
  const also = copies.length === 0 ? '' : `, the same in ${copies.join(' and ')}`
  return `${place}${withStatus ? ` (${report.status})` : ''}${also}`
}

/** Whether a finding of a source is about an entry of this name: a link that was refused, for example. */
function isAbout(diagnostic: Diagnostic, name: string): boolean {
  return diagnostic.path?.split('/').at(-1) === name
}
