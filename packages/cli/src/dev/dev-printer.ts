import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { PrefixReading } from '@skillstoke/agent'
import {
  type Generation,
  type Ledger,
  type RegistryUpdate,
  type SessionUpdate,
  type SkillChange,
  type SkillReport,
  type SkillRuntime,
  shortDigest,
  type TokenCounter,
} from '@skillstoke/core'
import { type Config, findingsOf } from '../config.ts'
import {
  formatDiagnostic,
  formatPlace,
  formatTable,
  type Paint,
  paintStatus,
  shorten,
  sortForPeople,
  toTerminalText,
} from '../output.ts'

export interface DevPrinterOptions {
  readonly print: (line?: string) => void
  readonly paint: Paint
  readonly countTokens: TokenCounter
  readonly config: Config
}

const ANSWER_WIDTH = 400

/** The voice of `stoke dev`: one line for each thing that happened, with numbers that were measured. */
export class DevPrinter {
  readonly #options: DevPrinterOptions
  /** What the key for the difference explains. */
  lastUpdate: RegistryUpdate | undefined

  constructor(options: DevPrinterOptions) {
    this.#options = options
  }

  async start(skills: SkillRuntime): Promise<void> {
    const { print, paint, config } = this.#options
    print(paint('bold', 'skillstoke dev'))
    skills.status().forEach((source, index) => {
      const path = config.roots[index]?.path ?? source.origin
      const note = source.reason === undefined ? '' : paint('dim', ` (${source.reason})`)
      print(`  root ${path}: ${source.lastError ?? `watched by ${source.mode}`}${note}`)
    })
    print(`  generation ${skills.current.number} ${shortDigest(skills.current.digest)}`)
    const rows: string[][] = []
    for (const report of sortForPeople(skills.current.reports()))
      rows.push(await this.#describeSkill(report, skills))
    if (rows.length > 0) print(indent(formatTable(rows)))
    else print('  no skills yet: make a folder with a SKILL.md in one of the roots')
    for (const report of skills.current.reports()) if (report.status === 'broken') this.#rejected(report)
    this.#sourceFindings(skills.current)
  }

  ready(hasKeys: boolean): void {
    if (hasKeys) this.help()
    else this.#options.print('edit a skill and save it; end with Ctrl-C')
  }

  help(): void {
    this.#options.print(
      this.#options.paint('dim', 'keys: h help, r reload, d difference of the last change, q quit'),
    )
  }

  /** What changed, how soon it was visible, and what the conversation will be told. */
  update(update: RegistryUpdate, listener: { readonly ledger: Ledger; readonly nextTurn: number }): void {
    const { print, paint } = this.#options
    const seenAt = Date.now()
    this.lastUpdate = update
    for (const change of update.changes) print(this.#describeChange(change, seenAt))
    for (const report of update.reports) {
      if (report.status === 'broken') this.#rejected(report)
      else if (report.status !== 'ok') this.#noted(report)
      else if (!update.changes.some(change => change.name === report.name))
        print(`${paint('green', 'FIXED')} ${toTerminalText(report.name)}`)
    }
    const { previous, generation } = update
    if (JSON.stringify(previous.sources()) !== JSON.stringify(generation.sources()))
      this.#sourceFindings(generation)
    const same =
      previous.digest === generation.digest
        ? 'the same digest: nothing that is served changed'
        : shortDigest(generation.digest)
    print(paint('dim', `  generation ${previous.number} -> ${generation.number}, ${same}`))
    const loaded = update.changes.flatMap(change => {
      const entry = listener.ledger.find(change.name)
      const isOther = change.kind !== 'modified' || change.newSkill.revision !== entry?.revision
      return entry !== undefined && isOther ? entry : []
    })
    for (const { name, revision } of loaded) {
      print(
        paint(
          'dim',
          `  session dev loaded ${toTerminalText(name)} at ${shortDigest(revision)} -> notice queued for turn ${listener.nextTurn}`,
        ),
      )
    }
  }

  question(turn: number, text: string): void {
    this.#options.print(`${this.#options.paint('cyan', `turn ${turn}`)} you: ${toTerminalText(text)}`)
  }

  told(update: SessionUpdate): void {
    const { print, paint } = this.#options
    for (const line of update.text.split('\n').slice(1, -1))
      print(paint('yellow', `  told ${toTerminalText(line.replace(/^- /, ''))}`))
    print(paint('dim', `  +${update.tokens} tokens (estimated), appended as one message`))
  }

  prefix(step: number, prefix: PrefixReading): void {
    const { print, paint } = this.#options
    if (prefix.isUnchanged) {
      const comparison =
        prefix.sentBefore === undefined ? prefix.digest : `${prefix.sentBefore} == ${prefix.sentBefore}`
      print(
        paint(
          'dim',
          `  model call ${step}, prefix ${prefix.sentBefore === undefined ? 'first sent' : 'unchanged'} ${comparison}`,
        ),
      )
    } else print(paint('red', `  model call ${step}, prefix CHANGED: the provider's cache is lost`))
  }

  toolCall(name: string, input: unknown): void {
    this.#options.print(`  calls ${name} ${shorten(JSON.stringify(input), 80)}`)
  }

  answer(text: string): void {
    this.#options.print(`  ${this.#options.paint('green', 'agent')}: ${shorten(text, ANSWER_WIDTH)}`)
  }

  failure(message: string): void {
    this.#options.print(
      `  ${this.#options.paint('red', 'the model call failed')}: ${toTerminalText(message)}`,
    )
  }

