import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Finding } from '@skillstoke/author'
import { toFindings } from '@skillstoke/author/internal'
import {
  diffGenerations,
  type Generation,
  type RegistryUpdate,
  type SessionOffer,
  type SkillReport,
  type SkillRuntime,
  type SkillSession,
  type TokenCounter,
} from '@skillstoke/core'
import {
  type CatalogView,
  countSkills,
  defined,
  type SkillRow,
  targetOf,
  toGenerationId,
  toRow,
  type Viewing,
  viewCatalog,
} from '@skillstoke/core/internal'
import { judge, SkillFindings, toSetting } from '../check/skill-findings.ts'
import type {
  AttentionInfo,
  ServerStatus,
  SessionInfo,
  StateEvent,
  TimelineEntry,
} from '../client/api-types.ts'
import { type Config, pathsOf } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { currentUser } from '../skills/open-skills.ts'
import { nameCommand } from '../terminal/program-name.ts'
import { ModelTests } from '../trial/model-tests.ts'
import { afterPause } from './after-pause.ts'
import { findAttention } from './attention.ts'
import { EventLog } from './event-log.ts'
import { DEMO, type Playground } from './playground.ts'
import { timeOfUpdate } from './save-age.ts'
import { type SeenClient, SeenClients } from './seen-clients.ts'
import { SkillRows } from './skill-rows.ts'
import { toProblem, toTimelineChange, toTimelineEntry } from './timeline.ts'
import { createTokenCounts, type TokenCounts } from './token-counts.ts'

export interface LiveStateOptions {
  readonly config: Config
  readonly viewing: Viewing
  readonly countTokens: TokenCounter
  readonly startId: string
  readonly playground: Pick<Playground, 'model' | 'turnsOf' | 'has'>
}

const MAX_TIMELINE = 200

/**
 * The state that the API and the page show, and the log of its changes. Each response and each event shows the newest
 * generation of that moment.
 */
export class LiveState {
  readonly log: EventLog = new EventLog()
  readonly #options: LiveStateOptions
  readonly #skills: SkillRuntime
  readonly #views = new WeakMap<Generation, CatalogView>()
  readonly #version = readVersion()
  readonly #tokens: TokenCounts
  readonly findings: SkillFindings
  readonly #rows: SkillRows
  readonly #timeline: TimelineEntry[] = []
  readonly #clients = new SeenClients()
  readonly modelTests: ModelTests
  readonly #stops: readonly (() => void)[]
  readonly #uses = afterPause(() => this.#refreshRows())
  readonly #telling = afterPause(() => this.tellSessions())
  readonly #looking = afterPause(() => this.#lookAgain())
  #attention: AttentionInfo = { collisions: [], failing: [] }
  #told: Generation
  #toldSessions = ''

