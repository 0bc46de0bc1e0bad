import {
  createScopeTest,
  createSkillRuntime,
  type Generation,
  type Logger,
  type MemorySkill,
  MemorySource,
  type RegistryUpdate,
  type Skill,
  SkillError,
  type SkillRuntime,
  type SkillScope,
} from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote, showValue } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'
import { PRESETS } from './presets.ts'

/** The names of the skills that an agent of crabtalk may use; an empty list allows all skills. */
export interface AgentScope {
  readonly skills?: readonly string[]
}

export interface SkillHandlerOptions {
  /** Other folders that links in the folders may point to. @default [] */
  readonly linkRoots?: readonly string[]
  /** Receives a warning for each broken skill, and for each skill whose name an earlier skill has. Neither is served. */
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SkillHandlerOptions> = { linkRoots: true, logger: true }
const KNOWN_SCOPE: KnownOptions<AgentScope> = { skills: true }

/**
 * crabtalk's skill tool and slash commands for the skills of some folders. Each call reads the current files.
 *
 * @example
 * ```ts
 * import { SkillHandler } from '@skillstoke/compat'
 *
 * await using handler = await SkillHandler.load(['./skills', './more'])
 * const answer = await handler.call({ name: 'support-pdf' }, { skills: ['support-pdf'] })
 * console.log(answer.includes('Instructions of support-pdf.')) // prints true
 * console.log(await handler.resolveSlash('Hello.')) // prints Hello.
 * ```
 */
export class SkillHandler implements AsyncDisposable {
  /** The underlying runtime, for features that crabtalk does not have. */
  readonly runtime: SkillRuntime
  readonly #added: MemorySource

  private constructor(runtime: SkillRuntime, added: MemorySource, logger: Logger | undefined) {
    this.runtime = runtime
    this.#added = added
    if (logger === undefined) return
    let known = warnOfDuplicates(runtime.current, new Set(), logger)
    const warn = ({ generation }: RegistryUpdate): void => {
      known = warnOfDuplicates(generation, known, logger)
    }
    runtime.subscribe(warn, { phase: 'events' })
  }

  /** Scans the folders. Missing folders are ignored. If two folders have a skill with the same name, the skill of the first folder is used, and the logger receives a warning. */
  static async load(dirs: readonly string[], options: SkillHandlerOptions = {}): Promise<SkillHandler> {
    checkOptions('SkillHandler.load()', options, KNOWN)
    const { linkRoots = [], logger } = options
    const added = new MemorySource({ label: 'added' })
    const folders = dirs.map((path, index) =>
      directory(path, { ...PRESETS.crabtalk.source, linkRoots, label: `dir-${index + 1}` }),
    )
    const { crabtalk } = PRESETS
    const runtime = await createSkillRuntime({
      ...crabtalk.runtime,
      sources: [added, ...folders],
      ...(logger === undefined ? {} : { logger }),
    })
    return new SkillHandler(runtime, added, logger)
  }

  /** Returns the skills that an agent may use, sorted by name. */
  skills(scope?: AgentScope): readonly Skill[] {
    const isInScope = createScopeTest(toScope(scope).scope)
    return this.runtime.current.list().filter(({ name }) => isInScope(name))
  }

  contains(name: string): boolean {
    return this.runtime.current.find(name) !== undefined
  }

  /**
   * Adds a skill that is in no folder.
   * @throws {SkillError} DUPLICATE_SKILL when a skill with this name exists
   */
  async add(skill: MemorySkill): Promise<void> {
    if (this.contains(skill.name))
      throw new SkillError('DUPLICATE_SKILL', `there is a skill ${quote(skill.name)}; use upsert`)
    await this.upsert(skill)
  }

  /** Adds a skill, or replaces the skill with the same name. */
  async upsert(skill: MemorySkill): Promise<void> {
    this.#added.put(skill)
    await this.runtime.fresh()
  }

