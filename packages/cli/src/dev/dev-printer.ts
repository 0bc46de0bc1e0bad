import { join } from 'node:path'
import type { AgentEvent, PrefixReading } from '@skillstoke/agent'
import { rankSkills } from '@skillstoke/author/internal'
import type {
  Diagnostic,
  Generation,
  RegistryUpdate,
  SessionOffer,
  SessionUpdate,
  SkillChange,
  SkillFacet,
  SkillReport,
  SkillRuntime,
  TokenCounter,
} from '@skillstoke/core'
import {
  type CatalogView,
  countEntry,
  listNotSkills,
  quoteAll,
  shortDigest,
  targetOf,
  toMessage,
  type Viewing,
  viewCatalog,
} from '@skillstoke/core/internal'
import { judge, type SkillFindings } from '../check/skill-findings.ts'
import { type Config, findingsOf, pathsOf } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { MCP_CLIENT_IDS } from '../mcp-clients/client-ids.ts'
import type { DevServer } from '../server/dev-server.ts'
import { ageOfChange, ageOfReport, timeOfUpdate } from '../server/save-age.ts'
import { toTimelineChange } from '../server/timeline.ts'
import { isInRoot } from '../skills/open-skills.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { describeNotSkills } from '../terminal/describe-not-skills.ts'
import { formatCatalog } from '../terminal/format-catalog.ts'
import {
  formatDiagnostic,
  formatIndented,
  formatPlace,
  nearPath,
  paint,
  paintStatus,
  shorten,
  sortForPeople,
  toAdvice,
  toTerminalLine,
  toTerminalText,
} from '../terminal/output.ts'
import { nameCommand } from '../terminal/program-name.ts'

export interface DevPrinterOptions {
  readonly print: (line?: string) => void
  readonly countTokens: TokenCounter
  readonly config: Config
  /** Whether the caller prints the answer of the model as it arrives. @default false */
  readonly isStreamed?: boolean
  /** Whether each step is printed, and not only one line for each save. @default true */
  readonly isVerbose?: boolean
  /** Absent in a chat, which has no server, and a catalog of its own. */
  readonly running?: {
    readonly viewing: Viewing
    readonly server: Pick<DevServer, 'pageUrl' | 'mcpUrl' | 'token' | 'state'>
    /** What the demo agent is asked. */
    readonly question: string | undefined
  }
}

type FinishEvent = Extract<AgentEvent, { kind: 'finish' }>

/** A conversation that gets notices of changed skills. */
export interface ListeningSession {
  readonly id: string
  /** The next notice for the conversation. */
  readonly pending: SessionOffer | undefined
  /** Number of the next turn in the conversation. Absent if the turns run in another program. */
  readonly nextTurn?: number
  /** Comparison of the next request to the model with the last request, if known. */
  readonly prefix?: PrefixReading
}

const CHANGES = { added: 'ADDED', removed: 'REMOVED', modified: 'LIVE' } as const
const ANSWER_WIDTH = 400
const RESULT_WIDTH = 200
const MAX_SESSION_LINES = 10
const MAX_SKILL_LINES = 40
const MAX_BROKEN = 2
/** The width of a terminal that everybody has. */
const WIDTH = 80
const NO_SKILLS = 'no skills yet; create a folder with a SKILL.md in one of the roots'

/** Prints what happens to skills and in conversations: one line for each save or, if verbose, for each event. */
export class DevPrinter {
  readonly #options: DevPrinterOptions
  isVerbose: boolean
  /** Whether every request of this turn began with the bytes of the one before, if there was one. */
  #isCacheKept: boolean | undefined
  /** The update whose diff is printed when the user presses `d`. */
  lastUpdate: RegistryUpdate | undefined
  /** Whether the next model call follows a notice. */
  #hasNotice = false
  #isReasoning = false
  readonly #findings: SkillFindings | undefined
  /** What new conversations saw after the last update. */
  #view: CatalogView | undefined

