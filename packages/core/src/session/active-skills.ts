import { isToolAllowed } from '../activation/allowed-tools.ts'
import type { Skill } from '../skill/skill.ts'
import { normalizeName } from '../skill/skill-name.ts'
import { splitCalledCommand } from '../tool/called-command.ts'
import { SCRIPT_TOOL_NAMES } from '../tool/tool-names.ts'

/** The skills whose instructions entered a conversation since its turn began, and what they let it call. */
export class ActiveSkills {
  readonly #byName = new Map<string, Skill>()

  add(skill: Skill, name: string): void {
    this.#byName.set(name, skill)
  }

  clear(): void {
    this.#byName.clear()
  }

  /** Lists the skills in the order of loading. */
  list(): readonly Skill[] {
    return [...this.#byName.values()]
  }

  /** Tells whether a call runs a script of an active skill: what a skill brings along, it may use. */
  isOwnScript(name: string, input: unknown): boolean {
    if (!SCRIPT_TOOL_NAMES.includes(name)) return false
    const { skill, command } = (input ?? {}) as { readonly skill?: unknown; readonly command?: unknown }
    const own = typeof skill === 'string' ? skill : ''
    const called = splitCalledCommand(own, typeof command === 'string' ? command : undefined)?.skill ?? own
    return this.#byName.has(normalizeName(called))
  }

  /** Returns why an active skill does not let a tool be called; `undefined` when none objects. */
  describeRefusal(name: string, input: unknown): string | undefined {
    // Each active skill has its say: a model that could lift a restriction by loading another skill would have none.
    const refusing = this.list().find(
      ({ allowedTools }) => allowedTools !== undefined && !isToolAllowed(allowedTools, name, input),
    )
    if (refusing === undefined) return undefined
    const allowed = refusing.allowedTools?.join(', ') || 'none'
    return `the tool ${JSON.stringify(name)} may not be called in this way while ${JSON.stringify(refusing.name)} is active; allowed: ${allowed}`
  }
}
