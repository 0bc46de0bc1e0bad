import type { SkillCommand, SkillRuntime, SkillScope, ToolDefinition } from '@skillstoke/core'
import { toToolName } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'

/** Selects the tools that a server offers in addition to the constant ones. */
export interface ServedToolsOptions {
  readonly scope?: SkillScope
  /** Whether each command of a skill is a tool. */
  readonly commandTools: boolean
  /** Whether there are tools that reload and unload code. */
  readonly adminTools: boolean
}

/** The provider of the constant tools: a session, or a runtime for clients without a conversation. */
export interface ConstantTools {
  readonly tools: readonly ToolDefinition[]
  describeUnknownTool(name: string, tools: readonly string[]): string
}

const MAX_SETTLE_MS = 1_000

/** The tools of one server object: the constant ones first, then those that change with the skills. */
export class ServedTools {
  readonly #skills: SkillRuntime
  readonly #constant: ConstantTools
  readonly #options: ServedToolsOptions

  constructor(skills: SkillRuntime, constant: ConstantTools, options: ServedToolsOptions) {
    this.#skills = skills
    this.#constant = constant
    this.#options = options
  }

  /** Lists each name once. A constant tool wins over a command with the same name. */
  async list(): Promise<readonly ToolDefinition[]> {
    const tools = [...this.#constant.tools, ...(await this.#listChanging())]
    return [...new Map(tools.toReversed().map(tool => [tool.name, tool])).values()].toReversed()
  }

  async find(name: string): Promise<ToolDefinition | undefined> {
    const constant = this.#constant.tools.find(tool => tool.name === name)
    return constant ?? (await this.#listChanging()).find(tool => tool.name === name)
  }

  /** Returns the answer to a call of an unknown tool. */
  async describeUnknown(name: string): Promise<string> {
    const names = (await this.list()).map(tool => tool.name)
    return this.#constant.describeUnknownTool(name, names)
  }

  async #listChanging(): Promise<readonly ToolDefinition[]> {
    const { commandTools, adminTools, scope } = this.#options
    if (!this.#skills.scripts.canRun || !(commandTools || adminTools)) return []
    const scoped = scope === undefined ? {} : { scope }
    // Include commands that were saved before the request, if their code loads in time.
    if (commandTools) await this.#settle()
    return [
      ...(adminTools
        ? this.#skills.adminTools(scoped).map(tool => ({ ...tool, name: tool.name.replace('_', '.') }))
        : []),
      ...(commandTools ? this.#skills.commandTools({ ...scoped, toName: toWireName }) : []),
    ]
  }

  async #settle(): Promise<void> {
    const work = this.#skills.fresh({ maxWaitMs: MAX_SETTLE_MS }).then(() => this.#skills.scripts.ready())
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => (timer = setTimeout(resolve, MAX_SETTLE_MS)))
    await Promise.race([work, late])
    clearTimeout(timer)
  }
}

/**
 * Returns the id of the command as tool name, because MCP allows dots. Replaces ids with characters that are not
 * allowed.
 */
function toWireName({ id, skill, name }: SkillCommand): string {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? id : toToolName(skill, name, portableHasher)
}
