import type { SkillCatalog } from '../catalog/render-catalog.ts'
import { createScopeTest, type SkillScope } from '../catalog/scope.ts'
import { quote, showValue } from '../quote.ts'
import type { Generation } from '../registry/generation.ts'
import { findUnread } from '../registry/skill-not-found.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { type Diagnostic, type DiagnosticCode, isAboutScripts, isError } from '../skill/diagnostic.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import { suggest } from '../skill/near-names.ts'
import type { NotSkill } from '../source/not-skill.ts'
import type { CommandOffer } from './command-offer.ts'
import { type AskedSkill, folderOf } from './find-asked.ts'

/** The steps that a skill passes on its way into a conversation, in order. */
export const EXPLANATION_STEPS = [
  'found',
  'parsed',
  'eligible',
  'commands',
  'scoped',
  'listed',
  'announced',
  'loaded',
] as const

export type ExplanationStep = (typeof EXPLANATION_STEPS)[number]

export interface SkillExplanation {
  /** The name, folder or path that the caller asked about. */
  readonly name: string
  /** Name of the skill, if the caller asked about a folder or a path. */
  readonly skill?: string
  /** Files and folders that match the question but are not skills, each with the reason. */
  readonly notSkills?: readonly NotSkill[]
  /**
   * The steps up to and including the first failed step, or all steps if none failed. Only skills with commands have
   * the step `commands`. If the step `parsed` fails and an earlier revision is served, the later steps are still
   * included. If the step `commands` fails, the later steps are still included, because the text is served without
   * commands.
   */
  readonly steps: readonly { readonly step: ExplanationStep; readonly ok: boolean; readonly detail: string }[]
}

/** The data about a conversation that an explanation needs. Every `SkillSession` implements it. */
export interface ToldConversation {
  readonly scope: SkillScope | undefined
  /** The catalog in the system prompt of the conversation. */
  readonly catalogDetails: SkillCatalog
  /** The newest generation that was announced to the conversation. */
  readonly generation: Generation
  /** Returns whether a skill was announced to the conversation. */
  knows(name: string): boolean
  /** The skills that the conversation has loaded. */
  readonly ledger: { find(name: string): { readonly revision: Digest } | undefined }
}

/** The conversation for which a skill is explained, with its scope, catalog and generation. */
export interface ExplainedFor {
  readonly generation: Generation
  readonly scope: SkillScope | undefined
  readonly catalog: SkillCatalog
  readonly conversation: ToldConversation | undefined
}

/** What the readers found for the name, folder or path that the caller asked about. */
interface Answer {
  readonly target?: AskedSkill | undefined
  /** The commands of the skill `target`. */
  readonly offer?: CommandOffer | undefined
  /** Matching files and folders that are not skills. */
  readonly notSkills?: readonly NotSkill[]
  /** A sentence that answers the question. */
  readonly finding?: string | undefined
}

type Step = readonly [step: ExplanationStep, ok: boolean, detail: string]

/** Describes the steps of a skill on its way into a conversation, up to the first failed step. */
export function explainSkill(asked: string, audience: ExplainedFor, answer: Answer): SkillExplanation {
  const { target, notSkills = [] } = answer
  const steps: { step: ExplanationStep; ok: boolean; detail: string }[] = []
  const walked =
    target === undefined
      ? [describeMissing(asked, audience.generation, answer)]
      : walk(asked, target, audience, answer.offer)
  for (const [step, ok, detail] of walked) {
    steps.push({ step, ok, detail })
    const isServed = target?.report.serving !== undefined
    if (!ok && !(step === 'commands' || (step === 'parsed' && isServed))) break
  }
  return {
    name: asked,
    ...(target === undefined || target.report.name === asked ? {} : { skill: target.report.name }),
    ...(target !== undefined || notSkills.length === 0 ? {} : { notSkills }),
    steps,
  }
}

function describeMissing(asked: string, generation: Generation, answer: Answer): Step {
  const detail = describeNotFound(asked, generation, answer)
  const unread = findUnread(generation.sources())
  if (unread.length === 0) return ['found', false, detail]
  const others = generation.reports().length === 0 ? [] : [`in the other sources: ${detail}`]
  return ['found', false, [...unread, ...others].join('; ')]
}

function describeNotFound(
  asked: string,
  generation: Generation,
  { finding, notSkills = [] }: Answer,
): string {
  const sources = generation.sources()
  const refused = sources.flatMap(source => source.diagnostics.filter(each => isAbout(each, asked)))
  if (refused.length > 0) return refused.map(each => `${each.path}: ${each.message}`).join('; ')
  if (notSkills.length > 0) {
    const reasons = notSkills.map(({ path, message, fix }) => `${path} ${message}; ${fix}`)
    return reasons.join('; ')
  }
  if (finding !== undefined) return finding
  const hint = suggest(
    asked,
    generation.reports().map(each => each.name),
  )
  const labels = sources.map(source => source.label).join(', ')
  const what = asked.includes('/') ? 'nothing at this path' : 'no folder with this name'
  return `${what} in ${labels === '' ? 'any source' : labels}${hint}`
}