  reloaded(before: Generation, after: Generation): void {
    const result =
      before === after
        ? 'everything was read again, nothing changed'
        : `generation ${before.number} -> ${after.number}`
    this.#options.print(`reloaded: ${result}`)
  }

  difference(text: string): void {
    this.#options.print(toTerminalText(text).trimEnd())
  }

  end(): void {
    this.#options.print('ended')
  }

  async #describeSkill(report: SkillReport, skills: SkillRuntime): Promise<string[]> {
    const { paint, countTokens } = this.#options
    const status = paintStatus(report.status, paint)
    const name = toTerminalText(report.name)
    if (report.serving === undefined) return [status, name, '-', '']
    const { name: listed, description, body } = await skills.load(report.name)
    const tokens = `${countTokens(`${listed} ${description}`)} tokens listed, ${countTokens(body)} in the body`
    return [status, name, shortDigest(report.serving), paint('dim', tokens)]
  }

  #describeChange(change: SkillChange, seenAt: number): string {
    const { paint } = this.#options
    const name = paint('bold', toTerminalText(change.name))
    switch (change.kind) {
      case 'added':
        return `${paint('green', 'ADDED')} ${name} ${shortDigest(change.skill.revision)}`
      case 'removed':
        return `${paint('red', 'REMOVED')} ${name} ${shortDigest(change.skill.revision)}`
      case 'modified': {
        const { oldSkill, newSkill, facets } = change
        const revisions = `${shortDigest(oldSkill.revision)} -> ${shortDigest(newSkill.revision)}`
        const age =
          newSkill.directory === undefined
            ? undefined
            : ageOf(join(newSkill.directory, newSkill.skillFile), seenAt)
        const speed =
          age === undefined || !facets.some(facet => facet === 'frontmatter' || facet === 'body')
            ? ''
            : `, live ${age} ms after the save`
        return `${paint('green', 'LIVE')} ${name} ${revisions}, ${facets.join(' and ')}${speed}`
      }
      default:
        return change satisfies never
    }
  }

  /** What is to be told of the roots themselves: missing, refused links, folders that cannot be read. */
  #sourceFindings(generation: Generation): void {
    const { print, paint, config } = this.#options
    for (const diagnostic of findingsOf(generation.sources(), config))
      print(`  ${formatDiagnostic(diagnostic, paint)}`)
  }

  #rejected(report: SkillReport): void {
    const { print, paint } = this.#options
    const stays =
      report.serving === undefined ? 'nothing of it is live' : `${shortDigest(report.serving)} stays live`
    for (const diagnostic of report.diagnostics.filter(each => each.severity === 'error')) {
      print(
        `${paint('red', 'REJECTED')} ${toTerminalText(`${formatPlace(diagnostic)}: ${diagnostic.message}`)}. ${stays}.`,
      )
      if (diagnostic.fix !== undefined) print(paint('dim', `  fix: ${toTerminalText(diagnostic.fix)}`))
    }
  }

  #noted(report: SkillReport): void {
    const { print, paint } = this.#options
    for (const diagnostic of report.diagnostics.filter(each => each.severity === 'warning')) {
      print(
        `${paintStatus(report.status, paint)} ${toTerminalText(`${formatPlace(diagnostic)}: ${diagnostic.message}`)}`,
      )
    }
  }
}

/** Milliseconds since the file was last written, or nothing when that is not recent enough to mean this change. */
function ageOf(file: string, now: number): number | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  const age = stats === undefined ? Number.POSITIVE_INFINITY : Math.round(now - stats.mtimeMs)
  return age >= 0 && age < 60_000 ? age : undefined
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
