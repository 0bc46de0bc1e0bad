import type { SkillRuntime } from '@skillstoke/core'
import { defined, type Viewing } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { measureQuickly } from './tokens.ts'

/**
 * Lets a runtime say what a new conversation sees of its skills.
 * @param measure returns the size of a catalog that the runtime rendered
 */
export function toViewing(
  skills: SkillRuntime,
  { scope, catalog }: Pick<Config, 'scope' | 'catalog'>,
  measure: Viewing['catalog']['measure'] = each => measureQuickly(each, catalog.maxTokens),
): Viewing {
  return { skills, ...defined({ scope }), catalog: { ...catalog, measure } }
}
