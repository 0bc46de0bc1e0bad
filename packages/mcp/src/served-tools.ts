import type { SkillCommand, SkillRuntime, SkillScope, ToolDefinition } from '@skillstoke/core'
import { freshOrKnown, toToolName } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'

/** Options that select which tools a server offers in addition to the constant tools. */
export interface ServedToolsOptions {
  readonly scope?: SkillScope
  /** Whether the server offers each command of a skill as a tool. */
  readonly commandTools: boolean
  /** Whether the server offers tools that reload and unload code. */
  readonly adminTools: boolean
  /** Tools with which the client writes skills. */
  readonly authorTools: readonly ToolDefinition[]
}

/**
 * The object that provides the constant tools. This is a session or, if the client has no conversation, the runtime.
 */
export interface ConstantTools {
  readonly tools: readonly ToolDefinition[]
  describeUnknownTool(name: string, tools: readonly string[]): string
}

const MAX_SETTLE_MS = 1_000

/**
 * The tools of one server object. The list starts with the constant tools, followed by the tools that change with the
 * skills.
 */
export class ServedTools {
  readonly #skills: SkillRuntime
  readonly #constant: ConstantTools
  readonly #options: ServedToolsOptions

  constructor(skills: SkillRuntime, constant: ConstantTools, options: ServedToolsOptions) {
    this.#skills = skills
    this.#constant = constant
    this.#options = options
  }

  /** Lists each name once. If a command and a constant tool have the same name, lists only the constant tool. */
  async list(): Promise<readonly ToolDefinition[]> {
    const tools = [...this.#lasting, ...(await this.#listChanging())]
    return [...new Map(tools.toReversed().map(tool => [tool.name, tool])).values()].toReversed()
  }

  async find(name: string): Promise<ToolDefinition | undefined> {
    const constant = this.#lasting.find(tool => tool.name === name)
    return constant ?? (await this.#listChanging()).find(tool => tool.name === name)
  }

  /** Returns the answer to a call of an unknown tool. */
  async describeUnknown(name: string): Promise<string> {
    const names = (await this.list()).map(tool => tool.name)
    return this.#constant.describeUnknownTool(name, names)
  }

  /** The tools that do not change with the skills. */
  get #lasting(): readonly ToolDefinition[] {
    return [...this.#constant.tools, ...this.#options.authorTools]
  }

  async #listChanging(): Promise<readonly ToolDefinition[]> {
    const { commandTools, adminTools, scope } = this.#options
    if (!this.#skills.scripts.canRun || !(commandTools || adminTools)) return []
    const scoped = scope === undefined ? {} : { scope }
    // Waits a limited time for new code to load, so that the list includes the commands in files that were just saved.
    if (commandTools) await this.#settle()
    return [
      ...(adminTools
        ? this.#skills.adminTools(scoped).map(tool => ({ ...tool, name: tool.name.replace('_', '.') }))
        : []),
      ...(commandTools ? this.#skills.commandTools({ ...scoped, toName: toWireName }) : []),
    ]
  }

  async #settle(): Promise<void> {
    const work = freshOrKnown(this.#skills, MAX_SETTLE_MS).then(() => this.#skills.scripts.ready())
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => (timer = setTimeout(resolve, MAX_SETTLE_MS)))
    await Promise.race([work, late])
    clearTimeout(timer)
  }
}

/**
 * Returns the tool name of a command. The tool name is the id of the command, because MCP allows dots in names. If the
 * id has characters that MCP forbids, returns a replacement.
 */
function toWireName({ id, skill, name }: SkillCommand): string {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? id : toToolName(skill, name, portableHasher)
}