  constructor(options: LiveStateOptions) {
    this.#options = options
    const { countTokens, viewing } = options
    const { skills, catalog } = viewing
    this.#skills = skills
    this.#tokens = createTokenCounts({
      ...{ skills, countTokens, format: catalog.format },
      onCounted: () => this.#refreshRows(),
    })
    this.findings = new SkillFindings(toSetting(skills, options.config), () => this.#refreshRows())
    this.modelTests = new ModelTests(options.config, () => this.#looking.request())
    this.#looking.request()
    this.#rows = new SkillRows()
    this.#told = skills.current
    this.#rows.replace(this.#toRows(this.#told))
    this.#stops = [
      skills.subscribe(update => this.#onUpdate(update)),
      skills.events.on('skill:used', () => this.#uses.request()),
      skills.scripts.subscribe(({ skill }) => this.log.append({ kind: 'commands', skill })),
    ]
  }

  /** Returns the status of the server, without the rows. */
  status() {
    return this.#toStatus(this.#skills.current)
  }

  /** Converts a report of the newest generation to a row, with tokens and uses. */
  readonly toRow = (report: SkillReport): SkillRow => this.#toRow(report, this.#skills.current)

  sessions() {
    const { current } = this.#skills
    const sessions = this.#skills
      .sessions()
      .map(session => ({ ...this.infoOf(session, current), catalogText: session.catalog })) // the exact catalog
    return { generation: toGenerationId(current), sessions }
  }

  /** Describes one conversation, compared with a generation. */
  infoOf(session: SkillSession, generation: Generation): SessionInfo {
    const { tokens, listed, omitted } = session.catalogDetails
    const pending = session.pending()
    const isOurs = session.id === DEMO || this.#options.playground.has(session.id)
    return {
      id: session.id,
      kind: session.id === DEMO ? 'dev' : isOurs ? 'page' : 'mcp',
      client: this.#clients.of(session.id) ?? null,
      generation: toGenerationId(session.generation),
      catalog: { tokens, listed: listed.length, omitted: omitted.length },
      loaded: session.ledger.entries().map(({ name, revision }) => ({
        name,
        revision,
        isCurrent: generation.find(name)?.revision === revision,
      })),
      pending: pending === undefined ? null : toTold(pending),
      turns: this.#options.playground.turnsOf(session.id),
    }
  }

  present(): StateEvent {
    return {
      kind: 'state',
      status: this.#toStatus(this.#told),
      skills: this.#rows.list(),
      sessions: this.#sessionInfos(),
      clients: this.#clients.list(),
      timeline: this.#timeline,
      attention: this.#attention,
    }
  }

  /** Logs an event if sessions started, ended or continued. */
  tellSessions(): void {
    const told = { sessions: this.#sessionInfos(), clients: this.#clients.list() }
    const json = JSON.stringify(told)
    if (json === this.#toldSessions) return
    this.#toldSessions = json
    this.log.append({ kind: 'sessions', ...told })
  }

  noteClient(seen: SeenClient): void {
    this.#clients.note(seen)
    this.#telling.request()
  }

  async reload() {
    const skills = this.#skills
    const before = skills.current
    const { generation: after } = await skills.reload()
    await skills.delivered()
    return {
      previous: toGenerationId(before),
      generation: toGenerationId(after),
      changes: diffGenerations(before, after).map(toTimelineChange),
      problems: after
        .reports()
        .filter(report => report.status !== 'ok')
        .map(toProblem),
      sources: after.sources(),
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    for (const paused of [this.#uses, this.#telling, this.#looking]) paused.close()
    await Promise.all([this.#tokens.close(), this.findings.close()])
  }

  #onUpdate(update: RegistryUpdate): void {
    this.#told = update.generation
    const entry = toTimelineEntry(update, timeOfUpdate(update))
    this.#timeline.push(entry)
    if (this.#timeline.length > MAX_TIMELINE) this.#timeline.shift()
    const { changed, gone } = this.#rows.replace(this.#toRows(update.generation))
    this.log.append({
      kind: 'update',
      status: this.#toStatus(this.#told),
      skills: changed,
      gone: gone.map(({ source, location }) => ({ source, location })),
      entry,
    })
    this.tellSessions()
    if (update.changes.length > 0) this.#looking.request()
  }

  /** Looks for failing tests and collisions, and logs what it found. */
  async #lookAgain(): Promise<void> {
    const { config, viewing } = this.#options
    const reader = this.#skills.forConversation(defined({ scope: viewing.scope }))
    const attention = await findAttention(reader, config)
    if (isDeepStrictEqual(attention, this.#attention)) return
    this.#attention = attention
    this.log.append({ kind: 'attention', attention })
  }

  /** Logs the rows that changed without a new generation. */
  #refreshRows(): void {
    const { changed } = this.#rows.replace(this.#toRows(this.#told))
    if (changed.length > 0) this.log.append({ kind: 'rows', skills: changed })
  }

  #toRows(generation: Generation): SkillRow[] {
    return generation.reports().map(report => this.#toRow(report, generation))
  }

  #toRow(report: SkillReport, generation: Generation): SkillRow {
    const skill = report.serving === undefined ? undefined : generation.find(report.name)
    const usage = this.#skills.usageOf(report.name)
    const row = skill === undefined ? toRow(report) : toRow(report, this.#tokens.get(skill), usage)
    const visibility = this.#viewOf(generation).visibilityOf(report)
    // Until a decision or a fix, agents read the description of the live text.
    const description = skill?.description ?? report.description
    return { ...judge(row, this.#findingsOf(report, generation)), visibility, description }
  }

  /** Returns the findings of a report. A copy of a report may have more diagnostics than the report of the generation. */
  #findingsOf(report: SkillReport, generation: Generation): readonly Finding[] | undefined {
    if (report.status !== 'pending') return this.findings.get(report)
    const own = generation.reports().find(each => targetOf(each) === targetOf(report))
    const found = own && this.findings.get(own)
    const more = report.diagnostics.filter(each => own?.diagnostics.includes(each) === false)
    return found && [...found, ...toFindings(more)]
  }

  /** Returns what new conversations see. Computes it once for each generation, because every row needs it. */
  #viewOf(generation: Generation): CatalogView {
    const view = this.#views.get(generation) ?? viewCatalog(this.#options.viewing, generation)
    this.#views.set(generation, view)
    return view
  }

  #toStatus(generation: Generation): ServerStatus {
    const { config, startId, playground } = this.#options
    // The page goes on only at the same address.
    const { server } = config
    const port = server.isPortNamed && server.port !== 0 ? ['--port', String(server.port)] : []
    return {
      ...{ startId, pid: process.pid, version: this.#version },
      ...{ stateDirectory: config.stateDirectory, model: playground.model },
      ...{ project: basename(process.cwd()), user: currentUser() },
      command: nameCommand(['dev', ...config.options, ...port]),
      ...countSkills(
        this.#skills,
        pathsOf(config),
        generation,
        report => judge(report, this.findings.get(report)).status,
      ),
      catalog: this.#viewOf(generation).use,
    }
  }

  #sessionInfos(): readonly SessionInfo[] {
    return this.#skills.sessions().map(session => this.infoOf(session, this.#told))
  }
}

function toTold({ text, tokens, entry }: SessionOffer): NonNullable<SessionInfo['pending']> {
  return { text, tokens, about: [...new Set(entry.said.map(([name]) => name))] }
}
