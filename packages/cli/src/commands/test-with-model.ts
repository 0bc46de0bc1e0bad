import { writeFile } from 'node:fs/promises'
import { resolveModel } from '@skillstoke/agent'
import { estimateTriggers, type TriggerEstimate, type TriggerTest } from '@skillstoke/author'
import { listCompeting } from '@skillstoke/author/internal'
import {
  type AnswerColumn,
  type AnswerTrials,
  estimateTrials,
  type JobOptions,
  type JobReport,
  renderAnswerReport,
  runAnswerTrials,
  runTriggerTrials,
  type Score,
  type Spent,
  type TokenPrice,
  type TrialEstimate,
  type TrialStore,
  type TriggerTrials,
} from '@skillstoke/author/trials'
import type { Digest, SkillRuntime } from '@skillstoke/core'
import { defined, shortDigest, toMessage } from '@skillstoke/core/internal'
import { isReviewed } from '../check/check-report.ts'
import type { Config } from '../config/config.ts'
import { ProgressLine } from '../fleet/progress-line.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { describeAnswers, describeTrials } from '../terminal/describe-trials.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { paint, printLine } from '../terminal/output.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import { createTrialAgent, nameModel, openMeasured, openTrialSkills } from '../trial/open-trial.ts'
import type { TestedSkill } from './test.ts'

/** How a model is asked. */
export interface ModelFlags {
  readonly model?: string
  readonly baseUrl?: string
  readonly repeats?: number
  readonly maxCalls?: number
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
  readonly against?: OtherScore
  /** What was spent on this skill, for all revisions and answers. */
  readonly spent: Spent
}

type OtherScore = Score & Pick<TriggerTrials, 'spent' | 'stopped' | 'error'>

/** A revision of a skill, opened for trials. */
interface Opened {
  readonly skills: SkillRuntime
  readonly digest: Digest
}

const DEFAULT_MAX_CALLS = 500
/** The revision that was served before the present one. */
const LAST_GOOD = 'last-good'

/** Runs the tests with a model: prints what it will cost, asks the model, and keeps each result. */
export async function testWithModel(
  tested: readonly TestedSkill[],
  config: Config,
  flags: ModelFlags,
): Promise<Answer> {
  const having = tested.filter(({ tests }) => tests.triggers.length + tests.answers.length > 0)
  if (having.length === 0)
    throw new UsageError('no skill has messages in evals/tests.yaml; write some below "fires:" and "silent:"')
  if (having.length > 1 && (flags.revision ?? flags.against) !== undefined)
    throw new UsageError('--revision and --against concern one skill; name it')
  if (flags.report !== undefined && flags.answers !== true)
    throw new UsageError('--report writes the answers of "ask:"; add --answers')
  if (flags.maxCost !== undefined && flags.price === undefined)
    throw new UsageError('--max-cost needs --price INPUT/OUTPUT, in dollars for a million tokens')
  using store = toDisposable(await openMeasured(config))
  using end = abortOnSignal()
  using line = new ProgressLine()
  const { maxCalls = DEFAULT_MAX_CALLS, maxCost, price } = flags
  let options: JobOptions = {
    ...defined({ maxCalls, maxCost, price }),
    store,
    signal: end.signal,
    onProgress: ({ done, of }) => line.show('asked the model', done, of),
  }
  const estimates: (TrialEstimate & { readonly skill: string })[] = []
  const results: SkillResult[] = []
  for (const each of having) {
    const result = await testSkill(each, config, flags, options)
    if ('estimate' in result) {
      estimates.push({ skill: each.skill.name, ...result.estimate })
      continue
    }
    results.push(result)
    if (findStop(result) !== undefined) break
    options = spend(options, result.spent)
  }
  if (flags.dryRun === true) return { json: { tier: 'model', estimates }, text: () => ['no model was asked'] }
  line.end()
  return await toAnswer(results, flags, store.fault)
}

function toDisposable(store: TrialStore): TrialStore & Disposable {
  return Object.assign(store, { [Symbol.dispose]: () => store.close() })
}

/** Lowers the caps by what was spent. */
function spend(options: JobOptions, { calls, cost = 0 }: Spent): JobOptions {
  const { maxCalls, maxCost } = options
  return {
    ...options,
    ...(maxCalls === undefined ? {} : { maxCalls: Math.max(0, maxCalls - calls) }),
    ...(maxCost === undefined ? {} : { maxCost: Math.max(0, maxCost - cost) }),
  }
}

function findStop({ triggers, against, answers }: SkillResult): JobReport['stopped'] {
  return triggers.stopped ?? against?.stopped ?? answers?.stopped
}

