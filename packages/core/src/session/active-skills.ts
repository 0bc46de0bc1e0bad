import { isToolAllowed, isToolDisallowed } from '../activation/allowed-tools.ts'
import { escapeControls, quote, shorten } from '../quote.ts'
import type { Skill } from '../skill/skill.ts'
import { normalizeName } from '../skill/skill-name.ts'
import { disallowedToolsOf } from '../skill/tool-list.ts'
import { splitCalledCommand } from '../tool/called-command.ts'
import { SCRIPT_TOOL_NAMES } from '../tool/tool-names.ts'

/** The skills that a conversation loaded since the current turn began. These skills can restrict tool calls. */
export class ActiveSkills {
  readonly #byName = new Map<string, Skill>()

  add(skill: Skill, name: string): void {
    this.#byName.set(name, skill)
  }

  clear(): void {
    this.#byName.clear()
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  /** Returns the skills in the order in which they were loaded. */
  list(): readonly Skill[] {
    return [...this.#byName.values()]
  }

  /** True if a call runs a script of an active skill. A skill may always use its own scripts. */
  isOwnScript(name: string, input: unknown): boolean {
    if (!SCRIPT_TOOL_NAMES.includes(name)) return false
    const { skill, command } = (input ?? {}) as { readonly skill?: unknown; readonly command?: unknown }
    const own = typeof skill === 'string' ? skill : ''
    const called = splitCalledCommand(own, typeof command === 'string' ? command : undefined)?.skill ?? own
    return this.#byName.has(normalizeName(called))
  }

  /** Returns the reason why an active skill forbids a tool call, or `undefined` if every active skill permits it. */
  describeRefusal(name: string, input: unknown): string | undefined {
    // Every active skill must permit the call. Otherwise a model could lift a restriction by loading another skill.
    for (const { name: skill, allowedTools, extra } of this.#byName.values()) {
      const refused = `the tool ${quote(name)} may not be called in this way while ${quote(skill)} is active`
      if (allowedTools !== undefined && !isToolAllowed(allowedTools, name, input))
        return `${refused}; allowed: ${showTools(allowedTools) || 'none'}`
      const disallowedTools = disallowedToolsOf(extra)
      if (isToolDisallowed(disallowedTools, name, input))
        return `${refused}; not allowed: ${showTools(disallowedTools)}`
    }
    return undefined
  }
}

const MAX_SHOWN = 600

function showTools(tools: readonly string[]): string {
  return escapeControls(shorten(tools.join(', '), MAX_SHOWN))
}
