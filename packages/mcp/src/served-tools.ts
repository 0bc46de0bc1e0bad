import type { SkillCommand, SkillRuntime, ToolDefinition } from '@skillstoke/core'
import { defined, escapeControls, freshOrKnown, toToolName, waitAtMost } from '@skillstoke/core/internal'
import { portableHasher, systemClock } from '@skillstoke/core/source'
import type { SkillMcpOptions } from './mcp-options.ts'

/**
 * The object that provides the constant tools. This is a session or, if the client has no conversation, the runtime.
 */
export interface ConstantTools {
  readonly tools: readonly ToolDefinition[]
  describeUnknownTool(name: string, tools: readonly string[]): string
}

/** A tool, and its name for people. */
export interface ServedTool extends ToolDefinition {
  /** Absent for constant tools, whose definitions never change. */
  readonly title?: string
  /** True for the tool of a command. @default false */
  readonly isCommand?: boolean
}

const MAX_SETTLE_MS = 1_000
const MAX_TITLE_LENGTH = 60

/**
 * The tools of one server object. The list starts with the constant tools, followed by the tools that change with the
 * skills.
 */
export class ServedTools {
  readonly #skills: SkillRuntime
  readonly #constant: ConstantTools
  /** The tools that do not change with the skills. */
  readonly #lasting: readonly ToolDefinition[]
  readonly #options: Pick<SkillMcpOptions, 'scope' | 'commandTools' | 'adminTools'>

  /** @param authorTools tools with which the client writes skills */
  constructor(
    skills: SkillRuntime,
    constant: ConstantTools,
    authorTools: readonly ToolDefinition[],
    options: Pick<SkillMcpOptions, 'scope' | 'commandTools' | 'adminTools'>,
  ) {
    this.#skills = skills
    this.#constant = constant
    this.#lasting = [...constant.tools, ...authorTools]
    this.#options = options
  }

  /** Lists each name once. If a command and a constant tool have the same name, lists only the constant tool. */
  async list(): Promise<readonly ServedTool[]> {
    const tools: ServedTool[] = [...this.#lasting, ...(await this.#listChanging())]
    return [...new Map(tools.toReversed().map(tool => [tool.name, tool])).values()].toReversed()
  }

  async find(name: string): Promise<ServedTool | undefined> {
    const constant = this.#lasting.find(tool => tool.name === name)
    return constant ?? (await this.#listChanging()).find(tool => tool.name === name)
  }

  /** Returns the answer to a call of an unknown tool. */
  async describeUnknown(name: string): Promise<string> {
    const names = (await this.list()).map(tool => tool.name)
    return this.#constant.describeUnknownTool(name, names)
  }

  async #listChanging(): Promise<readonly ServedTool[]> {
    const { commandTools, adminTools, scope } = this.#options
    const { scripts } = this.#skills
    if (!scripts.canRun || !(commandTools || adminTools)) return []
    const scoped = defined({ scope })
    // Waits a limited time for new code to load, so that the list includes the commands in files that were just saved.
    const work = commandTools && freshOrKnown(this.#skills, MAX_SETTLE_MS).then(() => scripts.ready())
    if (work) await waitAtMost(systemClock, MAX_SETTLE_MS, work)
    return [
      ...(adminTools
        ? this.#skills.adminTools(scoped).map(tool => ({ ...tool, name: tool.name.replace('_', '.') }))
        : []),
      ...(commandTools
        ? this.#skills
            .commandTools({ ...scoped, toName: toWireName })
            .map(tool => ({ ...tool, title: titleOf(tool), isCommand: true }))
        : []),
    ]
  }
}

/** Returns the first sentence of the description if it is short, otherwise the words of the name. */
function titleOf({ name, description }: ToolDefinition): string {
  const [first = ''] = description.trim().split(/[.:;!?](?:\s|$)|\n/, 1)
  const sentence = escapeControls(first)
  return sentence !== '' && sentence.length <= MAX_TITLE_LENGTH ? sentence : name.replaceAll(/[._-]+/g, ' ')
}

/**
 * Returns the tool name of a command. The tool name is the id of the command, because MCP allows dots in names. If the
 * id has characters that MCP forbids, returns a replacement.
 */
function toWireName({ id, skill, name }: SkillCommand): string {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? id : toToolName(skill, name, portableHasher)
}
