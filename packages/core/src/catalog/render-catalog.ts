import { checkOptions, isFunction, type KnownOptions, number, oneOf } from '../options.ts'
import type { Skill } from '../skill/skill.ts'
import {
  CATALOG_FORMAT_NAMES,
  CATALOG_FORMATS,
  type CatalogFormat,
  type CatalogFormatName,
} from './catalog-format.ts'

/** Counts the tokens of a text. For a model with another tokenizer, the count is only an estimate. */
export type TokenCounter = (text: string) => number

/** Estimates the number of tokens as a quarter of the UTF-16 units. This estimate is close for English prose. */
export const approximateTokens: TokenCounter = text => Math.ceil(text.length / 4)

export interface CatalogOptions {
  /** The format of the catalog: a known format or a function. @default 'agentskills-tool-xml' */
  readonly format?: CatalogFormatName | CatalogFormat
  /**
   * Maximum tokens of the whole catalog. The names of skills that do not fit this budget are returned as `omitted`.
   * @default 4,000
   */
  readonly maxTokens?: number
  /** @default approximateTokens */
  readonly countTokens?: TokenCounter
}

export const CATALOG_OPTIONS: KnownOptions<CatalogOptions> = {
  format: oneOf(CATALOG_FORMAT_NAMES, isFunction),
  maxTokens: number(0),
  countTokens: true,
}

/** The default catalog. Its budget is two percent of a context of 200,000 tokens. */
export const DEFAULT_CATALOG: { readonly format: CatalogFormatName; readonly maxTokens: number } = {
  format: 'agentskills-tool-xml',
  maxTokens: 4_000,
}

/** The names and descriptions for one agent, as text for its system prompt. */
export interface SkillCatalog {
  /** The text is empty when there are no skills. */
  readonly text: string
  readonly tokens: number
  /** Names of the listed skills, in the same order as in the catalog text. */
  readonly listed: readonly string[]
  /**
   * Names of the skills that did not fit the budget, in the order of the given list. The text states how many skills
   * are omitted and how to find them.
   */
  readonly omitted: readonly string[]
}

/**
 * Renders the names and descriptions for one agent. `skills` must be sorted by name. Equal input gives equal bytes. If
 * the budget is too small, skills at the end of the list are omitted, and the text says so.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, renderCatalog } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { text, listed } = renderCatalog(skills.current.list(), { format: 'markdown', maxTokens: 1_000 })
 * console.log(listed, text.split('\n')[0]) // prints [ 'support-pdf' ] ## Available Skills
 * ```
 */
export function renderCatalog(skills: readonly Skill[], options: CatalogOptions = {}): SkillCatalog {
  checkOptions('renderCatalog()', options, CATALOG_OPTIONS)
  const { format = DEFAULT_CATALOG.format } = options
  if (skills.length === 0) return Object.freeze({ text: '', tokens: 0, listed: [], omitted: [] })
  const countTokens = options.countTokens ?? approximateTokens
  const maxTokens = options.maxTokens ?? DEFAULT_CATALOG.maxTokens
  const names = skills.map(skill => skill.name)
  const render: CatalogFormat = typeof format === 'function' ? format : CATALOG_FORMATS[format]
  const renderFirst = (count: number): string =>
    render(skills.slice(0, count), skills.length - count, skills.slice(count))
  const isShort = (text: string): boolean => countTokens(text) <= maxTokens
  // A named format returns a longer text for each additional skill. A custom format may return a shorter text for many
  // skills than for a few.
  const tooMany = typeof format === 'function' ? undefined : findTooMany(skills.length, isShort, renderFirst)
  if (tooMany === undefined) {
    const whole = render(skills, 0, [])
    const tokens = countTokens(whole)
    if (tokens <= maxTokens) return Object.freeze({ text: whole, tokens, listed: names, omitted: [] })
  }
  const fits = largestThatFits(tooMany ?? skills.length, isShort, renderFirst)
  const text = renderFirst(fits)
  return Object.freeze({
    text,
    tokens: countTokens(text),
    listed: names.slice(0, fits),
    omitted: names.slice(fits),
  })
}

/**
 * Tries growing numbers of skills from the start of the list, and returns the first number that exceeds the budget.
 * Returns `undefined` if all skills may fit. Usually only a few dozen skills fit, so counting the tokens of thousands
 * of skills would waste time.
 */
function findTooMany(
  count: number,
  fits: (text: string) => boolean,
  renderFirst: (count: number) => string,
): number | undefined {
  for (let first = 64; first < count / 2; first *= 2) if (!fits(renderFirst(first))) return first
  return undefined
}

/**
 * Returns the largest number of skills that fit the budget. Uses a binary search, because counting tokens is expensive.
 */
function largestThatFits(
  count: number,
  fits: (text: string) => boolean,
  renderFirst: (count: number) => string,
): number {
  let low = 0
  let high = count - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (fits(renderFirst(middle))) low = middle
    else high = middle - 1
  }
  return low
}
