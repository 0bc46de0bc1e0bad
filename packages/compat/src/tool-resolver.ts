import type { NamedTool, ToolMap } from '@skillstoke/core'
import { isToolResolver as hasResolve, toToolResolver } from '@skillstoke/core/internal'
import type { ExoSkill } from './exo-skill.ts'

/** Decides which tools belong to a skill. Any object with the method `resolve` is accepted. */
export interface ToolResolver<Tool extends NamedTool = NamedTool> {
  resolve(skill: ExoSkill): readonly Tool[] | Promise<readonly Tool[]>
}

/**
 * Whether a value is a resolver, and not a map of tools. In a map, a skill may have the name `resolve`, but the value
 * of this entry is not a function.
 *
 * @example
 * ```ts
 * import { isToolResolver } from '@skillstoke/compat'
 *
 * console.log(isToolResolver({ resolve: () => [] })) // prints true
 * console.log(isToolResolver({ resolve: { name: 'read_pdf' } })) // prints false
 * ```
 */
export function isToolResolver(value: unknown): value is ToolResolver {
  return hasResolve(value)
}

/**
 * Resolves tools by skill name. The map may contain one tool or a list of tools per skill. For a skill that is not in the map, returns an empty list.
 *
 * @example
 * ```ts
 * import { DictToolResolver } from '@skillstoke/compat'
 *
 * const resolver = new DictToolResolver({ 'support-pdf': [{ name: 'read_pdf' }, { name: 'fill_pdf' }] })
 * console.log(resolver.resolve({ name: 'support-pdf' }).map(({ name }) => name))
 * // prints [ 'read_pdf', 'fill_pdf' ]
 * console.log(resolver.resolve({ name: 'maps' })) // prints []
 * ```
 */
export class DictToolResolver<Tool extends NamedTool = NamedTool> implements ToolResolver<Tool> {
  readonly #tools: ToolMap<Tool>

  constructor(tools: ToolMap<Tool>) {
    this.#tools = tools
  }

  resolve(skill: Pick<ExoSkill, 'name'>): readonly Tool[] {
    // A map is read synchronously, so the result is never a promise.
    return toToolResolver(this.#tools).resolve(skill as never) as readonly Tool[]
  }
}