  constructor(options: DevPrinterOptions) {
    const { isVerbose = true, running } = options
    this.#options = options
    this.isVerbose = isVerbose
    this.#findings = running?.server.state.findings
    this.#view = running && viewCatalog(running.viewing)
  }

  /** Prints where the server is, what to edit, and what needs a person. If verbose, lists each source and skill, too. */
  async overview(): Promise<void> {
    const { print, running } = this.#options
    if (running === undefined || this.#view === undefined) return
    const { skills } = running.viewing
    const reports = skills.current.reports()
    const broken = reports.filter(({ status }) => status === 'broken')
    const waiting = reports.filter(({ status }) => status === 'pending').length
    print(`${paint('bold', 'skillstoke dev')} ${readVersion()}`)
    if (this.isVerbose) await this.#listEach(skills, this.#view)
    this.#addresses(running.server)
    const path = findExample(skills, running.question)
    const pending = `approve what waits: press o, or ${nameCommand(['pending', ...this.#options.config.options])}`
    if (path !== undefined) print(`  edit ${nearPath(path)}; agents follow at their next step`)
    else print(`  ${waiting > 0 ? pending : NO_SKILLS}`)
    const counts = [
      `  ${reports.length} ${reports.length === 1 ? 'skill' : 'skills'}`,
      ...(broken.length > 0 ? [paint('red', `${broken.length} broken`)] : []),
      ...(waiting > 0 ? [paint('cyan', `${waiting} waiting for approval`)] : []),
    ]
    print(`${counts.join(', ')}; ${formatCatalog(this.#view.use)}`)
    if (!this.isVerbose) for (const report of broken.slice(0, MAX_BROKEN)) this.#rejected(report)
    this.#sourceFindings(skills.current)
  }

  /** Prints every source and every skill, with its findings. */
  async #listEach(skills: SkillRuntime, view: CatalogView): Promise<void> {
    const { print, config } = this.#options
    const found = skills.current.sources()
    skills.status().forEach((source, index) => {
      const path = pathsOf(config)[index] ?? source.origin
      const note = source.reason === undefined ? '' : paint('dim', ` (${source.reason})`)
      const kind = index < config.roots.length ? 'root' : 'source'
      const isMissing = found[index]?.diagnostics.some(({ code }) => code === 'ROOT_MISSING') === true
      const state = isMissing ? 'does not exist yet' : `watched by ${source.mode}`
      print(`  ${kind} ${path}: ${source.lastError ?? state}${note}`)
    })
    print(`  generation ${skills.current.number} ${shortDigest(skills.current.digest)}`)
    const reports = sortForPeople(skills.current.reports())
    const rows: string[][] = []
    for (const report of reports.slice(0, MAX_SKILL_LINES))
      rows.push(await this.#describeSkill(report, skills, view))
    if (rows.length > 0) print(formatIndented(rows))
    const rest = reports.length - rows.length
    if (rest > 0) print(paint('dim', `  and ${rest} more: ${toAdvice('stoke list', config.options)}`))
    const notSkills = await listNotSkills(skills)
    const note = describeNotSkills(
      notSkills.found.filter(({ isExpected }) => isExpected),
      config.options,
    )
    if (note !== undefined) print(`  ${note}`)
    for (const report of reports.slice(0, MAX_SKILL_LINES))
      if (report.status === 'broken') this.#rejected(report)
      else await this.#noted(report)
    const commands = skills.scripts.list().length
    if (commands > 0) {
      const { kind, detail } = await skills.scripts.containment()
      print(
        `  ${commands} ${commands === 1 ? 'command' : 'commands'}, contained by ${kind === 'sandbox' ? detail : paint('yellow', `the permissions of Node only: ${detail}`)}`,
      )
    }
  }

  /** Prints the addresses of the server, and the command that sets up an MCP client. */
  #addresses(server: Pick<DevServer, 'pageUrl' | 'mcpUrl' | 'token'>): void {
    const { print, config } = this.#options
    const { port, isPortNamed } = config.server
    if (!isPortNamed && !server.mcpUrl.endsWith(`:${port}/mcp`))
      print(`  port ${port} is in use, so the server uses another port; --port sets one`)
    print(`  page ${paint('cyan', server.pageUrl)}`)
    const [first, ...others] = MCP_CLIENT_IDS
    const install = nameCommand(['mcp', 'install', first, ...config.options])
    if (!this.isVerbose) {
      const line = `  MCP  ${server.mcpUrl}; client: ${install}`
      print(line.length <= WIDTH ? line : `  MCP  ${server.mcpUrl}; v shows how to set up a client`)
      return
    }
    print(`  MCP  ${paint('cyan', server.mcpUrl)}  Authorization: Bearer ${server.token}`)
    print(`  set up an MCP client: ${install}`)
    print(paint('dim', `    or ${others.join(', ')}`))
  }

