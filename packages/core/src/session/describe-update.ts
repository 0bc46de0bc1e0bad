import { contentKeys } from '../activation/content-keys.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Generation } from '../registry/generation.ts'
import { compareText } from '../skill/compare.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'
import type { Known, Notice, Said } from './known.ts'
import type { ListingDiff } from './listing-diff.ts'
import { type ChangeOptions, findLoadedChange, isBackAsLoaded, type LoadedChange } from './loaded-change.ts'
import type { DeliveryMode } from './session-options.ts'
import { descriptionKey } from './session-state.ts'

export interface DescribeOptions extends ChangeOptions {
  readonly delivery: DeliveryMode
  readonly isInScope: ScopeTest
}

/** What a message must tell a conversation. */
export interface Update {
  readonly diff: ListingDiff
  /** Changes of loaded skills. Skills that must be loaded again come first. */
  readonly changes: readonly LoadedChange[]
  /** What the message says, for the fold after it was appended. */
  readonly notice: Notice
}

const NOTHING: ListingDiff = Object.freeze({ added: [], removed: [], redescribed: [] })

/** Compares what a conversation knows with a generation. Returns `undefined` if there is nothing to tell. */
export function describeUpdate(known: Known, now: Generation, options: DescribeOptions): Update | undefined {
  const { delivery, isInScope } = options
  if (delivery === 'silent') return undefined
  const served = (name: string): Skill | undefined => (isInScope(name) ? now.find(name) : undefined)
  const changes = [...known.loaded.values()]
    .flatMap(entry => {
      const skill = served(entry.name)
      if (skill === undefined || isBackAsLoaded(entry, skill, options.hasher)) return []
      return findLoadedChange(entry, skill, options) ?? []
    })
    .sort((a, b) => Number(b.needsLoading) - Number(a.needsLoading))
  // With the delivery `rebuild`, the new catalog shows these changes.
  const diff = delivery === 'rebuild' ? NOTHING : diffListing(known, now, { ...options, served })
  if (diff.added.length + diff.removed.length + diff.redescribed.length + changes.length === 0)
    return undefined
  const notice = { kind: 'notice', generation: now.digest, said: listSaid(known, { diff, changes }, options) }
  return { diff, changes, notice: notice as Notice }
}

interface ListingOptions extends DescribeOptions {
  readonly served: (name: string) => Skill | undefined
}

function diffListing(known: Known, now: Generation, { hasher, served }: ListingOptions): ListingDiff {
  const { added, removed, redescribed } = known.list.diff(now)
  const isUnsaid = (name: string): boolean => !known.said.has(name)
  const diff = {
    added: added.filter(({ name }) => isUnsaid(name)),
    removed: removed.filter(isUnsaid),
    redescribed: redescribed.filter(({ name }) => isUnsaid(name)),
  }
  for (const [name, said] of known.said) {
    const skill = served(name)
    const listed = skill !== undefined && isModelInvocable(skill) ? skill : undefined
    if (listed === undefined) {
      if (said !== null) diff.removed.push(name)
    } else if (said === null) diff.added.push(listed)
    else if (said !== descriptionKey(listed, hasher)) diff.redescribed.push(listed)
  }
  // Also report the removal of a skill that was loaded but never listed, because the model relies on its instructions.
  for (const { name, toldRevision } of known.loaded.values())
    if (toldRevision !== undefined && served(name) === undefined && !diff.removed.includes(name))
      diff.removed.push(name)
  if (known.said.size + known.loaded.size === 0) return diff
  const byName = (a: Skill, b: Skill): number => compareText(a.name, b.name)
  return {
    added: diff.added.sort(byName),
    removed: diff.removed.sort(compareText),
    redescribed: diff.redescribed.sort(byName),
  }
}

function listSaid(
  { loaded }: Known,
  { diff, changes }: Pick<Update, 'diff' | 'changes'>,
  { hasher }: DescribeOptions,
): Notice['said'] {
  const said = new Map<string, Said>()
  const say = (name: string, fact: Said): void => void said.set(name, { ...said.get(name), ...fact })
  const sayContent = (name: string, skill: Skill): void =>
    say(name, { loaded: { revision: skill.revision, content: contentKeys(skill, hasher) } })
  for (const name of diff.removed)
    say(name, { description: null, ...(loaded.has(name) ? { loaded: null } : {}) })
  for (const skill of [...diff.added, ...diff.redescribed])
    say(skill.name, { description: descriptionKey(skill, hasher) })
  for (const skill of diff.added) {
    const entry = loaded.get(skill.name)
    if (entry !== undefined && isBackAsLoaded(entry, skill, hasher)) sayContent(skill.name, skill)
  }
  for (const { entry, skill } of changes) sayContent(entry.name, skill)
  return [...said]
}