function* walk(
  asked: string,
  target: AskedSkill,
  audience: ExplainedFor,
  offer: CommandOffer | undefined,
): Generator<Step, void, undefined> {
  const { report } = target
  const { name, serving } = report
  const { generation, scope, conversation } = audience
  const reports = generation.reports().filter(each => each.name === name)
  yield ['found', true, describeFound(asked, target, reports)]
  yield describeParsing(report)
  yield ['eligible', serving !== undefined, describeEligibility(report)]
  if (offer !== undefined && (offer.commands.length > 0 || offer.problem !== undefined))
    yield ['commands', offer.problem === undefined, describeOffer(offer)]
  const isInScope = createScopeTest(scope)(name)
  yield ['scoped', isInScope, isInScope ? 'in scope' : `left out by the scope ${showValue(scope)}`]
  const skill = generation.find(name)
  if (skill !== undefined && !isModelInvocable(skill)) {
    yield [
      'listed',
      false,
      `hidden: only a person may invoke it, with "/${name}": disable-model-invocation is true`,
    ]
    return
  }
  const { catalog } = audience
  const isListed = catalog.listed.includes(name)
  if (conversation === undefined) {
    const position = `${catalog.listed.indexOf(name) + 1} of ${catalog.listed.length} in a catalog of ${catalog.tokens} tokens`
    yield [
      'listed',
      isListed,
      isListed ? position : `unlisted: over the budget, one of ${catalog.omitted.length} unlisted skills`,
    ]
    return
  }
  if (catalog.omitted.includes(name)) {
    const count = catalog.omitted.length
    yield [
      'listed',
      false,
      `unlisted: over the budget, one of ${count} unlisted skills, which the skill tool still finds`,
    ]
    return
  }
  const isAnnounced = conversation.knows(name)
  if (isListed || !isAnnounced) {
    yield [
      'listed',
      isListed,
      isListed ? 'in the catalog of the conversation' : 'not in the catalog when the conversation began',
    ]
  } else yield ['listed', true, 'not in the catalog of the conversation; announced by a later message']
  yield ['announced', isAnnounced, `the conversation knows generation ${conversation.generation.number}`]
  const loaded = conversation.ledger.find(name)
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
    ({ code, message, path, line, fix }) =>
      `${path ?? report.location}${line === undefined ? '' : `:${line}`}: ${message} [${code}]${fix === undefined ? '' : `, fix: ${fix}`}`,
  )
  const live = report.serving === undefined ? '' : `; ${shortDigest(report.serving)} stays live`
  return ['parsed', false, `${reasons.join('; ')}${live}`]
}

/** Codes of the diagnostics that report a decision about the newest text of a skill. */
const DECIDED: readonly DiagnosticCode[] = [
  'SKILL_SHADOWED',
  'SKILL_DISABLED',
  'REVISION_HELD',
  'REVISION_PINNED',
  'REVISION_LOST',
]

function describeEligibility({ serving, diagnostics }: SkillReport): string {
  const decided = diagnostics.filter(each => DECIDED.includes(each.code))
  const reasons = decided.map(each => each.message)
  if (serving !== undefined) return [`serving ${shortDigest(serving)}`, ...reasons].join('; ')
  const fixes = decided.flatMap(({ code, fix }) => (code === 'SKILL_DISABLED' && fix ? [fix] : []))
  return [...reasons, ...fixes].join('; ') || 'no revision can be served'
}

function describeFound(
  asked: string,
  { report, inside }: AskedSkill,
  reports: readonly SkillReport[],
): string {
  const { name } = report
  const places = reports.map(each => describeReport(each, reports.length > 1)).join('; ')
  if (inside !== undefined) return `${places}; ${quote(inside)} is a part of the skill ${quote(name)}`
  if (asked === name || folderOf(report) === name) return places
  return `${places}; the SKILL.md in the folder ${quote(folderOf(report))} names the skill ${quote(name)}`
}

function describeReport(report: SkillReport, withStatus: boolean): string {
  const place = report.directory ?? `${report.source}:${report.location}`
  const copies = (report.copies ?? []).map(copy => copy.directory ?? `${copy.source}:${copy.location}`)
  const also = copies.length === 0 ? '' : `, the same in ${copies.join(' and ')}`
  return `${place}${withStatus ? ` (${report.status})` : ''}${also}`
}

function describeOffer({ commands, revision, problem }: CommandOffer): string {
  const names = commands.map(each => each.name).join(', ')
  if (problem === undefined) return names
  if (commands.length === 0 || revision === undefined) return problem
  return `${problem}; the older code of ${shortDigest(revision)} answers: ${names}`
}

/** Returns whether a diagnostic of a source is about a file or folder with this name, for example a refused link. */
function isAbout(diagnostic: Diagnostic, name: string): boolean {
  return diagnostic.path?.split('/').at(-1) === name
}