  /** Prints a line if each step is printed. */
  #detail(line: string): void {
    if (this.isVerbose) this.#options.print(line)
  }

  /** Prints the changes, the delay until the changes were visible, and the next notice of each conversation. */
  update(update: RegistryUpdate, sessions: readonly ListeningSession[]): void {
    const { print } = this.#options
    const seenAt = timeOfUpdate(update)
    this.lastUpdate = update
    for (const change of update.changes)
      print(this.isVerbose ? describeChange(change, update) : describeSave(change, update, sessions))
    for (const report of update.reports) {
      if (report.status === 'broken') this.#rejected(report, seenAt)
      else void this.#noted(report)
      if (
        report.status === 'ok' &&
        wasBroken(report, update.previous) &&
        !update.changes.some(({ name }) => name === report.name)
      )
        print(
          this.isVerbose
            ? `${paint('green', 'FIXED')} ${toTerminalText(report.name)}`
            : `${toTitle(report.name, 'green', seenAt)} fixed`,
        )
    }
    // A save can change what a check finds, although the runtime has no problem with the skill.
    if (this.#findings !== undefined) for (const report of listSaved(update)) void this.#noted(report)
    const { previous, generation } = update
    if (JSON.stringify(previous.sources()) !== JSON.stringify(generation.sources()))
      this.#sourceFindings(generation)
    const same =
      previous.digest === generation.digest
        ? 'same digest: no served skill changed'
        : shortDigest(generation.digest)
    this.#detail(paint('dim', `  generation ${previous.number} -> ${generation.number}, ${same}`))
    this.#overBudget(generation)
    if (this.isVerbose && previous.digest !== generation.digest) this.#whatSessionsHear(sessions)
  }

  /** Prints the skills that the update pushed over the budget of the catalog. */
  #overBudget(generation: Generation): void {
    const { print, running } = this.#options
    const before = this.#view
    if (running === undefined || before === undefined) return
    const view = viewCatalog(running.viewing, generation)
    this.#view = view
    const pushed = generation.reports().filter(report => {
      const was = before.visibilityOf(report)
      return view.visibilityOf(report) === 'unlisted' && was !== 'unlisted'
    })
    if (pushed.length === 0) return
    const names = toTerminalLine(quoteAll(pushed.map(({ name }) => name)))
    print(paint('yellow', `  over the budget, now unlisted: ${names}; ${formatCatalog(view.use)}`))
  }

  /** Prints the next notice of each conversation, and the number of its tokens. */
  #whatSessionsHear(sessions: readonly ListeningSession[]): void {
    const { print } = this.#options
    for (const { id, pending, nextTurn, prefix } of sessions.slice(0, MAX_SESSION_LINES)) {
      const what =
        pending === undefined
          ? 'no notice, +0 tokens'
          : `notice queued for ${nextTurn === undefined ? 'its next tool answer' : `turn ${nextTurn}`}, +${pending.tokens} tokens`
      print(
        paint('dim', `  session ${id}: ${what}${prefix === undefined ? '' : `, ${describePrefix(prefix)}`}`),
      )
    }
    const rest = sessions.length - MAX_SESSION_LINES
    if (rest > 0) print(paint('dim', `  and ${rest} more sessions`))
  }

  question(turn: number, text: string): void {
    this.#isCacheKept = undefined
    this.#detail(`${paint('cyan', `turn ${turn}`)} you: ${toTerminalText(text)}`)
  }

  /** Prints an event of a turn. The text of the answer comes with the end of the turn, unless it is streamed. */
  happened(event: AgentEvent): void {
    const { print, isStreamed = false } = this.#options
    switch (event.kind) {
      case 'skills-updated':
        this.#told(event.update)
        this.#hasNotice = true
        break
      case 'model-call':
        if (event.prefix.last !== undefined)
          this.#isCacheKept = this.#isCacheKept !== false && event.prefix.isUnchanged
        // In a chat, an unchanged prefix without a notice is not worth a line.
        if (!isStreamed || this.#hasNotice || !event.prefix.isUnchanged)
          this.#detail(
            paint(
              event.prefix.isUnchanged ? 'dim' : 'red',
              `  model call ${event.step}, ${describePrefix(event.prefix)}`,
            ),
          )
        this.#hasNotice = false
        this.#isReasoning = false
        break
      case 'reasoning':
        if (!this.#isReasoning) this.#detail(paint('dim', '  thinking'))
        this.#isReasoning = true
        break
      case 'skill-invoked':
        this.#toolCall(`/${event.name}`, { revision: shortDigest(event.revision) })
        break
      case 'tool-call':
        this.#toolCall(event.name, event.input ?? {})
        break
      case 'tool-result': {
        const { isError, text } = (event.output ?? {}) as {
          readonly isError?: unknown
          readonly text?: unknown
        }
        // A tool that worked needs no second line.
        if (isError === true) print(`    ${paint('red', 'failed')}: ${shorten(String(text), RESULT_WIDTH)}`)
        break
      }
      case 'compacted': {
        const kept = event.restored.length === 0 ? 'no skill' : toTerminalLine(event.restored.join(', '))
        print(paint('dim', `  compacted ${event.messages} messages to a summary; loaded again: ${kept}`))
        break
      }
      case 'finish':
        this.#finished(event)
        break
      case 'text':
      case 'model-answer':
        break
      default:
        event satisfies never
    }
  }

  #finished({ text, hasReachedLimit, steps, pending, finishReason }: FinishEvent): void {
    const { print, isStreamed = false } = this.#options
    if (!isStreamed) this.answer(text)
    if (hasReachedLimit)
      print(paint('yellow', `  stopped after ${steps} model calls; send a message to let the model go on`))
    else if (isStreamed && text === '' && pending.length === 0)
      print(paint('yellow', `  the model answered nothing (${toTerminalLine(finishReason)})`))
  }

  #told(update: SessionUpdate): void {
    for (const line of update.text.split('\n').slice(1, -1))
      this.#detail(paint('yellow', `  told ${toTerminalText(line.replace(/^- /, ''))}`))
    this.#detail(paint('dim', `  +${update.tokens} tokens (estimated), appended as one message`))
  }

  #toolCall(name: string, input: unknown): void {
    this.#detail(`  calls ${toTerminalLine(name)} ${shorten(JSON.stringify(input), 80)}`)
  }

  answer(text: string): void {
    const kept = this.#isCacheKept ? paint('green', ' ✓ cache kept') : paint('red', ' ✗ cache lost')
    const cache = this.isVerbose || this.#isCacheKept === undefined ? '' : kept
    this.#options.print(`  ${paint('green', 'agent')}${cache}: ${shorten(text, ANSWER_WIDTH)}`)
  }

  failure(message: string): void {
    this.#options.print(`  ${paint('red', 'the model call failed')}: ${toTerminalText(message)}`)
  }

  reloaded(before: Generation, after: Generation): void {
    const result =
      before === after
        ? 'read everything again, nothing changed'
        : `generation ${before.number} -> ${after.number}`
    const broken = after.reports().filter(report => report.status === 'broken')
    const names = broken.map(report => toTerminalText(report.name)).join(', ')
    this.#options.print(`reloaded: ${result}${names === '' ? '' : `; broken: ${names}`}`)
  }

  async #describeSkill(report: SkillReport, skills: SkillRuntime, view: CatalogView): Promise<string[]> {
    const { countTokens, config } = this.#options
    const status = paintStatus(judge(report, await this.#findings?.check(report)).status)
    const name = toTerminalText(report.name)
    if (report.serving === undefined) return [status, name, '-', '']
    const skill = await skills.load(report.name)
    const visibility = view.visibilityOf(report) ?? 'out of scope'
    const listed = `${countEntry(skill, config.catalog.format, countTokens)} tokens listed`
    const tokens = `${visibility === 'listed' ? listed : visibility}, ${countTokens(skill.body)} in the body`
    return [status, name, shortDigest(report.serving), paint('dim', tokens)]
  }

  /** Prints the diagnostics of the sources, such as missing roots, refused links and unreadable folders. */
  #sourceFindings(generation: Generation): void {
    const { print, config } = this.#options
    for (const diagnostic of findingsOf(generation.sources(), config))
      print(`  ${formatDiagnostic(diagnostic, config.options)}`)
  }

  /** Prints the errors in a broken skill. `seenAt` is absent if the skill was already broken at the start. */
  #rejected(report: SkillReport, seenAt?: number): void {
    const { name, serving, revision } = report
    // If the newest text is served and only its scripts failed, the message names the older code that still answers
    // calls.
    const isText = serving !== undefined && serving === revision
    const before = serving !== undefined && this.isVerbose ? shortDigest(serving) : 'The text before it'
    const stays =
      serving === undefined ? 'Nothing is live' : isText ? 'The text is live' : `${before} stays live`
    const isTimed = this.isVerbose && seenAt !== undefined && !isText
    const age = isTimed ? ageOfReport(report, seenAt) : undefined
    const speed = age === undefined ? '' : ` Detected in ${age} ms.`
    const title = this.isVerbose
      ? paint('red', 'REJECTED')
      : `${toTitle(name, 'red', seenAt ?? Date.now())} broken:`
    for (const each of report.diagnostics.filter(({ severity }) => severity === 'error'))
      this.#finding(title, each, `. ${stays}.${speed}`)
  }

  /** Prints the warnings about a skill. The check reads its files, so a newer save may overtake it. */
  async #noted(report: SkillReport): Promise<void> {
    const { config, print } = this.#options
    try {
      const { status, diagnostics } = judge(report, await this.#findings?.check(report))
      const found = withApproveCommand({ ...report, diagnostics, target: targetOf(report) }, config)
      for (const each of found.filter(({ severity }) => severity !== 'info'))
        this.#finding(paintStatus(status), each)
    } catch (thrown) {
      print(`${toTerminalText(report.name)} cannot be checked: ${toTerminalText(toMessage(thrown))}`)
    }
  }

  /** Prints a diagnostic and its fix. */
  #finding(title: string, diagnostic: Diagnostic<string>, end = ''): void {
    const { print, config } = this.#options
    const { code, message, fix } = diagnostic
    const place = formatPlace(diagnostic)
    print(
      `${title} ${toTerminalText(place === '' ? message : `${place}: ${message}`)}${end}${this.isVerbose ? paint('dim', ` [${code}]`) : ''}`,
    )
    if (fix !== undefined) print(paint('dim', `  fix: ${toAdvice(fix, config.options)}`))
  }
}

