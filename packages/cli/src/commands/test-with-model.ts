import { writeFile } from 'node:fs/promises'
import { resolveModel } from '@skillstoke/agent'
import { estimateTriggers, type TestFault, type TriggerEstimate } from '@skillstoke/author'
import { listCompeting } from '@skillstoke/author/internal'
import {
  type AnswerCell,
  type AnswerTrials,
  estimateTrials,
  type JobOptions,
  type JobReport,
  renderAnswerReport,
  runAnswerTrials,
  runTriggerTrials,
  type Score,
  type TokenPrice,
  type TrialEstimate,
  type TrialStore,
  type TriggerTrials,
} from '@skillstoke/author/trials'
import type { Digest, Skill, SkillRuntime } from '@skillstoke/core'
import { defined, quote, shortDigest, toMessage } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { ProgressLine } from '../fleet/progress-line.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { describeAnswers, describePlan, describeTrials } from '../terminal/describe-trials.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { paint, printFindings, printLine } from '../terminal/output.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import { createTrialAgent, nameModel, openMeasured, openTrialSkills } from '../trial/open-trial.ts'
import { listFaults, prepareFile, type TestedSkill } from './test.ts'

/** How a model is asked. */
export interface ModelFlags {
  readonly model?: string
  readonly baseUrl?: string
  readonly repeats: number
  readonly maxCalls: number
  readonly maxCost?: number
  readonly price?: TokenPrice
  /** Revision to compare with. */
  readonly against?: string
  /** Revision to test instead of the served one. */
  readonly revision?: string
  /** Whether the answers are tested, too. */
  readonly answers?: boolean
  /** File for the answers, as HTML. */
  readonly report?: string
  /** Whether only the estimate is printed. */
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** The result for one skill. */
interface SkillResult {
  /** How often the estimate from words agreed with the model. Null without runs. */
  readonly agreement: TriggerEstimate['agreement']
  readonly triggers: TriggerTrials
  readonly answers?: AnswerTrials
  /** The score of the other revision. */
  readonly against?: Score
}

/** What all tests of one command share. */
interface Asking {
  readonly config: Config
  readonly flags: ModelFlags
  readonly store: TrialStore
  readonly signal: AbortSignal
  readonly line: ProgressLine
  /** The skills as they are served at the start. */
  readonly served: SkillRuntime
  /** What was asked until now. The last report says whether the command goes on. */
  readonly reports: JobReport[]
  /** What the tests will take, for `--dry-run`. */
  readonly estimates: (TrialEstimate & { readonly skill: string })[]
}

/** The column of the served revision, behind the one without the skill. */
const SERVED = 1
/** The revision that was served before the present one. */
const LAST_GOOD = 'last-good'
/** The text in the folder, which may wait for an approval. */
const NEWEST = 'newest'

/** Runs the tests with a model: prints what it will cost, asks the model, and keeps each result. */
export async function testWithModel(
  tested: readonly TestedSkill[],
  skills: SkillRuntime,
  config: Config,
  flags: ModelFlags,
): Promise<Answer> {
  const faults = listFaults(tested)
  printFindings(faults)
  const having = tested.filter(({ tests }) => tests.triggers.length + tests.answers.length > 0)
  if (having.length === 0)
    throw new UsageError('no skill has messages in evals/tests.yaml; write some below "fires:" and "silent:"')
  if (having.length > 1 && (flags.revision ?? flags.against) !== undefined)
    throw new UsageError('--revision and --against concern one skill; name it')
  if (flags.report !== undefined && flags.answers !== true)
    throw new UsageError('--report writes the answers of "ask:"; add --answers')
  const { model, baseUrl } = config.model
  if (baseUrl === undefined && model !== undefined && model !== 'offline' && !model.includes('/'))
    throw new UsageError(
      `the model ${quote(model)} needs its server: add --base-url URL, or name a provider, for example openai/gpt-5`,
    )
  // Fails before anything is spent.
  if (flags.report !== undefined) prepareFile(flags.report)
  if (flags.maxCost !== undefined && flags.price === undefined)
    throw new UsageError('--max-cost needs --price INPUT/OUTPUT, in dollars for a million tokens')
  using store = await openMeasured(config)
  if (store.fault !== undefined) process.stderr.write(`note: the results are not kept: ${store.fault}\n`)
  using end = abortOnSignal()
  using line = new ProgressLine()
  await using served = await openTrialSkills(config)
  const { signal } = end
  const asking: Asking = { config, flags, store, signal, line, served, reports: [], estimates: [] }
  const results: SkillResult[] = []
  for (const each of having) {
    if (isStopped(asking)) break
    const { skill, tests } = each
    const revision = await admit(skill, flags.revision, skills, asking)
    const against = await admit(skill, flags.against, skills, asking)
    await using named = revision && (await openTrialSkills(config, { skill: skill.name, digest: revision }))
    await using compared = against && (await openTrialSkills(config, { skill: skill.name, digest: against }))
    const own = await testMessages(each, named ?? served, asking)
    const other = compared && !isStopped(asking) && (await testMessages(each, compared, asking))
    const isAnswering = flags.answers === true && tests.answers.length > 0 && !isStopped(asking)
    const answers = isAnswering ? await testAnswers(each, named ?? compared, asking) : undefined
    if (own === undefined) continue
    const { triggers, agreement } = own
    results.push({ triggers, agreement, ...defined({ answers, against: other ? other.score : undefined }) })
  }
  return await toAnswer(results, faults, asking)
}

function isStopped({ reports }: Asking): boolean {
  return reports.at(-1)?.stopped !== undefined
}

/**
 * Returns the digest of a revision that a person named. Asks first if this revision was never served or is rejected, because
 * its description goes to a model.
 */
async function admit(
  skill: Skill,
  named: string | undefined,
  skills: SkillRuntime,
  { config, flags: { yes, json } }: Asking,
): Promise<Digest | undefined> {
  if (named === undefined) return undefined
  const revision = await findNamed(skill, named, skills)
  if (revision === skill.revision) return revision
  const steps = (await skills.history.log(skill.name)).filter(each => each.revision === revision)
  if (steps.length === 0) throw new UsageError(`${revision} was never a revision of ${skill.name}`)
  const last = steps.find(({ event, cause }) => event === 'live' || cause === 'reject')
  if (yes === true || last?.event === 'live') return revision
  if (json === true || !config.isInteractive)
    throw new UsageError(
      `the revision ${revision} is not served; to send its catalog text to a model, add --yes`,
    )
  const question = `send the description of ${shortDigest(revision)}, which is not served, to the model?`
  if (!(await askYes(question))) throw new UsageError('no model was asked')
  return revision
}

async function findNamed(
  { name, source, location }: Skill,
  named: string,
  skills: SkillRuntime,
): Promise<Digest> {
  if (named !== NEWEST) return (await skills.history.read(name, named === LAST_GOOD ? '-1' : named)).revision
  const report = skills.current.reports().find(each => each.source === source && each.location === location)
  if (report?.revision === undefined) throw new UsageError(`the newest text of ${name} is broken`)
  return report.revision
}

/**
 * Sends the messages with the catalog of a revision, or of the served one, and keeps the score. Returns `undefined` if the
 * person only wanted the estimate.
 */
async function testMessages(
  { skill: { name }, tests, isTyped }: TestedSkill,
  skills: SkillRuntime,
  asking: Asking,
): Promise<(Pick<SkillResult, 'triggers' | 'agreement'> & { readonly score: Score }) | undefined> {
  const { config, flags, store, served, reports } = asking
  const model = nameModel(config)
  const asked = { agent: createTrialAgent(skills, config), model, repeats: flags.repeats }
  const options = toOptions(asking)
  const { revision } = skills.current.get(name)
  const which = skills === served ? '' : `with ${shortDigest(revision)}: `
  showPlan(name, which, estimateTrials(tests, asked, { ...options, countTokens }), asking)
  if (flags.dryRun === true) return undefined
  const triggers = await runTriggerTrials(tests, asked, options)
  reports.push(triggers)
  const { passed, total, trials } = triggers
  const score = { skill: name, revision, model, passed, total, at: new Date().toISOString() }
  // Messages of standard input are no tests of the revision.
  if (triggers.stopped === undefined && total > 0 && !isTyped) store.keepScore(score)
  const competing = listCompeting(skills.forConversation(defined({ scope: config.scope })))
  const { agreement } = estimateTriggers(competing, { ...tests, triggers: trials })
  return { triggers, agreement, score }
}

/** Says what will be asked, before anything is spent. */
function showPlan(
  skill: string,
  which: string,
  estimate: TrialEstimate,
  { flags, line, estimates }: Asking,
): void {
  if (estimate.calls + estimate.known === 0) return
  estimates.push({ skill, ...estimate })
  line.end()
  if (flags.json !== true) printLine(paint('dim', which + describePlan(estimate, flags)))
}

/** Compares the answers without the skill, with the served revision, and with the revision that was named. */
async function testAnswers(
  { skill: { name }, tests }: TestedSkill,
  other: SkillRuntime | undefined,
  asking: Asking,
): Promise<AnswerTrials | undefined> {
  const { config, flags, served, reports } = asking
  const toAgent = (skills: SkillRuntime, without: readonly string[] = []) =>
    createTrialAgent(skills, config, { without, runsScripts: true })
  const columns = [
    { name: 'without the skill', agent: toAgent(served, [name]) },
    { name: 'served', agent: toAgent(served) },
    ...(other === undefined
      ? []
      : [{ name: shortDigest(other.current.get(name).revision), agent: toAgent(other) }]),
  ]
  const asked = {
    columns,
    judge: resolveModel(config.model),
    model: nameModel(config),
    repeats: flags.repeats,
  }
  const options = toOptions(asking)
  showPlan(name, 'the answers, at least: ', estimateTrials(tests, asked, { ...options, countTokens }), asking)
  if (flags.dryRun === true) return undefined
  const answers = await runAnswerTrials(tests, { ...options, ...asked })
  reports.push(answers)
  return answers
}

/** Returns what may still be spent. */
function toOptions({ flags, store, signal, line, reports }: Asking): JobOptions {
  const { maxCalls, maxCost, price } = flags
  const left = (most: number, key: 'calls' | 'cost'): number =>
    Math.max(
      0,
      reports.reduce((rest, { spent }) => rest - (spent[key] ?? 0), most),
    )
  return {
    ...{ store, signal, maxCalls: left(maxCalls, 'calls') },
    ...defined({ price, maxCost: maxCost && left(maxCost, 'cost') }),
    onProgress: ({ done, of }) => line.show('asked the model', done, of),
  }
}

async function toAnswer(
  results: readonly SkillResult[],
  faults: readonly TestFault[],
  { flags: { report, answers: isAnswering, dryRun, revision }, reports, estimates }: Asking,
): Promise<Answer> {
  const answers = results.flatMap(each => each.answers ?? [])
  if (report !== undefined && answers.length > 0) await writeFile(report, renderAnswerReport(...answers))
  const { stopped, error } = reports.at(-1) ?? {}
  return {
    json: { tier: 'model', faults, ...(dryRun === true ? { estimates } : { skills: results.map(toJson) }) },
    text: function* () {
      if (reports.length === 0) yield 'no model was asked'
      for (const each of results) {
        if (each.triggers.trials.length > 0) yield* describeTrials(each.triggers, each.against)
        const { agreed, of } = each.agreement ?? { agreed: 0, of: 0 }
        if (of > 0)
          yield paint('dim', `  the estimate from words agreed with the model on ${agreed} of ${of}`)
        if (each.answers !== undefined) yield* describeAnswers(each.answers)
      }
      if (isAnswering !== true && results.some(each => each.triggers.trials.length === 0))
        yield 'the messages below "ask:" are sent with --answers'
      if (isAnswering === true && answers.length === 0 && stopped === undefined)
        yield 'no message below "ask:" was sent'
      if (report !== undefined && answers.length > 0) yield `wrote the answers to ${report}`
      if (stopped !== undefined)
        yield paint('yellow', `${STOPS[stopped]}${error === undefined ? '' : `: ${toMessage(error)}`}`)
    },
    exit:
      stopped === 'aborted'
        ? EXIT_INTERRUPTED
        : stopped !== undefined || results.some(each => isWorse(each, revision))
          ? EXIT_FINDINGS
          : EXIT_OK,
  }
}

/** Whether a test failed, or, beside another revision, whether fewer messages passed than there. */
function isWorse(
  { triggers: { passed, total }, against, answers }: SkillResult,
  revision: string | undefined,
): boolean {
  const column = revision === undefined ? SERVED : SERVED + 1
  const isAnswered = (cell: AnswerCell | undefined): boolean =>
    cell === undefined || cell.passed * 2 > cell.runs
  const isMissing = answers?.rows.some(({ cells }) => !isAnswered(cells[column])) ?? false
  return isMissing || passed < (against === undefined ? total : against.passed)
}

/** Shows errors as messages, because an error of an SDK has the whole request. */
function toJson({ triggers, answers, ...rest }: SkillResult): object {
  const shown = (part: JobReport): object =>
    part.error === undefined ? part : { ...part, error: toMessage(part.error) }
  return { ...rest, triggers: shown(triggers), ...defined({ answers: answers && shown(answers) }) }
}

const STOPS: Readonly<Record<NonNullable<TriggerTrials['stopped']>, string>> = {
  calls: 'ended at --max-calls; run it again to go on, because what was measured is kept',
  cost: 'ended at --max-cost; run it again to go on, because what was measured is kept',
  aborted: 'interrupted; what was measured is kept',
  failed: 'a message could not be tested; what was measured is kept',
}
