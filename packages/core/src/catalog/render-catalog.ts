import { checkChoice, checkNumber } from '../errors.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { Skill } from '../skill/skill.ts'
import {
  CATALOG_FORMAT_NAMES,
  CATALOG_FORMATS,
  type CatalogFormat,
  type CatalogFormatName,
  DEFAULT_CATALOG_FORMAT,
} from './catalog-format.ts'

/** Counts the tokens of a text; an estimate for every model but the one it was made for. */
export type TokenCounter = (text: string) => number

/** Without a tokenizer: a quarter of the UTF-16 units, which is near the truth for English prose. */
export const approximateTokens: TokenCounter = text => Math.ceil(text.length / 4)

export interface CatalogOptions {
  /** How names and descriptions are written down: one of the known formats, or a function. @default 'agentskills-xml' */
  readonly format?: CatalogFormatName | CatalogFormat
  /** Tokens that the whole catalog may take; the rest is named as omitted. @default 4,000 */
  readonly maxTokens?: number
  /** @default approximateTokens */
  readonly countTokens?: TokenCounter
}

const KNOWN: KnownOptions<CatalogOptions> = { format: true, maxTokens: true, countTokens: true }

/** @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right */
export function checkCatalogOptions(owner: string, options: CatalogOptions | undefined, path?: string): void {
  checkOptions(owner, options, KNOWN, path === undefined ? {} : { path })
  const { format, maxTokens } = options ?? {}
  const prefix = path === undefined ? '' : `${path}.`
  if (typeof format !== 'function') checkChoice(`${prefix}format`, format, CATALOG_FORMAT_NAMES)
  checkNumber(`${prefix}maxTokens`, maxTokens, 0)
}

/** Two percent of a context of 200,000 tokens. */
export const DEFAULT_CATALOG_TOKENS = 4_000

/** The names and descriptions disclosed to one agent, as text for its system prompt. */
export interface SkillCatalog {
  /** Empty when there is no skill. */
  readonly text: string
  readonly tokens: number
  /** Names in the order of the text. */
  readonly listed: readonly string[]
  /** Names that did not fit the budget, in order; the text says how many they are and how to find them. */
  readonly omitted: readonly string[]
}

/**
 * Renders the names and descriptions disclosed to one agent. `skills` must be sorted by name: equal input gives equal
 * bytes. Skills that do not fit the budget are left out from the end, never silently.
 */
export function renderCatalog(skills: readonly Skill[], options: CatalogOptions = {}): SkillCatalog {
  checkCatalogOptions('renderCatalog()', options)
  const { format = DEFAULT_CATALOG_FORMAT } = options
  if (skills.length === 0) return Object.freeze({ text: '', tokens: 0, listed: [], omitted: [] })
  const countTokens = options.countTokens ?? approximateTokens
  const maxTokens = options.maxTokens ?? DEFAULT_CATALOG_TOKENS
  const names = skills.map(skill => skill.name)
  const render: CatalogFormat = typeof format === 'function' ? format : CATALOG_FORMATS[format]
  const renderFirst = (count: number): string => render(skills.slice(0, count), skills.length - count)
  const isShort = (text: string): boolean => countTokens(text) <= maxTokens
  // A named format grows with each skill; a function of the host may write many skills in fewer words than a few.
  const tooMany = typeof format === 'function' ? undefined : findTooMany(skills.length, isShort, renderFirst)
  if (tooMany === undefined) {
    const whole = render(skills, 0)
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
 * Returns how many of the first skills are certainly too many, or `undefined`. Of thousands of skills a few dozen fit, and counting
 * the tokens of all of them takes as long as they are.
 */
function findTooMany(
  count: number,
  fits: (text: string) => boolean,
  renderFirst: (count: number) => string,
): number | undefined {
  for (let first = 64; first < count / 2; first *= 2) if (!fits(renderFirst(first))) return first
  return undefined
}

/** By bisection, because counting tokens is the expensive part. */
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
