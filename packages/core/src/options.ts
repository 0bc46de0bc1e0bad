import { editDistance } from './edit-distance.ts'
import { SkillError } from './errors.ts'
import { quote, showValue } from './quote.ts'

type NameOf<Options> = Options extends unknown ? keyof Options : never

/** The names of all options of an interface. The compiler reports a missing name. */
export type KnownOptions<Options> = Readonly<Record<NameOf<Options>, true>>

/** The place of a set of options, for error messages. */
export interface OptionPlace {
  /**
   * The option that contains these options, for example `tuning.settle`.
   * @default none: the function itself has these options
   */
  readonly path?: string
  /** Options that were renamed or moved: a map from the old to the new name. */
  readonly moved?: Readonly<Record<string, string>>
}

/**
 * Refuses options with unknown names. Without this check, a misspelt option would silently keep its default value.
 * Allocates no memory for valid options, because this function also runs before each request to a model.
 * @param owner the function or class that has the options, for example `directory()`
 * @throws {SkillError} INVALID_OPTION with the unknown name and the nearest known one
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: Options | undefined,
  known: KnownOptions<Options>,
  place?: OptionPlace,
): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new SkillError(
      'INVALID_OPTION',
      `${place?.path ?? `the argument with the options of ${owner}`} is ${describeValue(options)}; use an object`,
    )
  for (const name in options)
    if (Object.hasOwn(options, name) && !Object.hasOwn(known, name))
      throw createRefusal(owner, name, Object.keys(known), place)
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
