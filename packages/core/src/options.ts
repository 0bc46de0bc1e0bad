import { editDistance } from './edit-distance.ts'
import { SkillError } from './errors.ts'
import { quote, shorten, showValue } from './quote.ts'

/** Returns what to use instead of a wrong value, for example `a number from 1 on`; `undefined` for a right value. */
export type OptionRule = (value: unknown) => string | undefined

/** The options of a function: `true` for any value, a rule for values, or a table for the options inside an option. */
export interface OptionTable {
  readonly [name: string]: true | OptionRule | OptionTable
}

type NameOf<Options> = Options extends unknown ? keyof Options : never

/** The table of all options of an interface. The compiler reports a missing name. */
export type KnownOptions<Options> = Readonly<Record<NameOf<Options>, OptionTable[string]>>

/** Accepts numbers from `least` to `most`. */
export function number(least: number, most: number = Infinity): OptionRule {
  const range = describeRange('number', least, most)
  return value => (typeof value === 'number' && value >= least && value <= most ? undefined : range)
}

/** Accepts whole numbers from `least` to `most`. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): OptionRule {
  const range = describeRange('whole number', least, most)
  const isRight = (value: number): boolean => Number.isInteger(value) && value >= least && value <= most
  return value => (isRight(value as number) ? undefined : range)
}

function describeRange(kind: string, least: number, most: number): string {
  return most >= Number.MAX_SAFE_INTEGER ? `a ${kind} from ${least} on` : `a ${kind} from ${least} to ${most}`
}

/** Accepts the values of a list, and values that `isOther` accepts. */
export function oneOf(choices: readonly unknown[], isOther?: (value: unknown) => boolean): OptionRule {
  return value =>
    choices.includes(value) || isOther?.(value) === true
      ? undefined
      : `one of ${choices.map(choice => showValue(choice)).join(', ')}`
}

/** Whether a value is an object and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Accepts functions. */
export function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

/** The place of a set of options, for error messages. */
export interface OptionPlace {
  /**
   * The option that contains these options, for example `tuning.settle`.
   * @default none: the function itself has these options
   */
  readonly path?: string | undefined
  /** Options that were renamed or moved: a map from the old to the new name. */
  readonly moved?: Readonly<Record<string, string>> | undefined
}

/**
 * Refuses options with unknown names or wrong values. Without this check, a misspelt option would silently keep its
 * default value. Allocates no memory for valid options, because this function also runs before each request to a model.
 * @param owner the function or class that has the options, for example `directory()`
 * @throws {SkillError} INVALID_OPTION with the unknown name and the nearest known one, or with the wrong value and a
 * right one
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: Options | undefined,
  known: KnownOptions<Options>,
  place: OptionPlace = TOP,
): void {
  if (options === undefined) return
  if (!isRecord(options))
    throw new SkillError(
      'INVALID_OPTION',
      `${place.path ?? `the argument with the options of ${owner}`} is ${describeValue(options)}; use an object`,
    )
  for (const name in options)
    if (Object.hasOwn(options, name) && !Object.hasOwn(known, name))
      throw createRefusal(owner, name, Object.keys(known), place)
  const table: OptionTable = known
  for (const name in table) {
    const rule = table[name]
    const value: unknown = options[name as keyof Options]
    if (rule === undefined || rule === true || value === undefined) continue
    const path = toFullName(name, place.path)
    if (typeof rule === 'function') checkValue(path, value, rule)
    else checkOptions(owner, value as OptionTable, rule, { path, moved: place.moved })
  }
}

const TOP: OptionPlace = {}

/** @throws {SkillError} INVALID_OPTION when the value is given and the rule does not accept it */
export function checkValue(name: string, value: unknown, rule: OptionRule): void {
  const right = value === undefined ? undefined : rule(value)
  if (right !== undefined)
    throw new SkillError('INVALID_OPTION', `${name} is ${showWrong(value)}; use ${right}`)
}

const MAX_SHOWN = 200

function showWrong(value: unknown): string {
  return typeof value === 'string' ? quote(value) : shorten(String(value), MAX_SHOWN)
}

function createRefusal(
  owner: string,
  name: string,
  known: readonly string[],
  { path, moved = {} }: OptionPlace = {},
): SkillError {
  const option = toFullName(name, path)
  const advice = Object.hasOwn(moved, name)
    ? `it is ${showValue(moved[name])} now`
    : suggest(name, known, owner, path)
  return new SkillError('INVALID_OPTION', `unknown option ${quote(option)}; ${advice}`, {
    data: { owner, option },
  })
}

function suggest(name: string, known: readonly string[], owner: string, path: string | undefined): string {
  const nearest = findNearest(name, known)
  if (nearest !== undefined) return `did you mean ${quote(toFullName(nearest, path))}?`
  const holder = path ?? owner
  if (known.length === 0) return `${holder} has no options`
  return `${holder} has ${known.map(each => quote(each)).join(', ')}`
}

/**
 * Returns the option that differs least from the given name. If all options differ too much, returns the shortest
 * option that contains the name, or that the name contains.
 */
export function findNearest(name: string, known: readonly string[]): string | undefined {
  const written = name.toLowerCase()
  const most = written.length <= 4 ? 1 : 2
  const rated = known.flatMap(option => {
    const lower = option.toLowerCase()
    const distance = editDistance(written, lower, most)
    if (distance <= most) return { option, distance }
    const isPart = written.length >= 3 && (lower.includes(written) || written.includes(lower))
    return isPart ? { option, distance: most + 1 } : []
  })
  return rated.sort((a, b) => a.distance - b.distance || a.option.length - b.option.length)[0]?.option
}

function toFullName(name: string, path: string | undefined): string {
  return path === undefined ? name : `${path}.${name}`
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
}