  /** Answers a tool call with the input `{ name }`, given as an object or as JSON. */
  async call(input: unknown, scope?: AgentScope): Promise<string> {
    const name = readName(input)
    if (name instanceof Error) return `invalid arguments: ${name.message}`
    if (name === '') return renderLines(await this.#findContaining('', scope))
    if (this.#isElsewhere(name, scope)) return `skill not available: ${name}`
    if (/\.\.|[/\\]/.test(name)) return `invalid skill name: ${name}`
    const outcome = await this.runtime.lookup(name, toScope(scope))
    if (this.#isElsewhere(name, scope)) return `skill not available: ${name}`
    switch (outcome.kind) {
      case 'loaded': {
        const { directory: path } = outcome.skill
        return path === undefined ? outcome.body : `${outcome.body}\n\nSkill directory: ${path}`
      }
      case 'user-only':
        return `skill not available: ${name}`
      case 'broken':
        return `failed to parse skill: ${outcome.report.diagnostics.map(({ message }) => message).join('; ')}`
      case 'list':
      case 'matches':
      case 'not-found':
        return renderLines(await this.#findContaining(name, scope))
      default:
        return outcome satisfies never
    }
  }

  /** Expands a message that begins with `/` and the name of a skill; returns other messages unchanged. */
  async resolveSlash(message: string, scope?: AgentScope): Promise<string> {
    return (await this.runtime.expandSlash(message, toScope(scope))).text
  }

  /** Returns the block of the system text that lists an agent's skills. */
  renderResources(scope?: AgentScope): string {
    const skills = this.skills(scope)
    if (skills.length === 0) return ''
    return [
      '<resources>',
      'A <skill> tag in a message holds the instructions of a skill that the user asked for: follow them, without announcing or loading the skill.',
      ...skills.map(({ name, description }) => `- ${escapeLine(name)}: ${escapeLine(description)}`),
      '</resources>',
    ].join('\n')
  }

  async close(): Promise<void> {
    await this.runtime.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Whether the skill exists, but is not in this agent's scope. */
  #isElsewhere(name: string, scope: AgentScope | undefined): boolean {
    return this.contains(name) && !this.skills(scope).some(skill => skill.name === name)
  }

  /** Reads the folders first, so that deleted skills are not listed. */
  async #findContaining(words: string, scope: AgentScope | undefined): Promise<readonly Skill[]> {
    await this.runtime.fresh()
    const wanted = words.toLowerCase()
    return this.skills(scope).filter(({ name, description }) =>
      `${name}\n${description}`.toLowerCase().includes(wanted),
    )
  }
}

function readName(input: unknown): string | Error {
  try {
    const value: unknown = typeof input === 'string' ? JSON.parse(input) : input
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return new Error(`${showValue(value)} is not an object; send { "name": "..." }`)
    const name = (value as { readonly name?: unknown }).name ?? ''
    return typeof name === 'string' ? name.trim() : new Error(`"name" is ${showValue(name)}; it must be text`)
  } catch (thrown) {
    return thrown as Error
  }
}

/**
 * Logs each skill whose name another folder serves, unless `known` contains the folder of the skill. Returns the folders
 * of all these skills.
 */
function warnOfDuplicates(
  generation: Generation,
  known: ReadonlySet<string>,
  logger: Logger,
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const report of generation.reports()) {
    const served = generation.find(report.name)
    for (const each of [...(report.status === 'shadowed' ? [report] : []), ...(report.copies ?? [])]) {
      const ignored = placeOf(each)
      found.add(ignored)
      if (served === undefined || known.has(ignored)) continue
      const places = { skill: report.name, ignored, served: placeOf(served) }
      logger.warn('two folders have a skill of the same name; only one is served', places)
    }
  }
  return found
}

function placeOf(folder: Pick<Skill, 'source' | 'location' | 'directory'>): string {
  return folder.directory ?? `${folder.source}/${folder.location}`
}

/**
 * Returns a scope of exactly these names.
 * @throws {SkillError} INVALID_OPTION for an unknown field, because a misspelt field would allow every skill
 */
function toScope(scope: AgentScope | undefined): { readonly scope: SkillScope } {
  checkOptions('a scope', scope, KNOWN_SCOPE, { path: 'scope' })
  const names: unknown = scope?.skills ?? []
  if (Array.isArray(names) && names.every(name => typeof name === 'string' && name.trim() !== ''))
    return { scope: { include: names.map((name: string) => name.replaceAll('*', '\\*')) } }
  throw new SkillError(
    'INVALID_OPTION',
    `scope.skills is ${showValue(names)}; list names of skills, or use [] for all skills`,
  )
}

function renderLines(skills: readonly Skill[]): string {
  if (skills.length === 0) return 'no skills found'
  return skills.map(({ name, description }) => `${name}: ${description.replace(/\s+/g, ' ')}`).join('\n')
}

function escapeLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