/** Returns the path of a skill to edit: the one that shares most words with the question of the agent, or the first. */
function findExample(skills: SkillRuntime, question = ''): string | undefined {
  const own = skills.current.list().filter(skill => skill.directory !== undefined && isInRoot(skill, skills))
  const asked = rankSkills(question, own).ranking[0]?.skill
  const { directory, skillFile = '' } = own.find(({ name }) => name === asked) ?? own[0] ?? {}
  return directory === undefined ? undefined : join(directory, skillFile)
}

/** Lists the reports of changed skills that the update does not report anyway. */
function listSaved({ changes, reports, generation }: RegistryUpdate): readonly SkillReport[] {
  const names = new Set(changes.flatMap(({ kind, name }) => (kind === 'removed' ? [] : name)))
  const told = new Set(reports.map(targetOf))
  if (names.size === 0 || names.size > MAX_SKILL_LINES) return []
  return generation
    .reports()
    .filter(report => names.has(report.name) && report.status !== 'broken' && !told.has(targetOf(report)))
}

function wasBroken({ source, location }: SkillReport, before: Generation): boolean {
  return before
    .reports()
    .some(each => each.source === source && each.location === location && each.status === 'broken')
}

function describePrefix({ digest, last, sentBefore, isUnchanged }: PrefixReading): string {
  if (last === undefined) return `prefix first sent ${digest}`
  if (isUnchanged) return `prefix unchanged ${last} == ${sentBefore}`
  return `prefix CHANGED ${last} != ${sentBefore ?? 'shorter than before'}: the provider cache is lost`
}

