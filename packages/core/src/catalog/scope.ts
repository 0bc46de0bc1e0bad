import { SkillError } from '../errors.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { showValue } from '../quote.ts'
import { unqualified } from '../skill/skill-name.ts'
import { toWildcard } from '../skill/wildcard.ts'

/**
 * The skills that one agent may see. Patterns are names in which `*` stands for any characters, and `\*` for the
 * character itself.
 */
export interface SkillScope {
  /** If `include` is given, only names that match one of its patterns are visible. */
  readonly include?: readonly string[]
  /** Names that match one of these patterns are hidden, even if `include` matches them. */
  readonly exclude?: readonly string[]
  /** If `outer` is given, a name is visible only if both this scope and `outer` allow it. */
  readonly outer?: SkillScope
}

const KNOWN: KnownOptions<SkillScope> = { include: true, exclude: true, outer: true }

export type ScopeTest = (name: string) => boolean

const EVERYTHING: ScopeTest = () => true

/**
 * Creates a test that returns whether a scope allows a name. The catalog, list, search, loading and resources all use
 * this test. An empty or missing `include` allows every name.
 * @throws {SkillError} INVALID_OPTION for an unknown field, with the nearest known field, or for an empty pattern,
 * which would silently match nothing
 *
 * @example
 * ```ts
 * import { createScopeTest } from '@skillstoke/core'
 *
 * const isInScope = createScopeTest({ include: ['support-*'], exclude: ['support-internal'] })
 * console.log(isInScope('support-pdf'), isInScope('support-internal'), isInScope('billing'))
 * // prints true false false
 * ```
 */
export function createScopeTest(scope: SkillScope | undefined): (name: string) => boolean {
  if (scope !== undefined) checkScope(scope)
  const own = createOwnTest(scope)
  if (scope?.outer === undefined) return own
  const outer = createScopeTest(scope.outer)
  if (isUnrestricted(own)) return outer
  return isUnrestricted(outer) ? own : name => own(name) && outer(name)
}

/** Returns the scope of the skills that both scopes allow. `undefined` allows everything. */
export function intersectScopes(
  outer: SkillScope | undefined,
  inner: SkillScope | undefined,
): SkillScope | undefined {
  if (outer === undefined || inner === undefined) return outer ?? inner
  return { ...inner, outer: intersectScopes(outer, inner.outer) as SkillScope }
}

/** Returns a key that is the same for equal scopes. */
export function keyOfScope(scope: SkillScope | undefined): string {
  return scope === undefined ? '' : JSON.stringify(toLists(scope))
}

function toLists({ include = [], exclude = [], outer }: SkillScope): unknown {
  return [include, exclude, ...(outer === undefined ? [] : [toLists(outer)])]
}

function createOwnTest(scope: SkillScope | undefined): ScopeTest {
  const include = (scope?.include ?? []).map(toPattern)
  const exclude = (scope?.exclude ?? []).map(toPattern)
  if (include.length === 0 && exclude.length === 0) return EVERYTHING
  const matches = (patterns: readonly RegExp[], name: string): boolean =>
    patterns.some(pattern => pattern.test(name))
  return text => {
    const name = unqualified(text)
    return (include.length === 0 || matches(include, name)) && !matches(exclude, name)
  }
}

/** Returns true if a scope test allows everything. Callers can then skip the test of each skill. */
export function isUnrestricted(test: ScopeTest): boolean {
  return test === EVERYTHING
}

/** Refuses a malformed scope, because such a scope could allow all skills. */
function checkScope(scope: SkillScope): void {
  if (typeof scope === 'object' && scope !== null && !Array.isArray(scope)) {
    checkOptions('a scope', scope, KNOWN, { path: 'scope' })
    if ([scope.include, scope.exclude].every(list => list === undefined || Array.isArray(list))) return
  }
  throw new SkillError(
    'INVALID_OPTION',
    `the scope is ${showValue(scope)}; use { include: ["support-*"], exclude: ["support-old"] }`,
  )
}

function toPattern(text: string): RegExp {
  if (text.trim() === '')
    throw new SkillError('INVALID_OPTION', 'a scope has an empty pattern; name skills, or use "*"')
  return toWildcard(text.normalize('NFKC'), true)
}