/** Tests one skill. Returns only the estimate for `--dry-run`. */
async function testSkill(
  { skill, tests, isTyped }: TestedSkill,
  config: Config,
  flags: ModelFlags,
  options: JobOptions,
): Promise<SkillResult | { readonly estimate: TrialEstimate }> {
  const model = nameModel(config)
  const asked = { model, repeats: flags.repeats ?? 1 }
  await using opened = await open(skill.name, flags.revision, config, flags)
  const agent = createTrialAgent(opened.skills, config)
  const estimate = estimateTrials(tests, { agent, ...asked }, { ...options, countTokens })
  if (flags.json !== true) printLine(describePlan(estimate, flags, options.maxCalls ?? DEFAULT_MAX_CALLS))
  if (flags.dryRun === true) return { estimate }
  const triggers = await runTriggerTrials(tests, { agent, ...asked }, options)
  const { passed, total } = triggers
  const at = new Date().toISOString()
  // Messages of standard input are no tests of the revision.
  if (triggers.stopped === undefined && !isTyped)
    options.store.keepScore({ skill: skill.name, revision: opened.digest, model, passed, total, at })
  let rest = spend(options, triggers.spent)
  const against =
    flags.against === undefined || triggers.stopped !== undefined
      ? undefined
      : await scoreOther(
          { skill, tests, isTyped },
          { ...asked, named: flags.against, config, flags, options: rest },
        )
  if (against !== undefined) rest = spend(rest, against.spent)
  const isGoing = triggers.stopped === undefined && against?.stopped === undefined
  const answers =
    flags.answers === true && tests.answers.length > 0 && isGoing
      ? await testAnswers({ skill, tests, isTyped }, config, { ...flags, ...asked }, rest)
      : undefined
  const { agreement } = estimateTriggers(
    listCompeting(opened.skills.forConversation(defined({ scope: config.scope }))),
    {
      ...tests,
      triggers: withRates(triggers),
    },
  )
  const spent = [triggers, against, answers].flatMap(each => each?.spent ?? []).reduce(add)
  return { triggers, agreement, spent, ...defined({ answers, against }) }
}

function add(a: Spent, b: Spent): Spent {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...defined({ cost: a.cost === undefined ? undefined : a.cost + (b.cost ?? 0) }),
  }
}

/** Returns the messages with the share of runs that loaded the skill. */
function withRates({ trials }: TriggerTrials): readonly TriggerTest[] {
  return trials.flatMap(each => (each.runs === 0 ? [] : { ...each, triggerRate: each.loads / each.runs }))
}

/** Opens the served revision of a skill, or another one after a question. */
async function open(
  name: string,
  wanted: string | undefined,
  config: Config,
  { yes, json }: ModelFlags,
): Promise<Opened & AsyncDisposable> {
  const served = await openTrialSkills({ config, runsScripts: false })
  const close = (skills: SkillRuntime) => ({ [Symbol.asyncDispose]: async () => await skills.close() })
  if (wanted === undefined)
    return { skills: served, digest: served.current.get(name).revision, ...close(served) }
  try {
    const { revision: digest } = await served.history.read(name, wanted)
    const report = served.current.reports().find(each => each.name === name)
    const isServed = served.current.find(name)?.revision === digest
    const isAdmitted = isServed || (report !== undefined && !isReviewed(report, served))
    if (!isAdmitted && yes !== true) {
      if (json === true || !config.isInteractive)
        throw new UsageError(
          `the revision ${digest} is not served; to send its catalog text to a model, add --yes`,
        )
      if (
        !(await askYes(`send the description of ${shortDigest(digest)}, which is not served, to the model?`))
      )
        throw new UsageError('no model was asked')
    }
    const skills = await openTrialSkills({ config, runsScripts: false, revision: { skill: name, digest } })
    return { skills, digest, ...close(skills) }
  } finally {
    await served.close()
  }
}

interface OtherOptions {
  readonly named: string
  readonly model: string
  readonly repeats: number
  readonly config: Config
  readonly flags: ModelFlags
  readonly options: JobOptions
}

/** Sends the same messages with the catalog of another revision. Messages that it was asked before are not sent again. */
async function scoreOther(
  { skill, tests }: TestedSkill,
  { named, model, repeats, config, flags, options }: OtherOptions,
): Promise<OtherScore> {
  await using other = await open(skill.name, named === LAST_GOOD ? '-1' : named, config, flags)
  const asked = { agent: createTrialAgent(other.skills, config), model, repeats }
  const { passed, total, spent, stopped, error } = await runTriggerTrials(tests, asked, options)
  const at = new Date().toISOString()
  const score = { skill: skill.name, revision: other.digest, model, passed, total, at }
  return { ...score, spent, ...defined({ stopped, error }) }
}