/** Describes a change with its revisions. */
function describeChange(change: SkillChange, update: RegistryUpdate): string {
  const { kind, name, from, to, facets } = toTimelineChange(change)
  const revisions = [from, to].flatMap(each => (each === null ? [] : shortDigest(each))).join(' -> ')
  const age = kind === 'modified' ? ageOfChange(change, update) : undefined
  const speed = age === undefined ? '' : `, detected in ${age} ms`
  const what = facets.length === 0 ? '' : `, ${facets.join(' and ')}`
  return `${paint(kind === 'removed' ? 'red' : 'green', CHANGES[kind])} ${paint('bold', toTerminalText(name))} ${revisions}${what}${speed}`
}

/** The part of a skill that changed, in the words of its author. */
const FACETS: Readonly<Record<SkillFacet, string>> = {
  frontmatter: 'fields',
  body: 'text',
  files: 'files',
  scripts: 'scripts',
  location: 'folder',
}

/** Describes a change in one line: what changed, how fast it was seen, and who hears of it. */
function describeSave(
  change: SkillChange,
  update: RegistryUpdate,
  sessions: readonly ListeningSession[],
): string {
  const { kind, name, facets } = toTimelineChange(change)
  const isDescribed =
    change.kind === 'modified' && change.oldSkill.description !== change.newSkill.description
  const what = facets.map(facet => (facet === 'frontmatter' && isDescribed ? 'description' : FACETS[facet]))
  const age = kind === 'modified' ? ageOfChange(change, update) : undefined
  const told = sessions.filter(({ pending }) => pending?.entry.said.some(([about]) => about === name))
  const [first] = told
  const agents = told.length === 1 ? '1 conversation' : `${told.length} conversations`
  const parts = [
    `${kind === 'modified' ? 'changed' : kind}${what.length === 0 ? '' : `: ${what.join(' and ')}`}`,
    ...(age === undefined ? [] : [`${age} ms`]),
    ...(first === undefined ? [] : [`reaches ${agents} (+${first.pending?.tokens} tokens)`]),
  ]
  return `${toTitle(name, kind === 'removed' ? 'red' : 'green', timeOfUpdate(update))} ${parts.join(', ')}`
}

/** Begins the line about a save: the time and the skill. */
function toTitle(name: string, color: 'red' | 'green', at: number): string {
  return `${paint('dim', new Date(at).toLocaleTimeString('en-GB'))} ${paint(color, toTerminalText(name))}`
}
