import type { Skill } from '../skill/skill.ts'
import { escapeText } from './escape.ts'

/** Counts the tokens of a text; an estimate for every model but the one it was made for. */
export type TokenCounter = (text: string) => number

/** Without a tokenizer: a quarter of the UTF-16 units, which is near the truth for English prose. */
export const approximateTokens: TokenCounter = text => Math.ceil(text.length / 4)

export interface CatalogOptions {
  /** Tokens that the whole catalog may take; the rest is named as omitted. @default 4,000 */
  readonly maxTokens?: number
  /** @default approximateTokens */
  readonly countTokens?: TokenCounter
}

/** Two percent of a context of 200,000 tokens. */
export const DEFAULT_CATALOG_TOKENS = 4_000

/** The names and descriptions disclosed to one agent, as text for its system prompt. */
export interface Catalog {
  /** Empty when there is no skill. */
  readonly text: string
  readonly tokens: number
  /** Names in the order of the text. */
  readonly listed: readonly string[]
  /** Names that did not fit the budget, in order; the text says how many they are and how to find them. */
  readonly omitted: readonly string[]
}

const OPEN = '<available_skills>'
const CLOSE = '</available_skills>'

/**
 * Renders the agentskills.io XML. `skills` must be sorted by name: equal input gives equal bytes. Skills that do not
 * fit the budget are left out from the end, never silently.
 */
export function renderCatalog(skills: readonly Skill[], options: CatalogOptions = {}): Catalog {
  if (skills.length === 0) return Object.freeze({ text: '', tokens: 0, listed: [], omitted: [] })
  const countTokens = options.countTokens ?? approximateTokens
  const maxTokens = options.maxTokens ?? DEFAULT_CATALOG_TOKENS
  const names = skills.map(skill => skill.name)
  const entries = skills.map(renderEntry)
  const whole = assemble(entries, 0)
  const wholeTokens = countTokens(whole)
  if (wholeTokens <= maxTokens)
    return Object.freeze({ text: whole, tokens: wholeTokens, listed: names, omitted: [] })
  const fits = largestThatFits(entries, maxTokens, countTokens)
  const text = assemble(entries.slice(0, fits), entries.length - fits)
  return Object.freeze({
    text,
    tokens: countTokens(text),
    listed: names.slice(0, fits),
    omitted: names.slice(fits),
  })
}

/** Where the catalog says that a skill is: a path for commands on this machine, else a URI. */
export function locationOf(skill: Skill): string {
  if (skill.directory !== undefined) return `${skill.directory}/${skill.skillFile}`
  const folder = skill.location === '' ? '' : `${skill.location}/`
  return `skill://${skill.source}/${folder}${skill.skillFile}`
}

// Skills are immutable and keep their object as long as nothing about them changes, so their text can be kept with them:
// a change costs its own entry, and audiences share the others.
const renderedEntries = new WeakMap<Skill, string>()

function renderEntry(skill: Skill): string {
  let entry = renderedEntries.get(skill)
  if (entry === undefined) {
    const name = escapeText(skill.name)
    const description = escapeText(skill.description)
    const location = escapeText(locationOf(skill))
    entry = `<skill>\n<name>${name}</name>\n<description>${description}</description>\n<location>${location}</location>\n</skill>`
    renderedEntries.set(skill, entry)
  }
  return entry
}

function assemble(entries: readonly string[], omitted: number): string {
  const lines = [OPEN, ...entries]
  if (omitted > 0) {
    lines.push(
      `<omitted count="${omitted}">Call the skill tool with a few words to search the rest.</omitted>`,
    )
  }
  return [...lines, CLOSE].join('\n')
}

/** By bisection, because counting tokens is the expensive part. */
function largestThatFits(entries: readonly string[], maxTokens: number, countTokens: TokenCounter): number {
  let low = 0
  let high = entries.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (countTokens(assemble(entries.slice(0, middle), entries.length - middle)) <= maxTokens) low = middle
    else high = middle - 1
  }
  return low
}