/** Compares the answers without the skill, with the served revision, and with the revision that was named. */
async function testAnswers(
  { skill, tests }: TestedSkill,
  config: Config,
  { model, repeats, revision, against }: ModelFlags & { readonly model: string; readonly repeats: number },
  options: JobOptions,
): Promise<AnswerTrials> {
  await using served = await openTrialSkills({ config, runsScripts: true })
  const named = revision ?? (against === LAST_GOOD ? '-1' : against)
  const digest = named === undefined ? undefined : (await served.history.read(skill.name, named)).revision
  await using other =
    digest === undefined
      ? undefined
      : await openTrialSkills({ config, runsScripts: true, revision: { skill: skill.name, digest } })
  const toColumn = (name: string, skills: SkillRuntime, without: readonly string[] = []): AnswerColumn => ({
    ...{ name, agent: createTrialAgent(skills, config, { without, runsScripts: true }) },
    contents: `${skills.current.digest} ${without.join()}`,
  })
  const columns = [
    toColumn('without the skill', served, [skill.name]),
    toColumn('served', served),
    ...(other === undefined || digest === undefined ? [] : [toColumn(shortDigest(digest), other)]),
  ]
  return await runAnswerTrials(tests, {
    ...options,
    columns,
    model,
    repeats,
    judge: resolveModel(config.model),
  })
}

/** Returns the line that says what a run will cost at most. */
function describePlan(
  { calls, known, inputTokens, cost }: TrialEstimate,
  { answers }: ModelFlags,
  maxCalls: number,
): string {
  const money = cost === undefined ? '' : `, about $${cost.toFixed(2)}`
  const rest = answers === true ? ', and the answers' : ''
  const tokens = inputTokens.toLocaleString('en')
  return paint(
    'dim',
    `will ask about ${calls} ${calls === 1 ? 'time' : 'times'} (${known} known): about ${tokens} tokens${money}${rest}; at most ${maxCalls} calls`,
  )
}

async function toAnswer(
  results: readonly SkillResult[],
  flags: ModelFlags,
  fault: string | undefined,
): Promise<Answer> {
  const { report } = flags
  const answers = results.flatMap(each => each.answers ?? [])
  if (report !== undefined) await writeFile(report, answers.map(each => renderAnswerReport(each)).join('\n'))
  const last = results.at(-1)
  const stopped = last && findStop(last)
  const error = last?.triggers.error ?? last?.against?.error ?? last?.answers?.error
  return {
    json: { tier: 'model', skills: results.map(toJson), ...defined({ stopped }) },
    text: function* () {
      for (const each of results) {
        yield* describeTrials(each.triggers, each.against)
        if (each.agreement)
          yield paint(
            'dim',
            `  the estimate from words agreed with the model on ${each.agreement.agreed} of ${each.agreement.of}`,
          )
        if (each.answers !== undefined) yield* describeAnswers(each.answers)
      }
      if (flags.answers === true && answers.length === 0) yield 'no message below "ask:" was sent'
      if (report !== undefined) yield `wrote the answers to ${report}`
      if (fault !== undefined) yield paint('yellow', `the results are not kept: ${fault}`)
      if (stopped !== undefined)
        yield paint('yellow', `${STOPS[stopped]}${error === undefined ? '' : `: ${toMessage(error)}`}`)
    },
    exit: stopped === undefined ? EXIT_OK : stopped === 'aborted' ? EXIT_INTERRUPTED : EXIT_FINDINGS,
  }
}

/** Shows an error as its message, because an error of an SDK has the whole request. */
function toJson({ triggers, against, answers, ...rest }: SkillResult): object {
  const withMessage = (part: { readonly error?: unknown } | undefined): object | undefined =>
    part?.error === undefined ? part : { ...part, error: toMessage(part.error) }
  return {
    ...rest,
    ...defined({
      triggers: withMessage(triggers),
      against: withMessage(against),
      answers: withMessage(answers),
    }),
  }
}

const STOPS: Readonly<Record<NonNullable<TriggerTrials['stopped']>, string>> = {
  calls: 'ended at --max-calls; run it again to go on, because what was measured is kept',
  cost: 'ended at --max-cost; run it again to go on, because what was measured is kept',
  aborted: 'interrupted; what was measured is kept',
  failed: 'a call of the model failed; what was measured is kept',
}
